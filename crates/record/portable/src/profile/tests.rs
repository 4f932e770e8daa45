//! Profiles of blocks that no allocator has made.

use super::*;
use crate::{AllocFunction, allocation, deallocation, live, reallocation};
use heapwise_trace::sampling::noted;
use std::alloc::Layout;

static NOTHING: Hooks = Hooks { ended: || (), environment: Vec::new };

/// A profile whose queue is emptied only by looking. There is one at a time.
fn profile(sample_bytes: u64) -> (std::sync::MutexGuard<'static, ()>, Profile) {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let profile = begin(sample_bytes, &NOTHING, || (), |_| Ok(())).expect("it is alone");
    (alone, profile)
}

/// A block that is always sampled.
const LARGE: u64 = 1 << 30;

/// The wrapper's call for a large block that the allocator has put there.
fn allocated_at(address: u64) {
    let layout = Layout::from_size_align(LARGE as usize, 8).expect("a layout");
    allocation(&layout, AllocFunction::Malloc, || address as usize as *mut u8);
}

/// Linux on AArch64 puts blocks at addresses of 48 bits.
#[test]
fn blocks_at_high_addresses_are_in_it() {
    let (_alone, profile) = profile(512 << 10);
    for address in [0x0000_7fff_1234_5670, 0x0000_ffff_8000_0010, 0x0000_aaaa_dead_bee0] {
        allocated_at(address);
    }
    let totals = profile.totals().totals;
    assert_eq!((totals.counts.live_bytes, totals.lost_samples), (3 * LARGE, 0));
    deallocation(0xffff_8000_0010u64 as usize as *mut u8, || ());
    assert_eq!(profile.totals().totals.counts.live_bytes, 2 * LARGE);
}

/// With a GiB between samples the set of live ones has few places, up to heaps of eight TiB.
#[test]
fn what_finds_no_place_among_the_live_ones_is_allocated_all_the_same() {
    let (_alone, profile) = profile(1 << 30);
    let most = 1 << 16;
    for n in 1..=most {
        allocated_at(n << 4);
        // That empties the queue.
        if n % 1000 == 0 {
            profile.totals();
        }
    }
    let totals = profile.totals().totals;
    assert_eq!((totals.samples, totals.lost_samples), (most, 0));
    assert_eq!(totals.counts.alloc_bytes, most * LARGE);
    assert_eq!(totals.live_samples + totals.unfollowed_samples, most);
    // Half of the places are never too few.
    let places = noted::lines(1 << 30, noted::USUAL_BYTES) as u64 * 8;
    assert!(places < most && (places / 2..=places).contains(&totals.live_samples), "{totals:?}");
    assert_eq!(totals.counts.live_bytes, totals.live_samples * LARGE);
    assert_eq!(totals.live_bytes_error, None);
    for n in 1..=most {
        deallocation((n << 4) as usize as *mut u8, || ());
        if n % 1000 == 0 {
            profile.totals();
        }
    }
    let totals = profile.totals().totals;
    assert_eq!((totals.counts.live_bytes, totals.live_samples), (0, 0));
}

#[test]
fn a_block_that_the_allocator_refuses_to_resize_stays_as_it_was() {
    let (_alone, profile) = profile(512 << 10);
    allocated_at(16);
    let before = profile.snapshot();
    let layout = Layout::from_size_align(LARGE as usize, 8).expect("a layout");
    let resized = |to: *mut u8| reallocation(16 as *mut u8, &layout, 2 * LARGE as usize, || to);
    for _ in 0..1000 {
        assert!(resized(std::ptr::null_mut()).is_null());
    }
    let after = profile.snapshot();
    let counts = |of: &Snapshot| of.sites.iter().map(|site| site.counts).collect::<Vec<_>>();
    assert_eq!(counts(&after), counts(&before), "at the place that allocated it");
    assert_eq!((after.totals.samples, after.totals.live_bytes_error), (1, Some(0.0)));
    resized(32 as *mut u8);
    let totals = profile.totals().totals;
    assert_eq!((totals.counts.alloc_bytes, totals.counts.live_bytes), (3 * LARGE, 2 * LARGE));
}

#[test]
fn a_full_queue_makes_no_thread_wait_and_what_is_lost_is_counted() {
    let (_alone, profile) = profile(512 << 10);
    let is_live = |address: u64| live::contains(address) == Some(true);
    allocated_at(16);
    // It is not emptied meanwhile.
    let mut count = 1;
    while queue::lost().others == 0 {
        count += 1;
        allocated_at(count * 16);
    }
    assert!(!is_live(count * 16), "its end would not be known");
    let begin = Instant::now();
    for n in 1..=100 {
        allocated_at((count + n) * 16);
    }
    let ends = queue::most_bytes() / 8;
    let mut freed = 0;
    while queue::lost().frees == 0 {
        assert!(freed < ends, "the queue takes more than there is room for");
        freed += 1;
        deallocation((freed * 16) as usize as *mut u8, || ());
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let totals = profile.totals().totals;
    assert_eq!((totals.lost_samples, totals.lost_frees), (101, 1));
    assert_eq!(totals.samples, count - 1);
    // Also the one whose end was lost is not live.
    assert_eq!(totals.live_samples, count - 1 - freed);
}
