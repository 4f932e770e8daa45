//! The message for a budget that was exceeded.

use super::limits::{Budget, Limit};
use super::sites::{Site, named};
use super::watch::Total;
use crate::tally::{Counts, Ignore};
use std::fmt;
use std::panic::Location;
use std::sync::OnceLock;

/// Sites that a message names.
const MOST_SITES: usize = 10;
/// Frames of each.
const MOST_FRAMES: usize = 8;
/// Characters of a name: generic types grow without end.
const MOST_CHARACTERS: usize = 200;

/// A budget was exceeded: what was requested, and where.
///
/// Its text names the sites, those with most requests first, or those with most bytes if the bytes are over the limit. Addresses
/// become names only when they are needed, since that takes a while.
///
/// ```
/// # use heapwise_installed as _;
/// let exceeded = heapwise::budget::Budget::new().allocations(1).check(|| (Box::new(1), Box::new(2))).unwrap_err();
/// let text = exceeded.to_string();
/// assert!(text.starts_with("over the budget of allocations: 2 requests for memory, at most 1 allowed"));
/// ```
// NOTE: a budget around this one is not to count what this takes, so it is allocated and dropped unseen.
pub struct Exceeded(Option<Box<Inner>>);

struct Inner {
    budget: Budget,
    total: Total,
    peak: u64,
    location: &'static Location<'static>,
    sites: OnceLock<Vec<Site>>,
}

impl Exceeded {
    pub(super) fn new(budget: Budget, total: Total, peak: u64, location: &'static Location<'static>) -> Self {
        let _ignore = Ignore::begin();
        Self(Some(Box::new(Inner { budget, total, peak, location, sites: OnceLock::new() })))
    }

    fn inner(&self) -> &Inner {
        self.0.as_ref().expect("only drop takes it")
    }

    /// Allocations and reallocations.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert_eq!(exceeded.requests(), 1);
    /// ```
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counts().requests()
    }

    /// Bytes of these requests.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert_eq!(exceeded.bytes(), 100);
    /// ```
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.counts().allocated_bytes
    }

    /// The highest number of live bytes, above what was live before.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert_eq!(exceeded.peak_bytes(), 100);
    /// ```
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.inner().peak
    }

    /// Everything that was counted.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert_eq!(exceeded.counts().reallocations, 0);
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner().total.counts
    }

    /// Where the requests came from, those that weigh most first. The first call takes a while, as it reads the program's debug
    /// information.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert_eq!(exceeded.sites()[0].bytes, 100);
    /// ```
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        self.inner().sites.get_or_init(|| {
            let _ignore = Ignore::begin();
            let mut sites = named(&self.inner().total.stacks, self.inner().location.file());
            let weight = |site: &Site| match self.is_about_bytes() {
                true => (site.bytes, site.requests),
                false => (site.requests, site.bytes),
            };
            sites.sort_by_key(|site| std::cmp::Reverse(weight(site)));
            sites
        })
    }

    /// Whether there were so many requests that the numbers of [sites](Exceeded::sites) are estimates. All others are exact
    /// always.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert!(!exceeded.is_sampled());
    /// ```
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.inner().total.stacks.is_sampled()
    }

    /// Whether the number of requests is fine, and only that of bytes is not.
    fn is_about_bytes(&self) -> bool {
        self.inner().budget.requests.is_none_or(|limit| limit.allows(self.requests()))
    }

    fn write_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { budget, peak, .. } = self.inner();
        let counts = self.counts();
        let broken = [
            (
                budget.requests,
                counts.requests(),
                ["request for memory", "requests for memory"],
                "allocations",
            ),
            (budget.bytes, counts.allocated_bytes, ["byte requested", "bytes requested"], "bytes"),
            (budget.peak, *peak, ["byte live at the peak", "bytes live at the peak"], "peak"),
        ];
        let broken = broken.into_iter().filter(|(limit, count, ..)| limit.is_some_and(|l| !l.allows(*count)));
        for (at, (limit, count, [one, many], what)) in broken.enumerate() {
            let noun = if count == 1 { one } else { many };
            let limit = limit.unwrap_or(Limit::AtMost(0));
            // Fewer than expected may be a success that the test does not know of yet.
            let side = match limit {
                Limit::Exactly(number) if count < number => "below",
                _ => "over",
            };
            let begin = if at == 0 { "" } else { "; " };
            write!(f, "{begin}{side} the budget of {what}: {count} {noun}, {limit}")?;
        }
        writeln!(
            f,
            "\n  in all {}, {}, {} requested, {} live at the peak",
            number(counts.allocations, "allocation"),
            number(counts.reallocations, "reallocation"),
            number(counts.allocated_bytes, "byte"),
            number(*peak, "byte"),
        )
    }
}

fn number(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_limits(f)?;
        let about = if self.is_sampled() { "about " } else { "" };
        for site in self.sites().iter().take(MOST_SITES) {
            let times =
                if site.requests == 1 { "once".to_owned() } else { format!("{} times", site.requests) };
            write!(f, "\n  {about}{times}, {}:", number(site.bytes, "byte"))?;
            for (at, frame) in site.stack.iter().take(MOST_FRAMES).enumerate() {
                let (by, frame) = (if at == 0 { "" } else { "by " }, shortened(&frame.to_string()));
                write!(f, "\n      {by}{frame}")?;
                if let (0, Some(calls)) = (at, &site.calls) {
                    write!(f, ", calling {}", shortened(calls))?;
                }
            }
            if site.stack.len() > MOST_FRAMES {
                write!(f, "\n      and {} more", number((site.stack.len() - MOST_FRAMES) as u64, "frame"))?;
            }
            if site.stack.is_empty() {
                write!(
                    f,
                    "\n      no names: the program was stripped, or built without `debug = \"line-tables-only\"`"
                )?;
            }
        }
        let rest: u64 = self.sites().iter().skip(MOST_SITES).map(|site| site.requests).sum();
        let rest = rest + self.inner().total.stacks.others().requests;
        if rest > 0 {
            write!(f, "\n\n  {about}{rest} more from elsewhere")?;
        }
        Ok(())
    }
}

impl Drop for Exceeded {
    fn drop(&mut self) {
        let _ignore = Ignore::begin();
        self.0 = None;
    }
}

impl fmt::Debug for Exceeded {
    /// As its text: that is what `unwrap` prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Exceeded {}
