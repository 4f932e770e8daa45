//! Stacks in exports: the middle of long ones is left out.
//!
//! A program that recurses and allocates at each level has a call site per level. Written whole, their stacks would grow with the
//! square of the depth, to gigabytes, and no viewer draws 10,000 levels. So only the two ends of a long stack are written, as in
//! the JSON report. Sites that can no longer be distinguished then become one, and their counts are added up: the sums stay the
//! same.

use heapwise_analysis::{Analysis, Numbers, PlaceId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::hash::Hash;
use std::io;

/// How many entries of a long stack are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// At its inner end.
    pub(crate) inner: usize,
    /// At its outer end.
    pub(crate) outer: usize,
}

/// As many as the JSON report has.
pub(crate) const MANY: Ends = Ends { inner: 384, outer: 128 };

/// One entry of a stack in an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step<T> {
    /// What was called.
    Frame(T),
    /// Here the middle of the stack is left out.
    Omitted,
    /// Here the stack ended before the thread's first function.
    Cut,
}

impl<T> Step<T> {
    /// The same step with something else for a frame.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Self::Frame(frame) => Step::Frame(change(frame)),
            Self::Omitted => Step::Omitted,
            Self::Cut => Step::Cut,
        }
    }

    /// Its name in the place of a function.
    pub(crate) fn mark(&self) -> Option<&'static str> {
        match self {
            Self::Frame(_) => None,
            Self::Omitted => Some("[frames omitted]"),
            Self::Cut => Some("[cut stack]"),
        }
    }
}

/// The entries of a stack from the innermost outwards, and whether some are left out.
pub(crate) fn shorten<T>(frames: impl IntoIterator<Item = T>, cut: bool, ends: Ends) -> (Vec<Step<T>>, bool) {
    let mut frames = frames.into_iter();
    let mut steps: Vec<Step<T>> = frames.by_ref().take(ends.inner).map(Step::Frame).collect();
    let mut outer = VecDeque::with_capacity(ends.outer);
    let mut omitted = false;
    for frame in frames {
        if outer.len() == ends.outer {
            outer.pop_front();
            omitted = true;
        }
        outer.push_back(frame);
    }
    steps.extend(omitted.then_some(Step::Omitted));
    steps.extend(outer.into_iter().map(Step::Frame));
    steps.extend(cut.then_some(Step::Cut));
    (steps, omitted)
}

/// Adds up the numbers of stacks that became equal when they were shortened.
#[derive(Debug)]
pub(crate) struct Merged<T> {
    numbers: FxHashMap<Vec<Step<T>>, usize>,
    list: Vec<(Vec<Step<T>>, Numbers)>,
}

impl<T: Clone + Eq + Hash> Merged<T> {
    pub(crate) fn new() -> Self {
        Self { numbers: FxHashMap::default(), list: Vec::new() }
    }

    pub(crate) fn add(&mut self, steps: Vec<Step<T>>, numbers: Numbers) {
        if let Some(&at) = self.numbers.get(&steps) {
            self.list[at].1 += numbers;
            return;
        }
        self.numbers.insert(steps.clone(), self.list.len());
        self.list.push((steps, numbers));
    }

    /// In the order of their first occurrence.
    pub(crate) fn into_list(self) -> Vec<(Vec<Step<T>>, Numbers)> {
        self.list
    }
}

/// Passes every call site on once, as a stack of places. No two have the same stack.
pub(crate) fn for_each(
    analysis: &Analysis,
    ends: Ends,
    mut tell: impl FnMut(&[Step<PlaceId>], &Numbers) -> io::Result<()>,
) -> io::Result<()> {
    let mut merged = Merged::new();
    for site in analysis.exact_sites() {
        // A site with nothing but refused requests has nothing to show in any of the formats.
        if site.numbers == Numbers::default() {
            continue;
        }
        match shorten(analysis.places(&site), site.cut, ends) {
            (steps, false) => tell(&steps, &site.numbers)?,
            (steps, true) => merged.add(steps, site.numbers),
        }
    }
    merged.into_list().iter().try_for_each(|(steps, numbers)| tell(steps, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stack_stays_whole() {
        let whole: Vec<usize> = (0..MANY.inner + MANY.outer).collect();
        let (steps, omitted) = shorten(whole.iter().copied(), false, MANY);
        assert!(!omitted);
        assert_eq!(steps, whole.into_iter().map(Step::Frame).collect::<Vec<_>>());
        assert_eq!(shorten([7], true, MANY).0, [Step::Frame(7), Step::Cut]);
        assert_eq!(shorten(std::iter::empty::<u8>(), true, MANY).0, [Step::Cut]);
    }

    #[test]
    fn a_long_stack_keeps_its_ends() {
        let (steps, omitted) = shorten(0..10_000, true, Ends { inner: 3, outer: 2 });
        assert!(omitted);
        let frames = |range: std::ops::Range<i32>| range.map(Step::Frame);
        let expected = frames(0..3).chain([Step::Omitted]).chain(frames(9998..10_000)).chain([Step::Cut]);
        assert_eq!(steps, expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_looks_the_same_is_added_up() {
        let mut merged = Merged::new();
        let numbers = Numbers { allocations: 2, peak_bytes: 5, ..Numbers::default() };
        for depth in [600, 700, 800] {
            merged.add(shorten(std::iter::repeat_n('f', depth), false, MANY).0, numbers);
        }
        merged.add(vec![Step::Frame('g')], numbers);
        let list = merged.into_list();
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].1.allocations, list[0].1.peak_bytes), (6, 15));
    }
}
