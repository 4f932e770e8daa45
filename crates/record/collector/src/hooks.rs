//! Which functions of allocators inside of files are entered through the recorder: the plans of files, and what came of them.
//!
//! What is to be done with a file is planned once, whoever maps it, by the function that [`Planner`] has.

use crate::maps;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::records::AllocatorInside;
use heapwise_trace::live::hooks::{Fixup, Hook, HookKind};
use heapwise_trace::live::plan::{FilePlan, InFront, Planned};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Allocators inside of a file that a process has mapped, and what came of the attempt to record them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Functions that are entered through the recorder.
    pub functions: usize,
    /// The allocator's number in events.
    pub number: AllocatorNumber,
    /// Functions that are not, and why.
    pub refused: Vec<(String, String)>,
    /// Whether programs find them by their names: it is the C library's allocator, or stands in front of that.
    pub is_by_name: bool,
    /// Whether a function is entered that ends a heap as a whole.
    pub(crate) ends_heaps: bool,
    /// Whether heaps of it have ended so, and what they had could not be found out.
    pub has_unseen_ends: bool,
    /// Whether it would be recorded if the preloaded library came before it.
    pub is_in_front: bool,
}

impl Entered {
    /// Notes a function that is not entered, once for each reason.
    pub(crate) fn refuse(&mut self, name: &str, why: &str) {
        if !self.refused.iter().any(|(known, reason)| known == name && reason == why) {
            self.refused.push((name.to_owned(), why.to_owned()));
        }
    }

    /// Adds what another process with the same file has.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.functions = self.functions.max(other.functions);
        self.number = self.number.max(other.number);
        self.is_by_name |= other.is_by_name;
        self.ends_heaps |= other.ends_heaps;
        self.is_in_front |= other.is_in_front;
        other.refused.iter().for_each(|(name, why)| self.refuse(name, why));
    }
}

/// Notes of which allocators heaps have ended with blocks that could not be found out, by their numbers. A forked child, which has its
/// parent's functions, says it for these.
pub(crate) fn note_unseen_ends(all: &mut EnteredByFile, numbers: u64) {
    for entered in all.values_mut().filter(|entered| entered.ends_heaps) {
        entered.has_unseen_ends |= numbers >> entered.number.0 & 1 != 0;
    }
}

/// By file and family.
pub type EnteredByFile = BTreeMap<(PathBuf, &'static str), Entered>;

/// Those that are recorded, for the file.
pub(crate) fn inside(entered: &EnteredByFile) -> Vec<AllocatorInside> {
    let recorded = entered.iter().filter(|(_, entered)| entered.functions > 0 && !entered.is_by_name);
    let inside = recorded.map(|((file, family), entered)| AllocatorInside {
        allocator: (*family).to_owned(),
        file: file.to_string_lossy().into_owned(),
        functions: entered.functions as u64,
        number: entered.number.0,
    });
    inside.collect()
}

/// Files whose plans are kept. Each is read once, while its process waits.
const MOST_FILES: usize = 4096;

/// Which file it is: device and inode.
pub(crate) type Key = ((u32, u32), u64);

/// Plans for a file of which functions are found by their names so.
type Plan = fn(&Path, InFront) -> Option<FilePlan>;

/// The plans of all files that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    plan: Option<Plan>,
    known: HashMap<(Key, InFront), Arc<FilePlan>>,
    /// The allocators that have a number, from 1 on: by file and family.
    numbered: Vec<(PathBuf, &'static str)>,
}

impl Planner {
    /// One that plans by this function, which returns nothing for what is no program or library.
    pub fn new(plan: Plan) -> Self {
        Self { plan: Some(plan), ..Self::default() }
    }

    /// The number of an allocator inside of a file.
    pub(crate) fn number(&mut self, file: &Path, family: &'static str) -> AllocatorNumber {
        let known = self.numbered.iter().position(|(of, name)| of == file && *name == family);
        let most = usize::from(AllocatorNumber::OTHERS.0);
        let place = known.unwrap_or(self.numbered.len());
        if known.is_none() && place + 1 < most {
            self.numbered.push((file.to_owned(), family));
        }
        AllocatorNumber(u8::try_from((place + 1).min(most)).unwrap_or(AllocatorNumber::OTHERS.0))
    }

    /// The families of the allocators that have numbers, from 1 on.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = &'static str> {
        self.numbered.iter().map(|(_, family)| *family)
    }

    /// Whether there are answers.
    pub(crate) fn answers(&self) -> bool {
        self.plan.is_some()
    }

    /// The plan of a path, which is not kept.
    pub(crate) fn of_path(&self, path: &Path, in_front: InFront) -> FilePlan {
        self.plan.and_then(|plan| plan(path, in_front)).unwrap_or_default()
    }

    /// The plan of a file that a process has mapped.
    pub(crate) fn of_file(
        &mut self,
        pid: u32,
        line: &maps::Line<'_>,
        in_front: InFront,
    ) -> Option<Arc<FilePlan>> {
        let key = ((line.device, line.inode), in_front);
        if let Some(known) = self.known.get(&key) {
            return Some(Arc::clone(known));
        }
        if self.known.len() >= MOST_FILES || !line.name.starts_with('/') {
            return None;
        }
        // The process may see other files than we do, and the file may have been replaced.
        let paths = [format!("/proc/{pid}/root{}", line.name), line.name.to_owned()];
        let plan = self.plan?;
        let mut plans = paths.iter().filter_map(|path| plan(path.as_ref(), in_front));
        let found = Arc::new(plans.find(|found| found.inode == line.inode).unwrap_or_default());
        self.known.insert(key, Arc::clone(&found));
        Some(found)
    }
}

