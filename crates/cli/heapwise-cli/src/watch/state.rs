//! What is known of a recording at one moment, from the accounts and from what is kept beside them.

use super::names::Naming;
use super::rates::{Rates, Requested};
use super::update::{Subject, ThreadRow, Update};
use crate::growing::Stream;
use heapwise_analysis::{Breakdown, Follow, Nanos, StackSums};
use heapwise_report::command_line;
use heapwise_report::escape::terminal::escape;
use heapwise_trace::file::reader::Tail;
use heapwise_trace::file::records::RunEnd;
use std::io::BufReader;
use std::time::Instant;

/// How long pages are left alone after they were gone through, in units of what that took.
const PARTS_PAUSE: u32 = 20;

pub(super) type Following = Follow<BufReader<Stream>>;

/// What is kept beside the accounts.
#[derive(Debug, Default)]
pub(super) struct State {
    rates: Rates,
    of_threads: Rates,
    of_all: Rates,
    parts: Option<Breakdown>,
    /// When pages were looked at last, as far as the file is read.
    newest_look: Option<Nanos>,
    parts_wait: Option<Instant>,
}

fn requested(sums: StackSums) -> Requested {
    [sums.requests, sums.requested_bytes]
}

fn of_threads(follow: &Following) -> impl Iterator<Item = Requested> {
    follow.threads().map(|thread| {
        let totals = thread.totals;
        [totals.allocations + totals.reallocations, totals.allocated_bytes.0]
    })
}

fn of_all(follow: &Following) -> Requested {
    let totals = follow.now().totals;
    [totals.allocations + totals.reallocations, totals.allocated_bytes.0]
}

impl State {
    /// Takes a copy of the sums, if it is time for that.
    pub(super) fn note(&mut self, follow: &Following) {
        let now_ns = follow.now().time.0;
        if !self.rates.is_due(now_ns) {
            return;
        }
        self.rates.note(now_ns, follow.stacks().map(requested));
        self.of_threads.note(now_ns, of_threads(follow));
        self.of_all.note(now_ns, std::iter::once(of_all(follow)));
    }

    /// What is known of the accounts. What is known of the file is still to be said.
    pub(super) fn update(&mut self, follow: &mut Following, naming: &Naming) -> Update {
        self.look_at_pages(follow);
        let sums = follow.now();
        let now_ns = sums.time.0;
        let since_ns = nothing_before(follow);
        let of_thread = self.of_threads.per_second(since_ns, now_ns, of_threads(follow));
        let of_all = self.of_all.per_second(since_ns, now_ns, std::iter::once(of_all(follow)));
        let rates = self.rates.per_second(since_ns, now_ns, follow.stacks().map(requested));
        let threads = follow.threads().zip(of_thread).map(|(thread, rate)| ThreadRow {
            pid: thread.pid,
            tid: thread.tid,
            name: escape(thread.name).into_owned(),
            rate,
            totals: thread.totals,
            live: thread.live.0,
            has_ended: thread.has_ended,
        });
        Update {
            subject: subject(follow),
            sums,
            end: follow.end().map(ending),
            rate: of_all.first().copied().unwrap_or_default(),
            stacks: follow.stacks().collect(),
            rates,
            places: naming.places(),
            threads: threads.collect(),
            parts: self.parts,
            parts_are_past: follow.end().is_some() || follow.looked_at().is_some_and(|(_, is_past)| is_past),
            ..Update::default()
        }
    }

    /// Whether pages were looked at and are still to be gone through.
    pub(super) fn awaits_pages(&self) -> bool {
        self.newest_look.is_some() && self.newest_look != self.parts.map(|parts| parts.time)
    }

    fn look_at_pages(&mut self, follow: &mut Following) {
        self.newest_look = follow.looked_at().map(|(time, _)| time);
        if !self.awaits_pages() || self.parts_wait.is_some_and(|until| Instant::now() < until) {
            return;
        }
        let began = Instant::now();
        self.parts = follow.breakdown();
        self.parts_wait = Some(Instant::now() + began.elapsed() * PARTS_PAUSE);
    }
}

/// The time before which the file has no requests, although it has begun.
fn nothing_before(follow: &Following) -> u64 {
    let meta = follow.meta();
    // Later files begin when it is over.
    if meta.part > 1 { 0 } else { meta.delay_ns }
}

fn subject(follow: &Following) -> Subject {
    let meta = follow.meta();
    // A program may be started by scripts, which are processes, too.
    let first = follow.processes().find(|(_, has_ended)| !has_ended).or_else(|| follow.processes().next());
    Subject {
        command: escape(&command_line(&meta.command)).into_owned(),
        pid: first.map_or(0, |(process, _)| process.pid),
        allocator: escape(&follow.allocator_name()).into_owned(),
        sample_bytes: meta.sample_bytes,
        processes: follow.processes().count(),
        begins_late: meta.interception.begins_late() || meta.delay_ns > 0,
        goes_on: meta.part > 1,
    }
}

fn ending(end: &RunEnd) -> String {
    match (end.exit_code, end.signal, &end.stopped_early) {
        (_, _, Some(reason)) => format!("recording stopped: {}", escape(reason)),
        (_, Some(signal), _) => format!("ended by signal {signal}"),
        (Some(code), _, _) => format!("ended with code {code}"),
        _ if end.goes_on => "goes on in the next file".to_owned(),
        _ => "recording ended".to_owned(),
    }
}

/// What ended the reading before the end.
pub(super) fn trouble(tail: Option<Tail>, offset: u64) -> Option<String> {
    match tail {
        Some(Tail::Clean) => None,
        Some(Tail::Truncated) => Some("the file is cut off".to_owned()),
        Some(Tail::Damaged) => Some(format!("damaged at byte {offset}: nothing behind it is read")),
        Some(Tail::Excessive(claim)) => {
            Some(format!("not believed from byte {offset} on: {}", escape(&claim.to_string())))
        }
        None => Some(format!("to read on from byte {offset} takes more memory than there is for it")),
    }
}
