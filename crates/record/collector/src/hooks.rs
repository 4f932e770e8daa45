//! Which functions of allocators inside of files are entered through the recorder: the plans of files, and what came of them.
//!
//! What is to be done with a file is planned once, whoever maps it, by the function that [`Planner`] has.

use crate::maps;
use heapwise_trace::file::records::AllocatorInside;
use heapwise_trace::live::plan::FilePlan;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Allocators inside of a file that a process has mapped, and what came of the attempt to record them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Functions that are entered through the recorder.
    pub functions: usize,
    /// Functions that are not, and why.
    pub refused: Vec<(String, String)>,
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
        other.refused.iter().for_each(|(name, why)| self.refuse(name, why));
    }
}

/// By file and family.
pub type EnteredByFile = BTreeMap<(PathBuf, &'static str), Entered>;

/// Those that are recorded, for the file.
pub(crate) fn inside(entered: &EnteredByFile) -> Vec<AllocatorInside> {
    let recorded = entered.iter().filter(|(_, entered)| entered.functions > 0);
    let inside = recorded.map(|((file, family), entered)| AllocatorInside {
        allocator: (*family).to_owned(),
        file: file.to_string_lossy().into_owned(),
        functions: entered.functions as u64,
    });
    inside.collect()
}

/// Files whose plans are kept. Each is read once, while its process waits.
const MOST_FILES: usize = 4096;

/// Which file it is: device and inode.
pub(crate) type Key = ((u32, u32), u64);

/// The plans of all files that were asked for.
#[derive(Debug, Default)]
pub struct Planner {
    pub(crate) plan: Option<fn(&Path) -> Option<FilePlan>>,
    known: HashMap<Key, Arc<FilePlan>>,
}

impl Planner {
    /// One that plans by this function, which returns nothing for what is no program or library.
    pub fn new(plan: fn(&Path) -> Option<FilePlan>) -> Self {
        Self { plan: Some(plan), known: HashMap::new() }
    }

    /// Whether there are answers.
    pub(crate) fn answers(&self) -> bool {
        self.plan.is_some()
    }

    pub(crate) fn of_file(&mut self, pid: u32, line: &maps::Line<'_>) -> Option<Arc<FilePlan>> {
        let key = (line.device, line.inode);
        if let Some(known) = self.known.get(&key) {
            return Some(Arc::clone(known));
        }
        if self.known.len() >= MOST_FILES || !line.name.starts_with('/') {
            return None;
        }
        // The process may see other files than we do, and the file may have been replaced.
        let paths = [format!("/proc/{pid}/root{}", line.name), line.name.to_owned()];
        let plan = self.plan?;
        let mut plans = paths.iter().filter_map(|path| plan(path.as_ref()));
        let found = Arc::new(plans.find(|found| found.inode == line.inode).unwrap_or_default());
        self.known.insert(key, Arc::clone(&found));
        Some(found)
    }
}

/// What of its hooks is known of a process.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    /// The last question that was answered.
    pub(crate) answered: u32,
    /// The code that was looked at: which file, and where its first byte would be by the place of this part.
    pub(crate) seen: HashSet<(Key, u64)>,
    /// File, family and name of each function in the table, in its order.
    pub(crate) sent: Vec<(PathBuf, &'static str, String)>,
    pub(crate) refused: EnteredByFile,
}
