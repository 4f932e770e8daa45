//! Memory that this process could still take.

use crate::facts::{Cgroup, Subject, Variables, inherited};

/// Bytes that the machine and the control group have to spare; `None` where the system does not report them.
pub fn available_memory() -> Option<u64> {
    let of_machine = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(available);
    let of_group = inherited(Subject::Machine, Variables::default()).machine.cgroup.as_ref().and_then(left);
    of_machine.into_iter().chain(of_group).min()
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// What a group may still take. File cache counts as taken but is dropped when memory is needed, so at least a quarter of the
/// limit is assumed to be available.
fn left(group: &Cgroup) -> Option<u64> {
    let most = group.max_bytes?;
    Some(most.saturating_sub(group.current_bytes.unwrap_or(0)).max(most / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_available() {
        let meminfo = "MemTotal:  24612345 kB\nMemFree: 1 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available(meminfo), Some(2 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        let group =
            |max_bytes, current| Cgroup { max_bytes, current_bytes: Some(current), ..Cgroup::default() };
        assert_eq!(left(&group(Some(1000), 300)), Some(700));
        assert_eq!(left(&group(Some(1000), 990)), Some(250), "most of that is files");
        assert_eq!(left(&group(None, 990)), None);
    }
}