/// Parts of the memory of a process that are code of one file at one place: which file, and where its first byte would be.
pub(crate) type Parts<'line, 'text> = BTreeMap<(Key, u64), Vec<&'line maps::Line<'text>>>;

/// Those of its mappings. A page that was changed is a line of its own ever after: parts of one file with the same distance belong
/// together.
pub(crate) fn parts<'line, 'text>(lines: &'line [maps::Line<'text>]) -> Parts<'line, 'text> {
    let is_code =
        |line: &&maps::Line<'_>| line.executable && !line.writable && !line.shared && line.inode != 0;
    let mut parts = Parts::new();
    for line in lines.iter().filter(is_code) {
        let base = line.range.start.wrapping_sub(line.offset);
        parts.entry(((line.device, line.inode), base)).or_default().push(line);
    }
    parts
}

/// A hook with the addresses that its file has in the process, if it lies in this part.
pub(crate) fn placed(planned: &Planned, line: &maps::Line<'_>) -> Option<Hook> {
    if !line.in_file().contains(&planned.in_file) {
        return None;
    }
    let mut hook = planned.hook;
    let address = line.range.start.wrapping_add(planned.in_file.wrapping_sub(line.offset));
    let bias = address.wrapping_sub(hook.address);
    hook.address = address;
    hook.fixups = hook.fixups.map(|fixup| Fixup { target: fixup.target.wrapping_add(bias), ..fixup });
    Some(hook)
}

/// A function of a process that can be entered through the recorder.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// With the addresses of the process.
    pub(crate) hook: Hook,
    /// As in the plan.
    pub(crate) steps: Vec<(u8, u8)>,
}

impl Placed {
    /// The bytes that make way.
    pub(crate) fn range(&self) -> Range<u64> {
        self.hook.address..self.hook.address + u64::from(self.hook.displaced_len)
    }
}

/// All such functions, by the plans of the files that the process has mapped.
pub(crate) fn all_placed(pid: u32, lines: &[maps::Line<'_>], planner: &mut Planner) -> Vec<Placed> {
    let mut all = Vec::new();
    for lines in parts(lines).into_values() {
        let Some(plan) = planner.of_file(pid, lines[0], InFront::Nothing) else { continue };
        for line in lines {
            let here = plan.planned.iter().filter_map(|one| Some((placed(one, line)?, one.steps.clone())));
            all.extend(here.map(|(hook, steps)| Placed { hook, steps }));
        }
    }
    all
}

/// Where a process has what a file is known to define.
pub(crate) fn address_of(
    name: &str,
    pid: u32,
    lines: &[maps::Line<'_>],
    planner: &mut Planner,
) -> Option<u64> {
    parts(lines).into_iter().find_map(|((_, base), lines)| {
        let plan = planner.of_file(pid, lines[0], InFront::Nothing)?;
        let (_, address) = plan.known.iter().find(|(known, _)| *known == name)?;
        let (in_file, code) = plan.code;
        Some(base.wrapping_add(in_file).wrapping_add(address.wrapping_sub(code)))
    })
}

/// A function in the table of a process.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) file: PathBuf,
    pub(crate) family: &'static str,
    pub(crate) name: String,
    pub(crate) kind: HookKind,
    /// Whether it is the C library's, or another one that is found by its name in place of it.
    pub(crate) is_by_name: bool,
    /// Whether it is of the library that has the process's `malloc`.
    pub(crate) is_of_library: bool,
    pub(crate) number: AllocatorNumber,
}

/// What of its hooks is known of a process.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    /// The last question that was answered.
    pub(crate) answered: u32,
    /// When the first question was answered.
    pub(crate) first_answer: Option<Instant>,
    /// The code that was looked at: which file, and where its first byte would be by the place of this part.
    pub(crate) seen: HashSet<(Key, u64)>,
    /// The functions in the table, in its order.
    pub(crate) sent: Vec<Sent>,
    pub(crate) refused: EnteredByFile,
    /// Tables of sizes that were read, from the first one on.
    pub(crate) sizes_said: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_have_numbers_until_there_are_none_left() {
        let mut planner = Planner::default();
        let file = |n: u32| PathBuf::from(format!("/usr/lib/lib{n}.so"));
        let numbers: Vec<u8> = (0..70).map(|n| planner.number(&file(n), "jemalloc").0).collect();
        let expected: Vec<u8> = (1..=62).chain([63; 8]).collect();
        assert_eq!(numbers, expected);
        assert_eq!(planner.number(&file(3), "jemalloc"), AllocatorNumber(4), "it keeps it");
        assert_eq!(
            planner.number(&file(3), "mimalloc"),
            AllocatorNumber::OTHERS,
            "another one in the same file"
        );
    }
}
