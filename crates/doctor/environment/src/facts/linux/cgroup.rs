//! The control group that bounds the memory of a process, of version 2 or 1.

use super::Roots;
use crate::facts::Cgroup;
use std::path::{Path, PathBuf};

/// Version 1 writes "no limit" as the largest multiple of a page.
const NO_LIMIT: u64 = 1 << 62;

impl Roots {
    pub(super) fn cgroup(&self, folder: &str) -> Option<Cgroup> {
        let text = self.read(self.proc.join(folder).join("cgroup"))?;
        let lines: Vec<(&str, &str)> =
            text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let path_of = |wanted: &dyn Fn(&str) -> bool| {
            lines.iter().find(|(controllers, _)| wanted(controllers)).map(|(_, path)| *path)
        };
        let first = path_of(&|controllers| controllers.split(',').any(|c| c == "memory"));
        if let Some(path) = first {
            return self.version_1(path);
        }
        self.version_2(path_of(&|controllers| controllers.is_empty())?)
    }

    fn version_2(&self, path: &str) -> Option<Cgroup> {
        // If version 1 groups are mounted as well, the hierarchy of version 2 is one level further down.
        let hierarchies = ["fs/cgroup", "fs/cgroup/unified"].map(|at| self.sys.join(at));
        let hierarchy = hierarchies.into_iter().find(|at| at.join("cgroup.controllers").exists())?;
        let own = Files(below(&hierarchy, path));
        // A bound of any group above counts as well.
        let above: Vec<Files> =
            own.0.ancestors().take_while(|at| at.starts_with(&hierarchy)).map(Files::at).collect();
        let least = |name: &str| above.iter().filter_map(|files| files.number(name)).min();
        let most = |name: &str| above.iter().map(|files| files.event(name)).max().unwrap_or_default();
        Some(Cgroup {
            path: path.to_owned(),
            current_bytes: own.number("memory.current"),
            high_bytes: least("memory.high"),
            max_bytes: least("memory.max"),
            high_events: most("high"),
            max_events: most("max"),
            waiting_share: own.text("memory.pressure").and_then(|text| waiting(&text)),
        })
    }

    fn version_1(&self, path: &str) -> Option<Cgroup> {
        let hierarchy = self.sys.join("fs/cgroup/memory");
        // In a container the path is that outside, and its files are at the top.
        let places = [below(&hierarchy, path), hierarchy];
        let own = Files(places.into_iter().find(|at| at.join("memory.usage_in_bytes").exists())?);
        let soft = own.number("memory.soft_limit_in_bytes").filter(|n| *n < NO_LIMIT);
        Some(Cgroup {
            path: path.to_owned(),
            current_bytes: own.number("memory.usage_in_bytes"),
            high_bytes: soft,
            max_bytes: own.number("memory.limit_in_bytes").filter(|n| *n < NO_LIMIT),
            high_events: 0,
            max_events: own.number("memory.failcnt").unwrap_or_default(),
            waiting_share: None,
        })
    }
}

fn below(hierarchy: &Path, path: &str) -> PathBuf {
    hierarchy.join(path.trim_start_matches('/'))
}

/// The files of a group.
struct Files(PathBuf);

impl Files {
    fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }

    /// A number; `max` is none.
    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }

    fn event(&self, name: &str) -> u64 {
        let text = self.text("memory.events").unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(event, _)| *event == name).find_map(|(_, n)| n.parse().ok()).unwrap_or_default()
    }
}

/// `some avg10=1.23 …` in hundredths of a percent.
fn waiting(text: &str) -> Option<u32> {
    let some = text.lines().find(|line| line.starts_with("some"))?;
    let share: f64 = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
    Some((share * 100.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let at = |name: &str| folder.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), etc: at("etc") };
        (folder, roots)
    }

    #[test]
    fn groups_of_version_2_are_read_with_the_bounds_above_them() {
        let (_folder, roots) = roots(&[
            ("proc/self/cgroup", "0::/user.slice/app\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/user.slice/memory.high", "1000000\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.events", "low 0\nhigh 12\nmax 0\n"),
            ("sys/fs/cgroup/user.slice/app/memory.current", "900000\n"),
            ("sys/fs/cgroup/user.slice/app/memory.high", "max\n"),
            ("sys/fs/cgroup/user.slice/app/memory.max", "2000000\n"),
            ("sys/fs/cgroup/user.slice/app/memory.events", "low 0\nhigh 3\nmax 7\n"),
            (
                "sys/fs/cgroup/user.slice/app/memory.pressure",
                "some avg10=12.34 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0 avg300=0 total=0\n",
            ),
        ]);
        let group = roots.cgroup("self").expect("there is one");
        let expected = Cgroup {
            path: "/user.slice/app".into(),
            current_bytes: Some(900_000),
            high_bytes: Some(1_000_000),
            max_bytes: Some(2_000_000),
            high_events: 12,
            max_events: 7,
            waiting_share: Some(1234),
        };
        assert_eq!(group, expected);
    }

    #[test]
    fn groups_of_version_1_have_no_limit_that_is_absurd() {
        let (_folder, roots) = roots(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/job\n0::/job\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/job/memory.failcnt", "3\n"),
        ]);
        let group = roots.cgroup("self").expect("there is one");
        assert_eq!((group.current_bytes, group.max_bytes, group.max_events), (Some(4096), None, 3));
    }
}
