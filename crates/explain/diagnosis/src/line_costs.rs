//! What source files and lines cost: the sums of their sites, with the time that these are estimated to take.

use crate::cost;
use heapwise_analysis::owner::Owner;
use heapwise_analysis::{Analysis, FileSums, Nanos, Site};
use std::ops::AddAssign;

/// What a file or a line costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Blocks that were handed out.
    pub allocations: u64,
    pub reallocations: u64,
    /// Requested bytes of both.
    pub allocated_bytes: u64,
    /// Live bytes at the moment of the overall peak.
    pub peak_bytes: u64,
    /// Blocks that their thread freed before it allocated again.
    pub temporary_allocations: u64,
    /// Time of the allocator's calls, and of copying, by the model.
    pub time: Nanos,
}

/// A source file with its lines and what they cost.
pub type FileCosts<'a> = FileSums<'a, Costs>;

impl Costs {
    fn of(site: &Site) -> Self {
        Self {
            allocations: site.allocations,
            reallocations: site.reallocations,
            allocated_bytes: site.allocated_bytes.0,
            peak_bytes: site.peak_bytes.0,
            temporary_allocations: site.freed_after.temporary(),
            time: cost::of_site(site),
        }
    }

    /// Whether nothing was requested.
    pub fn is_nothing(&self) -> bool {
        self.allocations == 0 && self.reallocations == 0
    }

    /// The larger one of its shares in the allocations and in the live peak of the whole program, from 0 to 1.
    pub fn share(&self, analysis: &Analysis) -> f64 {
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let totals = &analysis.totals;
        let requests = totals.allocations.wrapping_add(totals.reallocations);
        share(self.allocations.wrapping_add(self.reallocations), requests)
            .max(share(self.peak_bytes, totals.peak_live_bytes.0))
    }
}

impl AddAssign for Costs {
    // A damaged recording may hold any number: sums wrap instead of ending the analysis.
    fn add_assign(&mut self, other: Self) {
        let sums = [
            (&mut self.allocations, other.allocations),
            (&mut self.reallocations, other.reallocations),
            (&mut self.allocated_bytes, other.allocated_bytes),
            (&mut self.peak_bytes, other.peak_bytes),
            (&mut self.temporary_allocations, other.temporary_allocations),
            (&mut self.time.0, other.time.0),
        ];
        for (sum, more) in sums {
            *sum = sum.wrapping_add(more);
        }
    }
}

/// The source files in the stacks of a recording: the user's first, then those of dependencies, then the others; among these the
/// ones with the largest share in the allocations or in the live peak first.
pub fn costs_by_file(analysis: &Analysis) -> Vec<FileCosts<'_>> {
    let mut files = analysis.files(Costs::of);
    let distance = |owner: Owner| match owner {
        Owner::User => 0,
        Owner::Dependency => 1,
        _ => 2,
    };
    files.sort_by(|a, b| {
        let share = |file: &FileCosts<'_>| (file.own.share(analysis), file.whole.share(analysis));
        let (one, other) = (share(a), share(b));
        let by_share = other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1));
        distance(a.owner).cmp(&distance(b.owner)).then(by_share).then(a.path.cmp(b.path))
    });
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, CLONE, Program, user};

    #[test]
    fn a_line_costs_what_its_sites_cost_and_own_files_come_first() {
        let mut p = Program::default();
        let boxed = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        let cloned = p.stack(&user(CLONE, "app::run|/u/src/a.rs|7"));
        let dependency = p.stack(&["get|/r/registry/src/i/pool-1.0.0/src/lib.rs|3", "app::b|/u/src/b.rs|2"]);
        for _ in 0..10 {
            p.alloc(boxed, 8);
            let block = p.alloc(cloned, 100);
            p.free(block);
        }
        (0..1000).for_each(|_| _ = p.alloc(dependency, 16));
        let analysis = p.analysis();
        let files = costs_by_file(&analysis);
        let paths: Vec<_> = files.iter().map(|file| file.path.rsplit('/').next().unwrap()).collect();
        assert_eq!(&paths[..3], ["b.rs", "a.rs", "lib.rs"], "{paths:?}");
        let line = &files[1].lines[0];
        let Costs { allocations, allocated_bytes, peak_bytes, temporary_allocations, time, .. } = line.own;
        assert_eq!((line.number, allocations, allocated_bytes), (7, 20, 1080));
        assert_eq!((peak_bytes, temporary_allocations), (80, 10));
        // By the model of costs: ten blocks among others, and ten that are freed at once.
        assert_eq!(time, Nanos(250 + 85));
        assert_eq!((line.whole, files[1].own, files[1].whole), (line.own, line.own, line.own));
    }
}
