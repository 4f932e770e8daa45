//! Answers a process that asks which functions it is to enter through the recorder.
//!
//! It asks when it has joined, and when its loader has loaded another library, and waits. What it has mapped says the kernel. The process
//! applies the answer, and says of each function what came of it.

use crate::hooks::{self, EnteredByFile, Planner, Sent};
use crate::maps;
use crate::process::Process;
use crate::sys;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::pages::UsableSizes;
use heapwise_trace::live::hooks::{HookKind, MOST_HOOKS, result};
use heapwise_trace::live::plan::{FilePlan, InFront, Planned, Refused};
use heapwise_trace::live::sizes::MOST_SIZES;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Why nothing is entered of a library that comes before the preloaded one and has no functions to be entered.
const CHECKS: &str = "it checks what it hands out, and comes before heapwise's library in LD_PRELOAD";
/// Why a library is not entered that comes before the preloaded one.
const THREADS: &str = "a library comes before heapwise's in LD_PRELOAD, and threads ran already";

/// A process that asks does so at once when it has joined, and applies the answer at once. The time is that of a busy machine.
const ASKS_WITHIN: Duration = Duration::from_millis(500);
/// One into which the recorder was written does so in any case, however busy the machine is.
const IMAGE_ASKS_WITHIN: Duration = Duration::from_secs(2);

impl Process {
    /// Whether the process waits for an answer.
    pub(crate) fn asks_now(&self) -> bool {
        self.header().hooks_asked.load(Ordering::Acquire) != self.hooks.answered && self.is_present()
    }

    /// Answers the question of which functions are to be entered through the recorder.
    pub(crate) fn answer(&mut self, planner: &mut Planner) {
        let asked = self.header().hooks_asked.load(Ordering::Acquire);
        self.hooks.answered = asked;
        if planner.answers()
            && let Ok(maps) = fs::read(format!("/proc/{}/maps", self.info.pid))
        {
            // A name of a file may have any bytes.
            self.send_hooks(&String::from_utf8_lossy(&maps), planner);
        }
        self.hooks.first_answer.get_or_insert_with(Instant::now);
        let answered = &self.header().hooks_answered;
        answered.store(asked, Ordering::Release);
        sys::futex_wake(answered.as_ptr());
    }

    fn send_hooks(&mut self, maps: &str, planner: &mut Planner) {
        let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
        let parts = hooks::parts(&lines);
        // What was unloaded may come again, with its own code.
        self.hooks.seen.retain(|part| parts.contains_key(part));
        let malloc = self.header().malloc_in_front.load(Ordering::Acquire);
        for (part, lines) in parts {
            if !self.hooks.seen.insert(part) {
                continue;
            }
            let is_in_front = lines.iter().any(|line| line.range.contains(&malloc));
            let in_front = if is_in_front { InFront::Itself } else { self.in_front() };
            let plan = planner.of_file(self.info.pid, lines[0], in_front).unwrap_or_default();
            let is_program = self.executable.as_deref() == Some(Path::new(lines[0].name));
            if is_in_front && !is_program && plan.planned.is_empty() && plan.refused.is_empty() {
                let entered = self.hooks.refused.entry((PathBuf::from(lines[0].name), "")).or_default();
                entered.refuse("malloc", CHECKS);
                entered.is_in_front = true;
            }
            lines.into_iter().for_each(|line| self.send_file(&plan, line, planner));
        }
        self.header().hook_count.store(self.hooks.sent.len() as u32, Ordering::Release);
    }

    fn send_file(&mut self, plan: &FilePlan, line: &maps::Line<'_>, planner: &mut Planner) {
        let path = PathBuf::from(line.name);
        for Refused { family, name, why } in &plan.refused {
            self.hooks.refused.entry((path.clone(), family)).or_default().refuse(name, why);
        }
        // What such a library has beside the functions of the C library is of the same allocator.
        let is_by_name = |family: &str| plan.planned.iter().any(|of| of.family == family && of.is_by_name);
        let is_the_library = self.is_its_library(&path);
        let placed = plan.planned.iter().filter_map(|planned| Some((planned, hooks::placed(planned, line)?)));
        for (planned, mut hook) in placed {
            let is_of_allocator = hook.kind.is_of_blocks() || hook.kind.is_asked();
            if is_of_allocator && !is_the_library && !is_by_name(planned.family) {
                hook.allocator = planner.number(&path, planned.family);
            }
            let index = self.hooks.sent.len();
            if index == MOST_HOOKS || !self.map_hook(index, &hook) {
                // Without what is not of blocks, none is missing.
                if hook.kind.is_of_blocks() {
                    let entered = self.hooks.refused.entry((path.clone(), planned.family)).or_default();
                    entered.refuse(&planned.name, "there are too many functions");
                }
                continue;
            }
            self.hooks.sent.push(Sent {
                file: path.clone(),
                family: planned.family,
                name: planned.name.clone(),
                kind: hook.kind,
                is_by_name: planned.is_by_name,
                is_of_library: is_the_library,
                number: hook.allocator,
            });
        }
    }

