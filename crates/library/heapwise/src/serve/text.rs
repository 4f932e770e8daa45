//! A snapshot as text, as `?debug=1` has it in Go.

use super::names::Names;
use heapwise_portable::profile::{Counts, Site, Snapshot};
use std::fmt::Write;

/// All sites, those with most live bytes first. Functions are below their stack.
pub(super) fn text(now: &Snapshot, names: &Names) -> String {
    let mut sites: Vec<&Site> = now.sites.iter().filter(|site| site.counts.alloc_objects > 0).collect();
    sites.sort_by_key(|site| std::cmp::Reverse(site.counts.live_bytes));
    // Other than Go's, these numbers are estimates already, which pprof has to know when it reads this: hence the last word.
    let mut text = format!("heap profile: {} @ heapprofile\n", numbers(&now.totals.counts));
    for site in sites {
        let shown = names.stack(&site.stack);
        let _ = write!(text, "{} @", numbers(&site.counts));
        for frame in &shown {
            let _ = write!(text, " {:#x}", frame.return_address);
        }
        text.push('\n');
        for frame in &shown {
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
    text
}

fn numbers(counts: &Counts) -> String {
    let Counts { alloc_objects, alloc_bytes, live_objects, live_bytes } = counts;
    format!("{live_objects}: {live_bytes} [{alloc_objects}: {alloc_bytes}]")
}
