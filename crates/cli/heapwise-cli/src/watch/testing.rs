//! Updates for tests.

use super::update::{PlaceName, Places, Subject, Update};
use heapwise_analysis::{Bytes, MomentSums, Nanos, StackSums};
use std::sync::Arc;

pub(super) fn stack(live_bytes: u64, live_blocks: u64) -> StackSums {
    StackSums {
        live_bytes,
        live_blocks,
        samples: live_blocks,
        requests: live_blocks,
        requested_bytes: live_bytes,
        carried_bytes: 0,
    }
}

/// One with a stack for each of these places.
pub(super) fn update(places: &[(&str, &str)]) -> Update {
    let name =
        |&(function, at): &(&str, &str)| PlaceName { function: function.to_owned(), at: at.to_owned() };
    Update {
        subject: Subject {
            command: "./server --port 80".to_owned(),
            pid: 4711,
            allocator: "glibc 2.36".to_owned(),
            processes: 1,
            ..Subject::default()
        },
        sums: MomentSums {
            time: Nanos(12_300_000_000),
            live: Bytes(30 << 20),
            live_blocks: 12_345,
            rss: Bytes(64 << 20),
            peak_rss: Bytes(80 << 20),
            running: 1,
            ..MomentSums::default()
        },
        stacks: (0..places.len() as u64).map(|at| stack((at + 1) << 20, at + 1)).collect(),
        rates: (0..places.len() as u64).map(|at| [at * 10, at << 10]).collect(),
        places: Arc::new(Places {
            names: places.iter().map(name).collect(),
            of_stack: (0..places.len() as u32).map(Some).collect(),
        }),
        ..Update::default()
    }
}
