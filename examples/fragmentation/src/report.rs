//! The phases of an experiment, as a table or as JSON.
//!
//! What an allocator changes (memory, time) and what it must not change (the work) are kept apart: the table goes to
//! standard error, and standard output is the same in every run, so that two runs can be compared by what they print.
//! With `--json` both are in one document.

use crate::memory::Memory;
use std::fmt::Write;
use std::io;
use std::time::Instant;

/// What was measured, phase after phase.
#[derive(Debug)]
pub(crate) struct Report {
    start: Instant,
    phases: Vec<Phase>,
}

#[derive(Debug)]
struct Phase {
    name: String,
    seconds: f64,
    memory: Memory,
}

/// What an experiment has done, whatever the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Blocks that it asked for itself.
    pub(crate) allocations: u64,
    /// A sum over what was in them.
    pub(crate) checksum: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}

impl Report {
    pub(crate) fn begin() -> io::Result<Self> {
        // The list has its place from the beginning, so that it does not grow while something is measured.
        let mut report = Self { start: Instant::now(), phases: Vec::with_capacity(32) };
        report.phase("baseline")?;
        Ok(report)
    }

    /// Writes down how things are now.
    pub(crate) fn phase(&mut self, name: &str) -> io::Result<()> {
        let memory = Memory::now()?;
        let seconds = self.start.elapsed().as_secs_f64();
        self.phases.push(Phase { name: name.to_owned(), seconds, memory });
        Ok(())
    }

    /// One line per phase.
    pub(crate) fn table(&self) -> String {
        let mib = |kib: u64| kib as f64 / 1024.0;
        let mut text = format!(
            "{:<24} {:>9} {:>9} {:>12} {:>12} {:>9}\n",
            "phase", "after s", "RSS MiB", "LazyFree MiB", "highest MiB", "CPU s"
        );
        for Phase { name, seconds, memory } in &self.phases {
            let _ = writeln!(
                text,
                "{name:<24} {seconds:>9.2} {:>9.1} {:>12.1} {:>12.1} {:>9.2}",
                mib(memory.rss_kib),
                mib(memory.lazy_free_kib),
                mib(memory.highest_kib),
                memory.cpu_ms as f64 / 1000.0
            );
        }
        text
    }

    /// All of it, as one line of JSON. Names are ours and need no escapes.
    pub(crate) fn json(&self, experiment: &str, work: Work) -> String {
        let mut text = format!(
            r#"{{"schema":"fragmentation/1","experiment":"{experiment}","allocations":{},"checksum":{},"phases":["#,
            work.allocations, work.checksum
        );
        for (at, Phase { name, seconds, memory }) in self.phases.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(
                text,
                r#"{comma}{{"name":"{name}","seconds":{seconds:.3},"rss_kib":{},"lazy_free_kib":{},"highest_rss_kib":{},"cpu_ms":{}}}"#,
                memory.rss_kib, memory.lazy_free_kib, memory.highest_kib, memory.cpu_ms
            );
        }
        text.push_str("]}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_a_line_and_an_object() {
        let memory = Memory { rss_kib: 2048, lazy_free_kib: 512, highest_kib: 4096, cpu_ms: 1250 };
        let phase = |name: &str, seconds| Phase { name: name.to_owned(), seconds, memory };
        let report =
            Report { start: Instant::now(), phases: vec![phase("peak", 0.5), phase("dropped", 1.0)] };
        let table = report.table();
        let words: Vec<_> = table.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(words, ["dropped", "1.00", "2.0", "0.5", "4.0", "1.25"]);
        let json = report.json("server", Work { allocations: 3, checksum: 9 });
        assert!(json.contains(
            r#""allocations":3,"checksum":9,"phases":[{"name":"peak","seconds":0.500,"rss_kib":2048"#
        ));
        assert!(json.ends_with(r#""highest_rss_kib":4096,"cpu_ms":1250}]}"#), "{json}");
    }
}
