//! The line that a worker prints.

use super::{Heap, Moment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when the line changes: the worker may be another build of the program.
pub(super) const PROTOCOL: u32 = 2;

/// What a worker found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The version of this line.
    pub protocol: u32,
    pub workload: String,
    /// How much of it.
    pub n: u64,
    /// What came out, which is the same under every heap.
    pub checksum: u64,
    /// Blocks that it asked for, if they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<u64>,
    /// How long each part took.
    pub phases: Vec<Phase>,
    /// What the workload has measured or counted itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, u64>,
    /// How the process was at some moments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// The heap that the process really had.
    pub heap: Heap,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name, such as `drop`.
    pub name: String,
    /// Time that went by.
    pub wall_ns: u64,
    /// Processor time of the thread, where the system reports it precisely enough.
    pub cpu_ns: Option<u64>,
}

impl Phase {
    /// The better of its times: on a machine with other work to do, the processor's.
    pub fn time_ns(&self) -> u64 {
        self.cpu_ns.unwrap_or(self.wall_ns)
    }
}

impl Answer {
    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what a worker printed. Libraries that were loaded into it may have printed other lines.
    ///
    /// # Errors
    ///
    /// If there is no such line in it, or one of another version, as a sentence.
    pub fn of_line(text: &str) -> Result<Self, String> {
        let line = text.lines().rev().find(|line| line.starts_with('{')).ok_or("it printed no answer")?;
        let answer: Self =
            serde_json::from_str(line).map_err(|error| format!("its answer is damaged: {error}"))?;
        if answer.protocol != PROTOCOL {
            return Err(format!("it speaks version {}, and this is version {PROTOCOL}", answer.protocol));
        }
        Ok(answer)
    }

    /// A moment by its name.
    pub fn moment(&self, name: &str) -> Option<&Moment> {
        self.moments.iter().find(|moment| moment.name == name)
    }

    /// A phase by its name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let phase = Phase { name: "drop".to_owned(), wall_ns: 12, cpu_ns: None };
        let heap = Heap { libraries: vec!["a\"b".to_owned()], ..Heap::default() };
        Answer {
            protocol: PROTOCOL,
            workload: "w".into(),
            n: 3,
            checksum: u64::MAX,
            allocations: None,
            phases: vec![phase],
            measured: BTreeMap::new(),
            moments: Vec::new(),
            heap,
        }
    }

    #[test]
    fn an_answer_is_one_line_and_comes_back() {
        let line = answer().to_line();
        assert!(!line.contains('\n'));
        assert_eq!(Answer::of_line(&format!("tcmalloc: hello\n{line}\n")), Ok(answer()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        assert!(Answer::of_line("").is_err());
        assert!(Answer::of_line("{\"protocol\":1}").unwrap_err().contains("damaged"));
        let newer = Answer { protocol: 3, ..answer() };
        assert!(Answer::of_line(&newer.to_line()).unwrap_err().contains("version 3"));
    }

    #[test]
    fn the_processors_time_is_taken_where_there_is_one() {
        let mut phase = Phase { name: String::new(), wall_ns: 10, cpu_ns: Some(4) };
        assert_eq!(phase.time_ns(), 4);
        phase.cpu_ns = None;
        assert_eq!(phase.time_ns(), 10);
    }
}