    /// What the allocator inside of the program itself is called, if that is entered through the recorder: its family, or the
    /// program's file where only its `malloc` is known. Otherwise the library whose `malloc` is, one that stands in front of the C
    /// library's before that.
    pub(crate) fn own_allocator(&self) -> Option<String> {
        let program = self.executable.as_deref()?;
        match self.applied().find(|sent| sent.file == program) {
            Some(Sent { file, family: "", .. }) => Some(file.to_string_lossy().into_owned()),
            Some(Sent { family, .. }) => Some((*family).to_owned()),
            None => self.entered_library(),
        }
    }

    /// The library whose `malloc` is entered through the recorder, one that stands in front of the C library's before that.
    pub(crate) fn entered_library(&self) -> Option<String> {
        let by_name = || self.applied().filter(|sent| sent.is_by_name);
        let is_c_library = |sent: &&Sent| ["glibc", "musl"].contains(&sent.family);
        let found = by_name().find(|sent| !is_c_library(sent)).or_else(|| by_name().next())?;
        Some(found.file.to_string_lossy().into_owned())
    }

    /// Whether a file is the library that has the process's `malloc`. What that has beside is no other allocator.
    fn is_its_library(&self, file: &Path) -> bool {
        let library = self.allocator_library();
        let is_same_file = || {
            // The loader knows it by another name than the kernel where that is a link. The process may see other files than we do.
            let in_process =
                |path: &str| std::fs::metadata(format!("/proc/{}/root{path}", self.info.pid)).ok();
            let found = in_process(&library).zip(in_process(&file.to_string_lossy()));
            found.is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
        };
        file.file_name() == Path::new(&library).file_name() || library.starts_with('/') && is_same_file()
    }

    /// The functions of allocators that are entered through the recorder.
    fn applied(&self) -> impl Iterator<Item = &Sent> {
        let results = self.header().hook_results.iter().map(|it| it.load(Ordering::Acquire));
        let sent = self.hooks.sent.iter().zip(results);
        let applied = sent.filter(|(sent, result)| sent.kind.is_of_blocks() && *result == result::APPLIED);
        applied.map(|(sent, _)| sent)
    }

    /// What allocators inside of the process have newly said of their sizes. It is believed of those that it had to enter.
    pub(crate) fn said_sizes(&mut self) -> Option<UsableSizes> {
        let tables = self.header().size_tables.iter().enumerate().skip(self.hooks.sizes_said);
        let (place, table) = { tables }.find(|(_, table)| table.count.load(Ordering::Acquire) != 0)?;
        let number = AllocatorNumber(u8::try_from(table.number.load(Ordering::Relaxed)).unwrap_or_default());
        let count = (table.count.load(Ordering::Acquire) as usize).min(MOST_SIZES);
        let sizes = table.sizes[..count].iter().map(|size| size.load(Ordering::Relaxed).into());
        let sizes: Vec<u64> = sizes.collect();
        self.hooks.sizes_said = place + 1;
        let is_its = |sent: &&Sent| sent.kind == HookKind::Nallocx && sent.number == number;
        let sent = self.hooks.sent.iter().find(is_its)?;
        let is_plausible = sizes.len() > 1 && sizes.is_sorted_by(|a, b| a < b) && sizes[0] > 0;
        let allocator = format!("its own {}", sent.name);
        is_plausible.then_some(UsableSizes { allocator, number, header_bytes: 0, sizes })
    }

    /// Whether the process is about to ask its first question: what it calls its allocator depends on the answer.
    pub(crate) fn may_ask(&self, planner: &Planner) -> bool {
        let has_asked = self.header().hooks_asked.load(Ordering::Acquire) != 0;
        let results = self.header().hook_results.iter().take(self.hooks.sent.len());
        let is_at_work = { results }.any(|it| it.load(Ordering::Acquire) == result::OPEN);
        let since = self.hooks.first_answer.unwrap_or(self.joined_at);
        let is_new = since.elapsed() < if self.is_image() { IMAGE_ASKS_WITHIN } else { ASKS_WITHIN };
        planner.answers()
            && is_new
            && (!has_asked || self.asks_now() || is_at_work)
            && self.asks()
            && self.is_present()
    }

