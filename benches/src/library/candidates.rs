//! The programs that are compared, and with what.

use serde::Serialize;

/// A program in a state.
#[derive(Debug)]
pub(super) struct Candidate {
    /// What `--only` and the table of raw numbers call it.
    pub(super) name: &'static str,
    /// What the tables call it.
    pub(super) wrapper: &'static str,
    pub(super) state: &'static str,
    /// The program, one of `benches/wrappers`.
    pub(super) program: &'static str,
    /// It turns on what its allocator can do.
    pub(super) is_watched: bool,
    pub(super) recorded: Recorded,
    /// The name of the program without the wrapper.
    pub(super) base: &'static str,
    /// What a pair was expected to cost more with one thread, in nanoseconds, written down before the first measurement.
    pub(super) predicted: Option<f64>,
}

/// Whether `heapwise run` records the program, and through what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Recorded {
    No,
    ThroughWrapper,
    ThroughPreload,
}

/// The program without any wrapper. It names the allocator that it would have anyhow: a program that names none has one jump more
/// in each call, so a wrapper would look better than it is.
pub(super) const SYSTEM: &str = "system";
/// The allocators that the second table is about, by the name of the program without the wrapper.
pub(super) const INNER: [(&str, &str); 4] = [
    (SYSTEM, "System (glibc)"),
    ("jemalloc", "jemalloc"),
    ("mimalloc", "mimalloc"),
    ("snmalloc", "snmalloc"),
];

const fn candidate(
    name: &'static str,
    wrapper: &'static str,
    state: &'static str,
    program: &'static str,
    predicted: f64,
) -> Candidate {
    Candidate {
        name,
        wrapper,
        state,
        program,
        is_watched: false,
        recorded: Recorded::No,
        base: SYSTEM,
        predicted: Some(predicted),
    }
}

const fn watched(candidate: Candidate) -> Candidate {
    Candidate { is_watched: true, ..candidate }
}

const fn recorded(recorded: Recorded, candidate: Candidate) -> Candidate {
    Candidate { recorded, ..candidate }
}

const fn base(name: &'static str, program: &'static str) -> Candidate {
    Candidate { base: name, predicted: None, ..candidate(name, "none", "bare", program, 0.0) }
}

const fn over(base: &'static str, candidate: Candidate) -> Candidate {
    Candidate { base, ..candidate }
}

pub(super) const CANDIDATES: &[Candidate] = &[
    base(SYSTEM, "wrapper_named"),
    candidate("none", "none", "no allocator named", "wrapper_none", 0.0),
    candidate("inert", "heapwise", "inert", "wrapper_heapwise", 0.3),
    candidate("alloc_tracker-idle", "alloc_tracker", "no session", "wrapper_alloc_tracker", 2.0),
    candidate("stats_alloc", "stats_alloc", "counts always", "wrapper_stats_alloc", 20.0),
    candidate("divan", "divan `AllocProfiler`", "counts always", "wrapper_divan", 2.5),
    candidate("dhat-idle", "dhat", "no profiler", "wrapper_dhat", 20.0),
    watched(candidate("counting", "heapwise", "counting", "wrapper_heapwise", 2.0)),
    candidate("serving", "heapwise", "serving its profile", "wrapper_served", 5.0),
    watched(candidate("alloc_tracker", "alloc_tracker", "counting", "wrapper_alloc_tracker", 2.0)),
    watched(candidate("dhat", "dhat", "profiling", "wrapper_dhat", 1000.0)),
    recorded(
        Recorded::ThroughWrapper,
        candidate("recording", "heapwise", "recording (`run`)", "wrapper_heapwise", 50.0),
    ),
    recorded(
        Recorded::ThroughPreload,
        candidate(
            "recording-preload",
            "heapwise",
            "recording (`run --recorder preload`)",
            "wrapper_heapwise",
            50.0,
        ),
    ),
    recorded(
        Recorded::ThroughPreload,
        candidate("recording-system", "none", "recording (`run`, preloaded)", "wrapper_named", 50.0),
    ),
    base("jemalloc", "bare_jemalloc"),
    over("jemalloc", candidate("jemalloc-inert", "heapwise", "inert", "over_jemalloc", 0.3)),
    over("jemalloc", watched(candidate("jemalloc-counting", "heapwise", "counting", "over_jemalloc", 2.0))),
    base("mimalloc", "bare_mimalloc"),
    over("mimalloc", candidate("mimalloc-inert", "heapwise", "inert", "over_mimalloc", 0.3)),
    over("mimalloc", watched(candidate("mimalloc-counting", "heapwise", "counting", "over_mimalloc", 2.0))),
    base("snmalloc", "bare_snmalloc"),
    over("snmalloc", candidate("snmalloc-inert", "heapwise", "inert", "over_snmalloc", 0.3)),
    over("snmalloc", watched(candidate("snmalloc-counting", "heapwise", "counting", "over_snmalloc", 2.0))),
];

/// Those with these names and what they are compared with; all of them for no names.
pub(super) fn chosen(only: &[String]) -> Vec<&'static Candidate> {
    let is_named = |candidate: &Candidate| only.iter().any(|name| name == candidate.name);
    let bases: Vec<_> = CANDIDATES.iter().filter(|c| is_named(c)).map(|candidate| candidate.base).collect();
    CANDIDATES.iter().filter(|c| only.is_empty() || is_named(c) || bases.contains(&c.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_each_base_is_one_that_comes_first() {
        for (at, candidate) in CANDIDATES.iter().enumerate() {
            assert!(CANDIDATES[..at].iter().all(|other| other.name != candidate.name), "{}", candidate.name);
            let base = CANDIDATES[..=at].iter().find(|other| other.name == candidate.base);
            assert!(base.is_some_and(|base| base.base == base.name), "{}", candidate.name);
        }
    }

    #[test]
    fn the_base_of_who_is_wanted_comes_along() {
        let names = |only: &[&str]| -> Vec<_> {
            let only: Vec<_> = only.iter().map(|name| (*name).to_owned()).collect();
            chosen(&only).iter().map(|candidate| candidate.name).collect()
        };
        assert_eq!(names(&["mimalloc-inert"]), ["mimalloc", "mimalloc-inert"]);
        assert_eq!(names(&["counting", "alloc_tracker"]), ["system", "counting", "alloc_tracker"]);
        assert_eq!(names(&[]).len(), CANDIDATES.len());
    }
}
