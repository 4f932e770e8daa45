//! `cross-thread-free`: blocks are handed out to one thread and freed by another one.
//!
//! Most allocators keep blocks per thread. A block that another thread frees takes a lock or an atomic, and the
//! producer runs out of cached blocks.

use super::{Occurrence, Rule};
use crate::cost::REMOTE_FREE_NS;
use crate::finding::{Certainty, Estimate};
use crate::foreign::InForeignCode;
use crate::rule_input::{Language, RuleInput};
use crate::units::{count, share};
use heapwise_analysis::{Analysis, Nanos};
use heapwise_trace::file::records::ThreadIndex;

pub(crate) struct CrossThreadFree;

/// Of a place's blocks that were freed, how many have to be remote, and how many at least.
const LEAST: u64 = 1_000;

impl Rule for CrossThreadFree {
    fn id(&self) -> &'static str {
        "cross-thread-free"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Advice(
            "mimalloc and snmalloc are made for blocks that other threads free; `heapwise compare` measures what they change.",
        )
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let part = place.part_where(|seen| seen.site.freed_on_other_thread > 0)?;
            let remote: u64 = part.sites.iter().map(|s| s.freed_on_other_thread).sum();
            if remote < LEAST || remote * 2 < part.deallocations {
                return None;
            }
            let most = part.sites.iter().flat_map(|s| &s.handovers).max_by_key(|h| h.blocks);
            let who = most.map(|h| {
                let name = |index| name_of(input.analysis, index);
                format!("most often `{}` freed what `{}` allocated: {} blocks", name(h.to), name(h.from), count(h.blocks))
            });
            let mut evidence = vec![format!(
                "{} of {} blocks ({}) were freed by another thread",
                count(remote),
                count(part.deallocations),
                share(remote, part.deallocations)
            )];
            evidence.extend(who);
            Some(Occurrence {
                certainty: Certainty::Certain,
                title: format!("{}: {} blocks are freed on another thread", place.label(), count(remote)),
                place: Some(place),
                sites: part.ids(),
                evidence,
                // The calls stay; they only get cheaper.
                estimate: Estimate {
                    time: Nanos((remote as f64 * REMOTE_FREE_NS) as u64),
                    ..Estimate::default()
                },
                remedy: match place.language {
                    Language::Rust => "Send buffers back to the thread that fills them (a second channel: \
                        `returned.send(buffer)`), or send many items at a time in one `Vec`. mimalloc and snmalloc are \
                        made for this pattern."
                        .into(),
                    Language::C | Language::Cxx => "Return buffers to the thread that fills them through a queue of free \
                        ones, or pass many items in one block. mimalloc and snmalloc are made for this pattern."
                        .into(),
                },
            })
        });
        places.collect()
    }
}

fn name_of(analysis: &Analysis, index: ThreadIndex) -> String {
    let thread = analysis.threads.iter().find(|t| t.index == index);
    match thread {
        Some(thread) if !thread.name.is_empty() => format!("{} {}", thread.name, thread.tid),
        Some(thread) => format!("thread {}", thread.tid),
        None => "an unknown thread".into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{BOXED, Program, user};

    #[test]
    fn blocks_that_go_to_another_thread_are_reported_with_both_threads() {
        let mut p = Program::default();
        let sent = p.stack(&user(BOXED, "app::produce|/u/src/a.rs|7"));
        let own = p.stack(&user(BOXED, "app::own|/u/src/a.rs|17"));
        for _ in 0..3000 {
            p.on(0);
            let block = p.alloc(sent, 24);
            let mine = p.alloc(own, 24);
            p.free(mine);
            p.on(1);
            p.free(block);
        }
        let found = p.only("cross-thread-free");
        assert_eq!(found.title, "produce (a.rs:7): 3,000 blocks are freed on another thread");
        assert!(
            found.evidence[1].contains("`thread1 0` freed what `thread0 0` allocated"),
            "{:?}",
            found.evidence
        );
    }
}
