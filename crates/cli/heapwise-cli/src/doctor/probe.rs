//! Finds out what an allocator does with blocks: this program once more, with the environment that a command would inherit.

use crate::{Failure, exit};
use heapwise_environment::facts::{Probes, probe};
use heapwise_report::escape::terminal;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The command of this program that answers.
pub(crate) const PROBE: &str = "allocator-probe";
/// A process that has not answered by then will not.
const PATIENCE: Duration = Duration::from_secs(5);
/// Variables that would make the probe write files.
const WRITERS: &[&str] = &["HEAPPROFILE", "HEAPCHECK", "CPUPROFILE", "MALLOC_TRACE"];

/// Answers, and waits to be killed: what allocators do at the end of a process, such as writing profiles, is not wanted.
pub(crate) fn answer() -> Result<u8, Failure> {
    let Probes { fresh_fill, freed_fill, usable_of_193 } = probe();
    let number = |fill: Option<u8>| fill.map_or(0, u32::from);
    terminal::print(&format!("{} {} {usable_of_193}\n", number(fresh_fill), number(freed_fill)), false)?;
    // Until the parent closes the pipe.
    let _ = std::io::stdin().read(&mut [0]);
    Ok(exit::SUCCESS)
}

/// Probes the allocator that a program of glibc would get if it were started from here and were linked with this allocator
/// library, if one is given. `None` if it does not answer.
pub(crate) fn ask(needed: Option<&str>) -> Option<Probes> {
    let mut command = Command::new("/proc/self/exe");
    if let Some(needed) = needed {
        // After all that is preloaded already, as it would be in the program.
        let before = std::env::var("LD_PRELOAD").unwrap_or_default();
        command.env("LD_PRELOAD", format!("{before}:{needed}"));
    }
    command.arg(PROBE).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    for variable in WRITERS {
        command.env_remove(variable);
    }
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take()?;
    let (sender, receiver) = channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(output).read_line(&mut line);
        // The receiver is gone if this took too long.
        let _ = sender.send(line);
    });
    // Not until the pipe is closed: a preloaded library may have started something that keeps it open.
    let line = receiver.recv_timeout(PATIENCE);
    let _ = child.kill();
    let _ = child.wait();
    let line = line.ok()?;
    // It has nothing to do any more, but it still frees what it had: after the end of `main`, libraries that check the heap take that for
    // a fault of the program.
    let _ = reader.join();
    parse(&line)
}

fn parse(line: &str) -> Option<Probes> {
    let numbers: Vec<usize> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let &[fresh, freed, usable_of_193] = numbers.as_slice() else { return None };
    let fill = |n: usize| u8::try_from(n).ok().filter(|byte| *byte != 0);
    Some(Probes { fresh_fill: fill(fresh), freed_fill: fill(freed), usable_of_193 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_half_ones_are_not() {
        let probes = Probes { fresh_fill: None, freed_fill: Some(165), usable_of_193: 200 };
        assert_eq!(parse("0 165 200\n"), Some(probes));
        assert_eq!(parse("0 165\n"), None);
        assert_eq!(parse(""), None);
    }
}
