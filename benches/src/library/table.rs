//! The results, compared with what was expected and what was aimed at.

use super::candidates::{Candidate, INNER, Recorded, SYSTEM};
use super::{Kernel, Kind, Measured, THREADS};
use heapwise_trial::statistics::Spread;
use std::fmt::Write;

/// What a wrapper that is not in use may add to a pair, in nanoseconds.
const INERT_AIM: f64 = 0.3;

/// Numbers of one column.
#[derive(Clone, Copy, Debug)]
struct Column {
    kind: Kind,
    threads: usize,
}

const ONE: Column = Column { kind: Kind::Pair, threads: 1 };
const MANY: Column = Column { kind: Kind::Pair, threads: THREADS };
const ZEROED: Column = Column { kind: Kind::Zeroed, threads: 1 };
const REALLOC: Column = Column { kind: Kind::Realloc, threads: 1 };

struct Results<'a> {
    kernels: &'a [Kernel],
    all: &'a [Measured],
}

impl Results<'_> {
    /// A candidate's numbers less those of another one: the median of all kernels and rounds for each layout. Without another
    /// one, the numbers themselves.
    fn beside(&self, candidate: &str, other: Option<&str>, column: Column) -> Option<Spread> {
        let of = self.all.iter().filter(|measured| measured.candidate == candidate);
        let layouts = of.filter_map(|measured| {
            let is_other =
                |found: &&Measured| Some(found.candidate) == other && found.layout == measured.layout;
            let other = match other {
                Some(_) => Some(self.all.iter().find(is_other)?),
                None => None,
            };
            let wanted = |kernel: &Kernel| kernel.kind == column.kind && kernel.threads == column.threads;
            let numbers = (0..self.kernels.len()).filter(|&at| wanted(&self.kernels[at])).flat_map(|at| {
                let rounds = 0..measured.nanoseconds[at].len();
                rounds.map(move |round| {
                    measured.nanoseconds[at][round] - other.map_or(0.0, |other| other.nanoseconds[at][round])
                })
            });
            Some(Spread::of(numbers)?.median)
        });
        Spread::of(layouts)
    }

    fn added(&self, candidate: &Candidate, column: Column) -> Option<Spread> {
        self.beside(candidate.name, Some(candidate.base), column)
    }
}

pub(super) fn tables(kernels: &[Kernel], chosen: &[&Candidate], all: &[Measured]) -> String {
    let results = Results { kernels, all };
    format!("{}\n{}\n{}", wrappers(&results, chosen), inner(&results, chosen), aims(&results, chosen))
}

fn shown(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.decimals$}"))
}

/// Fewer decimals where there are many digits before them.
fn figure(spread: Option<Spread>) -> String {
    shown(spread, if spread.is_some_and(|spread| spread.median.abs() >= 100.0) { 0 } else { 2 })
}

/// What each wrapper adds over the system's allocator.
fn wrappers(results: &Results<'_>, chosen: &[&Candidate]) -> String {
    let mut text = format!(
        "Added to a malloc+free pair of 24 to 64 bytes over the system's allocator, in ns of the thread's processor time:\n\n\
         | wrapper | state | expected | 1 thread | {THREADS} threads | zeroed+free | realloc |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    for candidate in chosen.iter().filter(|candidate| candidate.base == SYSTEM) {
        let Candidate { name, wrapper, state, predicted, .. } = candidate;
        let is_base = *name == SYSTEM;
        let column = |column| match is_base {
            true => format!("*{}*", figure(results.beside(name, None, column))),
            false => figure(results.added(candidate, column)),
        };
        let predicted = predicted.map_or_else(String::new, |ns| ns.to_string());
        let state = if is_base { "*the pair itself*" } else { state };
        let columns = [ONE, MANY, ZEROED, REALLOC].map(column).join(" | ");
        let _ = writeln!(text, "| {wrapper} | {state} | {predicted} | {columns} |");
    }
    text
}

