//! A snapshot as text, as `?debug=1` has it in Go.
//!
//! It is for people, who read its beginning, and much longer than the profile: so it has a bound, which the profile has not.

use super::names::Learned;
use heapwise_portable::profile::{Counts, Site, Snapshot};
use std::cmp::Reverse;
use std::fmt::Write;
use tokio::task::yield_now;

/// Sites that are shown.
const MOST_SITES: usize = 1000;
/// Bytes of text, but for the last site. Names may be long.
const MOST_BYTES: usize = 16 << 20;

/// Leaves the sites that are shown, those with most live bytes first, and says how many there were.
pub(super) fn shorten(now: &mut Snapshot) -> usize {
    now.sites.retain(|site| site.counts.alloc_objects > 0);
    now.sites.sort_by_key(|site| Reverse((site.counts.live_bytes, site.counts.alloc_bytes)));
    let all = now.sites.len();
    now.sites.truncate(MOST_SITES);
    all
}

/// The sites, of so many. Functions are below their stack. Others get their turn meanwhile.
pub(super) async fn text(now: &Snapshot, all: usize, names: &Learned<'_>) -> String {
    // Other than Go's, these numbers are estimates already, which pprof has to know when it reads this: hence the last word.
    let mut text = format!("heap profile: {} @ heapprofile\n", numbers(&now.totals.counts));
    let mut shown = 0;
    for one in &now.sites {
        if text.len() > MOST_BYTES {
            break;
        }
        site(one, names, &mut text);
        shown += 1;
        yield_now().await;
    }
    if shown < all {
        let _ = writeln!(
            text,
            "# These are the {shown} places with most live bytes, of {all}. go tool pprof shows all of them, without ?debug."
        );
    }
    text
}

fn site(site: &Site, names: &Learned<'_>, text: &mut String) {
    let shown = names.stack(&site.stack);
    let _ = write!(text, "{} @", numbers(&site.counts));
    for frame in &shown {
        let _ = write!(text, " {:#x}", frame.return_address);
    }
    text.push('\n');
    for frame in &shown {
        if frame.lines().is_empty() {
            let _ = writeln!(text, "#\t{:#x}", frame.return_address);
        }
        for line in frame.lines() {
            let _ = writeln!(
                text,
                "#\t{:#x}\t{}\t{}:{}",
                frame.return_address, line.function, line.file, line.line
            );
        }
    }
    text.push('\n');
}

fn numbers(counts: &Counts) -> String {
    let Counts { alloc_objects, alloc_bytes, live_objects, live_bytes } = counts;
    format!("{live_objects}: {live_bytes} [{alloc_objects}: {alloc_bytes}]")
}

#[cfg(test)]
mod tests {
    use super::super::names::{Names, tests::finished};
    use super::*;
    use heapwise_portable::profile::Totals;
    use std::sync::Arc;

    fn snapshot(sites: u64, frames: u64) -> Snapshot {
        let site = |n: u64| Site {
            stack: (0..frames).map(|frame| 0x10_0000 + n * frames + frame).collect::<Arc<[u64]>>(),
            most_bytes: 0,
            counts: Counts { alloc_objects: 1, alloc_bytes: n + 1, live_objects: 1, live_bytes: n + 1 },
        };
        let sites = (0..sites).map(site).collect();
        Snapshot { sites, totals: Totals::default(), sample_bytes: 1, started_unix_ns: 0, age_ns: 0 }
    }

    #[test]
    fn many_places_are_cut_and_others_get_their_turn() {
        let names = Names::default();
        let mut now = snapshot(14_000, 50);
        let all = shorten(&mut now);
        let (learned, _) = finished(names.learn(&now.sites));
        let (text, turns) = finished(text(&now, all, &learned));
        let first: Vec<&str> = text.lines().filter(|line| line.contains("] @ 0x")).collect();
        assert_eq!((first.len(), turns), (MOST_SITES, MOST_SITES));
        assert!(first[0].starts_with("1: 14000 [") && first[999].starts_with("1: 13001 ["), "{}", first[0]);
        let last = text.lines().last().expect("it has lines");
        assert!(last.starts_with("# These are the 1000 places") && last.contains("of 14000."), "{last}");
        assert!(text.len() < 4 << 20, "{}", text.len());
    }

    #[test]
    fn few_places_are_all_there() {
        let names = Names::default();
        let mut now = snapshot(3, 2);
        let all = shorten(&mut now);
        let (learned, _) = finished(names.learn(&now.sites));
        let (text, _) = finished(text(&now, all, &learned));
        assert!(text.contains("1: 3 [1: 3] @ 0x100004 0x100005\n#\t0x100004\n#\t0x100005\n\n"), "{text}");
        assert!(!text.contains("# These"), "{text}");
    }
}
