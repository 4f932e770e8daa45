//! Where the numbers come from: the machine, how busy it was, and the versions of the tools.

use crate::tools::Tool;
use heapwise_environment::MachineDescription;
use serde::Serialize;
use std::fmt::Write;

/// A look at the machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    /// Runnable processes, on average over one, five and fifteen minutes.
    load: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let machine = MachineDescription::look();
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let unknown = machine.processor.is_empty();
        Self {
            processor: if unknown { "unknown processor".to_owned() } else { machine.processor },
            cores: machine.cores,
            kernel: machine.kernel.trim_start_matches("Linux ").to_owned(),
            load: load.split_whitespace().take(3).collect::<Vec<_>>().join(" "),
        }
    }
}

/// A paragraph to put above the tables; without tools where a table has their versions.
pub(crate) fn describe(before: &Machine, after: &Machine, tools: &[Tool]) -> String {
    let Machine { processor, cores, kernel, load } = before;
    let mut text =
        format!("{processor}, {cores} cores, Linux {kernel}; load {load} before, {} after.\n", after.load);
    let versions: Vec<_> = tools.iter().map(Tool::version).filter(|version| *version != "native").collect();
    if !versions.is_empty() {
        let _ = writeln!(text, "{}.", versions.join(", "));
    }
    text
}