    /// What stands in front of functions that it finds by their names.
    fn in_front(&self) -> InFront {
        if self.is_image() { InFront::Nothing } else { InFront::Library }
    }

    /// Whether the recorder was written into it.
    fn is_image(&self) -> bool {
        self.header().own_memory[1].load(Ordering::Relaxed) != 0
    }

    /// Whether it is one that asks at its start: the recorder is no part of the program, and it was not forked from another one.
    fn asks(&self) -> bool {
        self.header().is_in_program.load(Ordering::Relaxed) == 0 && self.info.forked_from.is_none()
    }

    /// What came of all hooks.
    pub(crate) fn entered(&self, planner: &Planner) -> EnteredByFile {
        let mut found = self.hooks.refused.clone();
        // A process that did not ask has entered none, whatever others with the same files have.
        if self.hooks.answered == 0
            && self.asks()
            && let Some(program) = &self.executable
        {
            let plan = planner.of_path(program, self.in_front());
            // One inside of the program itself is among these.
            if self.header().malloc_in_front.load(Ordering::Acquire) != 0 && !plan.enters_malloc {
                let entered = found.entry((program.clone(), "")).or_default();
                entered.refuse("malloc", THREADS);
                entered.is_in_front = true;
            }
            let of_blocks = plan.planned.into_iter().filter(|planned| planned.hook.kind.is_of_blocks());
            for Planned { family, name, .. } in of_blocks {
                let entered = found.entry((program.clone(), family)).or_default();
                entered.refuse(&name, "a process has not asked for it");
            }
        }
        let results = self.header().hook_results.iter().map(|result| result.load(Ordering::Acquire));
        // What says what happens beside is no allocator's, and no block is missing without it.
        let of_blocks = self.hooks.sent.iter().zip(results).filter(|(sent, _)| sent.kind.is_of_blocks());
        for (Sent { file, family, name, kind, is_by_name, is_of_library, number }, result) in of_blocks {
            let entered = found.entry((file.clone(), family)).or_default();
            match why(result) {
                None => entered.functions += 1,
                Some(why) => entered.refuse(name, why),
            }
            entered.ends_heaps |= *kind == HookKind::DestroyHeap;
            entered.is_by_name |= *is_by_name || *is_of_library;
            entered.number = entered.number.max(*number);
        }
        found
    }

    /// Allocators of which a heap has ended with blocks that could not be found out: a bit for each number.
    pub(crate) fn unseen_heap_ends(&self) -> u64 {
        self.header().unseen_heap_ends.load(Ordering::Acquire)
    }
}

fn why(result: u8) -> Option<&'static str> {
    Some(match result {
        result::APPLIED => return None,
        result::OTHER_CODE => "its code in the process is not that of the file",
        result::NO_ROOM => "no memory near it was free",
        result::RETURNS_GUARDED => "it begins with a call, which a shadow stack does not let move",
        result::FORBIDDEN => "the system does not allow its code to be changed",
        _ => "the process did not come to it",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::live::hooks::{Fixup, Hook};

    #[test]
    fn a_hook_moves_with_its_file() {
        let text = "7f0000401000-7f0000501000 r-xp 00001000 08:01 77 /lib/liba.so";
        let line = maps::line(text).expect("a line");
        let mut hook = Hook { address: 0x2010, ..Hook::default() };
        hook.fixups[0] = Fixup { at: 1, end: 5, target: 0x9000 };
        let planned = Planned {
            family: "jemalloc",
            name: "f".into(),
            in_file: 0x1010,
            hook,
            steps: Vec::new(),
            is_by_name: false,
        };
        let placed = hooks::placed(&planned, &line).expect("it lies there");
        assert_eq!(placed.address, 0x7f00_0040_1010);
        assert_eq!(placed.fixups[0].target, 0x7f00_0040_8000);
    }

    #[test]
    fn each_result_has_its_reason() {
        let reasons: Vec<_> = (0..5).map(why).collect();
        assert_eq!(reasons.iter().filter(|why| why.is_none()).count(), 1);
        assert_eq!(why(result::APPLIED), None);
        assert!(why(77).is_some());
    }
}
