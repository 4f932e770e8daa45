//! Where the numbers come from: the machine, how busy it was, and the versions of the tools.

use crate::tools::Tool;
use serde::Serialize;
use std::fmt::Write;

/// A look at the machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    /// Processes that want to run, on average over one, five and fifteen minutes.
    load: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            processor: model(&read("/proc/cpuinfo")).unwrap_or("unknown processor").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: read("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" "),
        }
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// A paragraph to put above the tables.
pub(crate) fn describe(before: &Machine, after: &Machine, tools: &[Tool]) -> String {
    let Machine { processor, cores, kernel, load } = before;
    let mut text =
        format!("{processor}, {cores} cores, Linux {kernel}; load {load} before, {} after.\n", after.load);
    let versions: Vec<_> = tools.iter().map(Tool::version).filter(|version| *version != "native").collect();
    let _ = writeln!(text, "{}.", versions.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Quick CPU @ 2.00GHz\nstepping\t: 4\n";
        assert_eq!(model(cpuinfo), Some("Quick CPU @ 2.00GHz"));
        assert_eq!(model(""), None);
    }
}