/// What heapwise adds over each allocator.
fn inner(results: &Results<'_>, chosen: &[&Candidate]) -> String {
    let mut text = format!(
        "Each allocator bare, and what heapwise's wrapper adds to it, in ns per pair:\n\n\
         | inner allocator | bare | inert | counting | bare, {THREADS} threads | inert | counting |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (base, title) in INNER {
        let of = |is_watched: bool, column| {
            let wanted = |c: &&&Candidate| {
                c.base == base
                    && c.wrapper == "heapwise"
                    && c.is_watched == is_watched
                    && c.recorded == Recorded::No
            };
            figure(chosen.iter().find(wanted).and_then(|candidate| results.added(candidate, column)))
        };
        let bare = |column| figure(results.beside(base, None, column));
        let _ = writeln!(
            text,
            "| {title} | {} | {} | {} | {} | {} | {} |",
            bare(ONE),
            of(false, ONE),
            of(true, ONE),
            bare(MANY),
            of(false, MANY),
            of(true, MANY)
        );
    }
    text
}

/// What was aimed at; medians decide.
fn aims(results: &Results<'_>, chosen: &[&Candidate]) -> String {
    let added = |name: &str, column| {
        let candidate = chosen.iter().find(|candidate| candidate.name == name)?;
        Some(results.added(candidate, column)?.median)
    };
    let rows = [
        ("inert, 1 thread", added("inert", ONE), Some(INERT_AIM)),
        ("inert, 4 threads", added("inert", MANY), Some(INERT_AIM)),
        ("counting, 1 thread: what alloc_tracker adds", added("counting", ONE), added("alloc_tracker", ONE)),
        (
            "counting, 4 threads: what alloc_tracker adds",
            added("counting", MANY),
            added("alloc_tracker", MANY),
        ),
        ("counting, 1 thread: what divan adds", added("counting", ONE), added("divan", ONE)),
        ("counting, 4 threads: what divan adds", added("counting", MANY), added("divan", MANY)),
        (
            "counting, 4 threads: what 1 thread adds, and 0.3",
            added("counting", MANY),
            added("counting", ONE).map(|ns| ns + INERT_AIM),
        ),
    ];
    let mut text = String::from("| aim, in ns per pair | at most | found | |\n|---|---:|---:|---|\n");
    for (what, found, limit) in rows {
        let number = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), |ns| format!("{ns:.2}"));
        let verdict = match (found, limit) {
            (Some(found), Some(limit)) if found <= limit => "met",
            (Some(_), Some(_)) => "**MISSED**",
            _ => "not measured",
        };
        let _ = writeln!(text, "| {what} | {} | {} | {verdict} |", number(limit), number(found));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::candidates::chosen;
    use super::super::kernels;
    use super::*;

    /// Two layouts; the second one, and the second round, are slower for all candidates.
    fn measured(candidate: &'static str, added: f64) -> impl Iterator<Item = Measured> {
        (0..2).map(move |layout| {
            let base = 10.0 + layout as f64;
            let rounds = vec![base + added, base + 5.0 + added];
            Measured { candidate, layout, nanoseconds: vec![rounds; kernels().len()] }
        })
    }

    fn text(inert: f64, counting: f64) -> String {
        let only: Vec<_> = ["inert", "counting", "alloc_tracker"].map(str::to_owned).into();
        let all: Vec<_> = measured("system", 0.0)
            .chain(measured("inert", inert))
            .chain(measured("counting", counting))
            .chain(measured("alloc_tracker", 2.0))
            .collect();
        tables(&kernels(), &chosen(&only), &all)
    }

    #[test]
    fn differences_are_taken_within_rounds() {
        let text = text(0.25, 1.5);
        assert!(text.contains("| none | *the pair itself* |  | *13.00 (12.50..13.50)* |"), "{text}");
        assert!(
            text.contains("| heapwise | inert | 0.3 | 0.25 (0.25..0.25) | 0.25 (0.25..0.25) |"),
            "{text}"
        );
        assert!(
            text.contains(
                "| System (glibc) | 13.00 (12.50..13.50) | 0.25 (0.25..0.25) | 1.50 (1.50..1.50) |"
            ),
            "{text}"
        );
        assert!(text.contains("| jemalloc | – | – | – |"), "{text}");
        assert!(!text.contains("MISSED"), "{text}");
    }

    #[test]
    fn an_aim_that_was_missed_is_said() {
        let text = text(0.4, 2.5);
        assert!(text.contains("| inert, 1 thread | 0.30 | 0.40 | **MISSED** |"), "{text}");
        assert!(
            text.contains("| counting, 1 thread: what alloc_tracker adds | 2.00 | 2.50 | **MISSED** |"),
            "{text}"
        );
    }
}
