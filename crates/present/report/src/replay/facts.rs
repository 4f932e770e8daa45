//! Numbers of a trial that both text and JSON contain.

use heapwise_trial::replay::trial::{Results, Tried};
use heapwise_trial::replay::{Ending, Measured};
use heapwise_trial::statistics::Spread;

/// Candidates that have results, with them.
pub(super) fn measured(tried: &[Tried]) -> impl Iterator<Item = (&Tried, &Results)> {
    tried.iter().filter_map(|t| t.results.as_ref().ok().map(|results| (t, results)))
}

/// The replay that is best for memory: the first one, else that with pauses.
pub(super) fn main(results: &Results) -> Option<&Measured> {
    results.first.as_ref().or(results.timed.as_ref())
}

/// The replay that is best for the end: that with pauses, else the first one.
pub(super) fn last(results: &Results) -> Option<&Measured> {
    results.timed.as_ref().or(results.first.as_ref())
}

/// Resident bytes after the load, and the part of them that the kernel may reclaim. Only a replay with pauses has them.
pub(super) fn after(results: &Results) -> Option<(u64, u64)> {
    let timed = results.timed.as_ref()?;
    let (rss, lazy) = timed.settled.unwrap_or((timed.end_rss, timed.end_lazily_freed));
    Some((rss.0, lazy.0))
}

/// Nanoseconds in the allocator for each call.
pub(super) fn per_call(results: &Results, calls: u64) -> Option<Spread> {
    let Spread { median, low, high } = results.allocator_ns?;
    let calls = calls.max(1) as f64;
    Some(Spread { median: median / calls, low: low / calls, high: high / calls })
}

/// How it ended, in a word for machines.
pub fn outcome(tried: &Tried) -> &'static str {
    trouble(tried).map_or("complete", |(word, _)| word)
}

/// How it ended, in a word for machines and in words for people. `None` if it succeeded.
pub(super) fn trouble(tried: &Tried) -> Option<(&'static str, String)> {
    let results = match &tried.results {
        Ok(results) if results.all().next().is_none() => {
            return Some(("interrupted", "was not tried before the interrupt".to_owned()));
        }
        Ok(results) => results,
        Err(reason) => return Some(("unavailable", reason.clone())),
    };
    let at = |calls: &u64| {
        if *calls == 0 {
            String::new()
        } else {
            format!(" after about {} calls", crate::units::count(*calls))
        }
    };
    match results.failure() {
        None | Some(Ending::Complete) => {
            let refused: u64 = results.all().map(|m| m.refused).max().unwrap_or(0);
            (refused > 0).then(|| ("out-of-memory", format!("refused {refused} calls: out of memory")))
        }
        Some(Ending::Killed { signal, calls }) => {
            Some(("killed", format!("killed by signal {signal}{}", at(calls))))
        }
        Some(Ending::Exited { code, calls }) => {
            Some(("exited", format!("ended with code {code}{}", at(calls))))
        }
        Some(Ending::Hung { calls }) => Some(("hung", format!("got no further{}", at(calls)))),
        Some(ending @ Ending::TooLarge { .. }) => Some(("too-large", ending.to_string())),
        Some(Ending::Trouble { reason }) => Some(("trouble", reason.clone())),
    }
}
