//! `heapwise attach`: record a process that runs already.

use crate::args::{AttachArgs, RecordingArgs};
use crate::delivery::Destinations;
use crate::{Failure, doctor, exit, preload, rotation, run};
use heapwise_collector::{Begun, Left, Request, attach as record};
use heapwise_environment::is_heap_variable;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

/// Records a process until it ends or the user interrupts, and prints the diagnosis.
pub(crate) fn attach(args: AttachArgs) -> Result<u8, Failure> {
    let pid = args.pid;
    run::check(&args.recording)?;
    rotation::begin(Destinations::of(&args.recording.delivery)?);
    let mut request = request(pid, &args.recording);
    let ahead = run::read_ahead(&args.recording, false, &mut request);
    let recorded = record(pid, &request, begun).map_err(run::failure)?;
    say_left(&recorded.left);
    run::conclude(&recorded, args.recording, ahead)?;
    match recorded.error {
        None => Ok(exit::SUCCESS),
        Some(error) => Err(run::incomplete(&recorded.path, &error, "")),
    }
}

/// What is to be recorded of a process. Says what slows its heap.
pub(crate) fn request(pid: u32, args: &RecordingArgs) -> Request {
    let environment_findings = doctor::of_recorded(pid);
    doctor::warn(&environment_findings);
    Request {
        environment: environment(pid),
        environment_findings,
        preload: preload::library_for_children(),
        image: Some(preload::image_for_running(&PathBuf::from(format!("/proc/{pid}/exe")))),
        ..run::request(args, command(pid))
    }
}

/// Says what it was to leave the process.
pub(crate) fn say_left(left: &Left) {
    let Left { behind, errors, stops } = left;
    if !stops.is_empty() {
        heapwise_report::note!(
            "heapwise: while the recorder was taken out, threads stood still {}",
            how_long(stops)
        );
    }
    for error in errors {
        heapwise_report::say!("heapwise: warning: a process could not be left as it was: {error}");
    }
    if *behind > 0 {
        heapwise_report::note!(
            "heapwise: {behind} process(es) keep the recorder's memory, where it does nothing: all the time a thread was in it, or had one of its addresses on the stack"
        );
    }
}

fn begun(begun: &Begun) {
    let threads = match begun.threads {
        1 => "its thread".to_owned(),
        n => format!("its {n} threads"),
    };
    heapwise_report::note!(
        "heapwise: recording; {threads} stood still {}; Ctrl-C ends the recording, and the process goes on",
        how_long(&begun.stops)
    );
}

/// How long threads stood still, which they may have done more than once.
pub(crate) fn how_long(stops: &[Duration]) -> String {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    match stops {
        [once] => format!("for {}", ms(*once)),
        _ => {
            let longest = stops.iter().max().copied().unwrap_or_default();
            format!(
                "{} times, for {} at most and {} together",
                stops.len(),
                ms(longest),
                ms(stops.iter().sum())
            )
        }
    }
}

/// What a process was started with.
fn command(pid: u32) -> Vec<OsString> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // Programs that write a title of their own there leave the rest empty.
    let line = line.trim_ascii_end();
    let end = line.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let line = &line[..end];
    let words = line.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    words.collect()
}

/// The variables of its environment that concern the heap, as it was started with them.
fn environment(pid: u32) -> BTreeMap<String, String> {
    let all = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let pairs =
        all.split(|&byte| byte == 0).filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
    let wanted = pairs.filter(|(name, _)| is_heap_variable(name));
    wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stop_is_a_time_and_several_are_counted() {
        let ms = |n: u64| Duration::from_micros(n * 100);
        assert_eq!(how_long(&[ms(135)]), "for 13.5 ms");
        assert_eq!(how_long(&[ms(12), ms(35), ms(4)]), "3 times, for 3.5 ms at most and 5.1 ms together");
    }
}
