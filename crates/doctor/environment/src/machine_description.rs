//! The machine in a few words, to stand above numbers that were measured on it.

use std::fmt;

/// A machine. What could not be found out is empty or zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineDescription {
    /// The model of its processor.
    pub processor: String,
    /// Processors that this process may use.
    pub cores: usize,
    pub memory_bytes: u64,
    /// The kernel's name and version.
    pub kernel: String,
    /// The version of glibc, as `2.36`.
    pub glibc: String,
    /// When memory comes in huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: String,
    /// Runnable processes, on average over the last minute.
    pub load: f64,
}

impl MachineDescription {
    /// Looks at this machine.
    pub fn look() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let facts = crate::facts::inherited(crate::Subject::Machine, crate::facts::Variables::default());
        let thp = match facts.machine.thp {
            Some(crate::facts::Thp::Always) => "always",
            Some(crate::facts::Thp::Madvise) => "madvise",
            Some(crate::facts::Thp::Never) => "never",
            None => "",
        };
        let release = read("/proc/sys/kernel/osrelease");
        let system = if cfg!(target_os = "linux") { "Linux" } else { std::env::consts::OS };
        Self {
            processor: model(&read("/proc/cpuinfo")).unwrap_or_default().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: total(&read("/proc/meminfo")).unwrap_or(0),
            kernel: format!("{system} {}", release.trim()).trim().to_owned(),
            glibc: facts.machine.glibc.map_or_else(String::new, |(major, minor)| format!("{major}.{minor}")),
            transparent_huge_pages: thp.to_owned(),
            load: read("/proc/loadavg").split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0),
        }
    }
}

/// One line: `Quick CPU, 2 cores, 23.5 GiB, Linux 6.18.0, glibc 2.36, huge pages madvise, load 0.5`.
impl fmt::Display for MachineDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processor = if self.processor.is_empty() { "unknown processor" } else { &self.processor };
        let cores = if self.cores == 1 { "core" } else { "cores" };
        write!(f, "{processor}, {} {cores}", self.cores)?;
        if self.memory_bytes > 0 {
            write!(f, ", {:.1} GiB", self.memory_bytes as f64 / f64::from(1 << 30))?;
        }
        if !self.kernel.is_empty() {
            write!(f, ", {}", self.kernel)?;
        }
        if !self.glibc.is_empty() {
            write!(f, ", glibc {}", self.glibc)?;
        }
        if !self.transparent_huge_pages.is_empty() {
            write!(f, ", huge pages {}", self.transparent_huge_pages)?;
        }
        write!(f, ", load {}", self.load)
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_files_is_found() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Quick CPU @ 2.00GHz\nstepping\t: 4\n";
        assert_eq!(model(cpuinfo), Some("Quick CPU @ 2.00GHz"));
        assert_eq!(model(""), None);
        assert_eq!(total("MemTotal:       24612345 kB\nMemFree: 1 kB\n"), Some(24_612_345 << 10));
    }

    #[test]
    fn a_line_says_what_is_known() {
        let machine = MachineDescription {
            processor: "Quick CPU".into(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.18.0".into(),
            glibc: "2.36".into(),
            transparent_huge_pages: "madvise".into(),
            load: 0.5,
        };
        let line = "Quick CPU, 2 cores, 24.0 GiB, Linux 6.18.0, glibc 2.36, huge pages madvise, load 0.5";
        assert_eq!(machine.to_string(), line);
        let nothing = MachineDescription { cores: 1, kernel: "Linux".into(), ..Default::default() };
        assert_eq!(nothing.to_string(), "unknown processor, 1 core, Linux, load 0");
        assert!(MachineDescription::look().cores >= 1);
    }
}
