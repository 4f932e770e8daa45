//! The contest program of the article about memory allocation, in one of its versions.

use super::Workload;
use crate::lab::variable::FOLDER_VARIABLE;
use crate::lab::worker::Stopwatch;
use poetry_contest::generate::Options;
use poetry_contest::{VERSIONS, dataset};
use std::path::PathBuf;

pub(super) const CONTEST: &dyn Workload = &Contest;

struct Contest;

impl Workload for Contest {
    fn name(&self) -> &'static str {
        "contest"
    }

    fn about(&self) -> &'static str {
        "points of poems in JSON files, in one of eight versions of the program"
    }

    fn unit(&self) -> &'static str {
        "entries of a round"
    }

    /// The numbers are entries of a round, the version, and rounds. The first run in a folder makes the files.
    ///
    /// # Panics
    ///
    /// If the files cannot be made: there is nothing to measure then.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual);
        let usual = Options::default();
        let options = Options { entries: number(0, 1), rounds: number(2, usual.rounds), ..usual };
        let folder = std::env::var_os(FOLDER_VARIABLE).map_or_else(std::env::temp_dir, PathBuf::from);
        let data = dataset::prepare_here(&folder, &options).unwrap_or_else(|reason| panic!("{reason}"));
        let version = number(1, 1).clamp(1, VERSIONS.len() as u64) as usize;
        let (_, solve) = VERSIONS[version - 1];
        watch.moment("baseline");
        let points = solve(&data);
        watch.moment("full");
        points
    }
}
