//! Programs that recorded processes have started, and in which the recorder is not.
//!
//! The recorder notices most of them when they are executed, by the functions of the C library and of Go. What makes the system calls
//! otherwise, it does not notice, nor does a program that gains privileges by being executed load it. So the children of recorded
//! processes are looked at from outside now and then. What has ended before the second look is missed.

use crate::joins::{Mapped, Memory};
use crate::process::Process;
use heapwise_trace::file::records::BlindSpot;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At least this is between two looks. A child that loads the recorder has done so by the second one.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// Looks take no more than one in so many parts of the time.
const SHARE: u32 = 200;
/// Threads whose children are read in a look.
const MOST_THREADS: usize = 512;
/// Children that are remembered.
const MOST_CHILDREN: usize = 1024;
/// Programs that are named.
const MOST_NAMED: usize = 5;

/// What was seen of children.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    next: Duration,
    /// Children without the recorder: what they execute, and whether that was so in two looks.
    seen: BTreeMap<u32, (PathBuf, bool)>,
}

impl Strays {
    /// Looks at the children of processes, if it is time to.
    pub(crate) fn look(&mut self, now: Duration, processes: &[Process], memory: &Memory) {
        if now < self.next {
            return;
        }
        let began = Instant::now();
        let recorded: BTreeSet<u32> = processes.iter().map(|process| process.info.pid).collect();
        let mut threads = MOST_THREADS;
        let mut there = BTreeSet::new();
        for process in processes {
            for child in children_of(process.info.pid, &mut threads) {
                there.insert(child);
                if !recorded.contains(&child) && self.seen.get(&child).is_none_or(|(_, twice)| !twice) {
                    self.look_at(child, process.executable.as_deref(), memory);
                }
            }
        }
        self.seen.retain(|child, (_, twice)| *twice || there.contains(child));
        self.next = now + LEAST_INTERVAL.max(began.elapsed() * SHARE);
    }

    fn look_at(&mut self, child: u32, parent: Option<&Path>, memory: &Memory) {
        // A child that has executed nothing yet is a copy of its parent, recorded or not.
        let program = program_of(child).filter(|program| Some(program.as_path()) != parent);
        let has_recorder = match Mapped::of(child, memory) {
            Mapped::Parts(parts) => !parts.is_empty(),
            Mapped::Gone => true,
            Mapped::Hidden => false,
        };
        let Some(program) = program.filter(|_| !has_recorder) else {
            self.seen.remove(&child);
            return;
        };
        let before = self.seen.get(&child).is_some_and(|(known, _)| *known == program);
        if before || self.seen.len() < MOST_CHILDREN {
            self.seen.insert(child, (program, before));
        }
    }

    /// What those execute that never joined.
    pub(crate) fn into_programs(self, joined: &[u32]) -> BTreeSet<PathBuf> {
        let strays = self.seen.into_iter().filter(|(pid, (_, twice))| *twice && !joined.contains(pid));
        strays.map(|(_, (program, _))| program).collect()
    }
}

/// The processes that the threads of a process have started and that are there.
fn children_of(pid: u32, threads: &mut usize) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let room = *threads;
    let lists = tasks.flatten().take(room).map(|task| {
        *threads = threads.saturating_sub(1);
        // Kernels without checkpoints have no such list.
        fs::read_to_string(task.path().join("children")).unwrap_or_default()
    });
    let texts: Vec<String> = lists.collect();
    texts.iter().flat_map(|text| text.split_ascii_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

/// What a process executes: the file, or its name where the file may not be known.
fn program_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok().or_else(|| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(name.trim_end().into()).filter(|name: &PathBuf| !name.as_os_str().is_empty())
    })
}

/// Names them, but for those that are `named` already.
pub(crate) fn blind_spot(programs: &BTreeSet<PathBuf>, named: &BTreeSet<String>) -> Option<BlindSpot> {
    let file = |name: &str| Path::new(name).file_name().map(|name| name.to_owned());
    let named: BTreeSet<_> = named.iter().filter_map(|name| file(name)).collect();
    let is_new = |program: &&PathBuf| program.file_name().is_none_or(|name| !named.contains(name));
    let names: Vec<String> = programs.iter().filter(is_new).map(|path| path.display().to_string()).collect();
    let (is, it) = match names.len() {
        0 => return None,
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let more = if names.len() > MOST_NAMED {
        format!(" and {} more", names.len() - MOST_NAMED)
    } else {
        String::new()
    };
    let names = names[..names.len().min(MOST_NAMED)].join(", ");
    Some(BlindSpot {
        id: "stray-child".into(),
        what: format!(
            "{names}{more} {is} not recorded: a recorded process started {it}, and heapwise is not in {it}"
        ),
        remedy: "if it is linked statically, or gains privileges, record it by itself (`heapwise run`, or `heapwise attach PID` as it runs)"
            .into(),
        ..BlindSpot::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_elsewhere_is_not_named_again() {
        let programs = BTreeSet::from(["/bin/busybox".into(), "/opt/a b".into()]);
        let spot = blind_spot(&programs, &BTreeSet::from(["./busybox".into()])).expect("one is left");
        assert!(
            spot.what.starts_with("/opt/a b is not recorded: a recorded process started it,"),
            "{}",
            spot.what
        );
        let both = blind_spot(&programs, &BTreeSet::new()).expect("both");
        assert!(
            both.what
                .starts_with("/bin/busybox, /opt/a b are not recorded: a recorded process started them,"),
            "{}",
            both.what
        );
        let all = ["busybox".into(), "/somewhere/a b".into()];
        assert_eq!(blind_spot(&programs, &BTreeSet::from(all)), None);
    }

    #[test]
    fn a_child_counts_when_it_was_seen_twice_with_the_same_program() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
        let memory = Memory::of(&fs::metadata("/proc/self/exe").expect("it is there"));
        let mut strays = Strays::default();
        while program_of(child.id())
            .is_none_or(|program| Path::new("/proc/self/exe").canonicalize().is_ok_and(|own| own == program))
        {
            std::thread::yield_now();
        }
        assert!(children_of(std::process::id(), &mut 512).contains(&child.id()));
        strays.look_at(child.id(), None, &memory);
        assert!(strays.seen.values().all(|(_, twice)| !twice));
        strays.look_at(child.id(), None, &memory);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(strays.seen.values().all(|(_, twice)| *twice) && strays.seen.len() == 1);
        let joined = Strays { seen: strays.seen.clone(), ..Strays::default() }.into_programs(&[child.id()]);
        assert!(joined.is_empty(), "{joined:?}");
        let programs = strays.into_programs(&[]);
        assert!(programs.first().is_some_and(|path| path.ends_with("sleep")), "{programs:?}");
    }
}
