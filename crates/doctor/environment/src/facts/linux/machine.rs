//! The machine, from `/proc/sys`, `/sys` and the limits of a process.

use super::Roots;
use crate::facts::{Limits, Machine, Thp};

impl Roots {
    /// The machine as the process in this folder of `/proc` sees it.
    pub(super) fn machine(&self, folder: &str) -> Machine {
        let thp = self.read(self.sys.join("kernel/mm/transparent_hugepage/enabled"));
        let number = |name: &str| self.read(self.proc.join("sys/vm").join(name))?.trim().parse::<u64>().ok();
        Machine {
            thp: thp.and_then(|text| chosen(&text)),
            overcommit: number("overcommit_memory").map(|n| n as u8),
            commit_left_bytes: self.commit_left(),
            max_map_count: number("max_map_count"),
            cgroup: self.cgroup(folder),
            limits: self.limits(folder),
            // The options are the name of a file that need not exist.
            malloc_conf: std::fs::read_link(self.etc.join("malloc.conf"))
                .ok()
                .map(|options| options.to_string_lossy().into_owned()),
            huge_page_pool: self.meminfo("HugePages_Total"),
            ..common()
        }
    }

    fn commit_left(&self) -> Option<u64> {
        Some(self.meminfo("CommitLimit")?.saturating_sub(self.meminfo("Committed_AS")?) << 10)
    }

    /// A number of `meminfo`, in the unit that it has there.
    fn meminfo(&self, name: &str) -> Option<u64> {
        let text = self.read(self.proc.join("meminfo"))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    }

    fn limits(&self, folder: &str) -> Limits {
        let text = self.read(self.proc.join(folder).join("limits")).unwrap_or_default();
        let soft = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Limits { address_space_bytes: soft("Max address space"), data_bytes: soft("Max data size") }
    }
}

/// What is the same for every process, and costs next to nothing to know.
pub(super) fn common() -> Machine {
    Machine {
        processors: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        glibc: glibc_version(),
        ..Machine::default()
    }
}

/// The word in brackets.
fn chosen(text: &str) -> Option<Thp> {
    match text.split('[').nth(1)?.split(']').next()? {
        "always" => Some(Thp::Always),
        "madvise" => Some(Thp::Madvise),
        "never" => Some(Thp::Never),
        _ => None,
    }
}

/// The version of the C library of this process, which is that of programs started from here.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "asks the C library for its version")]
fn glibc_version() -> Option<(u32, u32)> {
    // SAFETY: it returns a string that is never freed.
    let text = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let (major, minor) = text.to_str().ok()?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// A program of musl does not know which glibc others have.
#[cfg(not(target_env = "gnu"))]
fn glibc_version() -> Option<(u32, u32)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = Roots::default().machine("self");
        assert!(machine.processors >= 1);
        assert!(machine.max_map_count.is_some_and(|n| n > 1000));
        assert!(machine.overcommit.is_some_and(|mode| mode <= 2));
    }

    #[test]
    fn the_word_in_brackets_is_chosen() {
        assert_eq!(chosen("always [madvise] never\n"), Some(Thp::Madvise));
        assert_eq!(chosen("always madvise [never]\n"), Some(Thp::Never));
        assert_eq!(chosen(""), None);
    }
}
