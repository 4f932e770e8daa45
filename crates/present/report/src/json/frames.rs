//! Frames of stacks, each of which is written once: call sites share most of theirs.

use crate::report::rows::via_of;
use crate::schema::report::Frame;
use heapwise_analysis::{self as analysis, Analysis, Site};
use rustc_hash::FxHashMap;

/// Frames of a stack that are written, from its two ends: deep recursion has a site per depth, and whole stacks would make the
/// report grow with the square of it.
const INNER: usize = 384;
const OUTER: usize = 128;
/// Frames of all stacks together. Beyond that, stacks are cut to fewer frames: still more than most stacks have.
const MOST: usize = 1 << 21;
const FEWER_INNER: usize = 48;
const FEWER_OUTER: usize = 16;

/// The frames of all stacks that were written.
#[derive(Debug, Default)]
pub(crate) struct Frames<'a> {
    indices: FxHashMap<Frame<'a>, u32>,
    /// PERF: the same by where its strings are: an analysis has each of them once, and most frames come again and again.
    seen: FxHashMap<Seen, u32>,
    /// How many the stacks have together.
    in_stacks: usize,
}

/// A stack as it is written.
#[derive(Debug)]
pub(crate) struct Written {
    /// Indices of its frames, from the innermost outwards.
    pub(crate) indices: Vec<u32>,
    /// Frames that are left out between the innermost and the outermost ones.
    pub(crate) omitted: usize,
    /// Where among `indices` the frame is that is shown as the place.
    pub(crate) place: Option<usize>,
    /// What the place calls for its blocks.
    pub(crate) via: Option<String>,
}

impl<'a> Frames<'a> {
    /// Writes the stack of a site.
    pub(crate) fn add(&mut self, analysis: &'a Analysis, site: &Site) -> Written {
        let (inner, outer) = if self.in_stacks < MOST { (INNER, OUTER) } else { (FEWER_INNER, FEWER_OUTER) };
        let (stack, omitted) = analysis.stack_ends(site, inner, outer);
        self.in_stacks += stack.len();
        let place = site.user_frame.and_then(|at| position(at, inner, omitted));
        Written {
            indices: stack.iter().map(|frame| self.index(frame)).collect(),
            omitted,
            // What an outer frame calls may be left out.
            via: via_of(&stack, place.filter(|at| omitted == 0 || *at < inner)),
            place,
        }
    }

    /// The frames in the order of their indices.
    pub(crate) fn into_list(self) -> Vec<Frame<'a>> {
        let mut list: Vec<_> = self.indices.into_iter().collect();
        list.sort_unstable_by_key(|(_, index)| *index);
        list.into_iter().map(|(frame, _)| frame).collect()
    }

    fn index(&mut self, frame: &analysis::Frame<'a>) -> u32 {
        let seen = Seen::of(frame);
        if let Some(index) = self.seen.get(&seen) {
            return *index;
        }
        let index = self.index_of_new(frame);
        self.seen.insert(seen, index);
        index
    }

    fn index_of_new(&mut self, frame: &analysis::Frame<'a>) -> u32 {
        let next = u32::try_from(self.indices.len()).unwrap_or(u32::MAX);
        let frame = Frame {
            function: frame.function.map(Into::into),
            file: frame.file.map(Into::into),
            line: frame.line,
            inlined: frame.inlined,
            module: frame.module.map(|m| m.path.as_str().into()),
            address: frame.function.is_none().then_some(frame.address),
        };
        *self.indices.entry(frame).or_insert(next)
    }
}

/// A frame by where its strings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    /// Address and length of the function's, the file's and the module's.
    strings: [(usize, usize); 3],
    line: Option<u32>,
    inlined: bool,
    address: u64,
}

impl Seen {
    fn of(frame: &analysis::Frame<'_>) -> Self {
        let place = |text: Option<&str>| text.map_or((0, 0), |text| (text.as_ptr().addr(), text.len()));
        let module = frame.module.map(|module| module.path.as_str());
        Self {
            strings: [place(frame.function), place(frame.file), place(module)],
            line: frame.line,
            inlined: frame.inlined,
            address: if frame.function.is_none() { frame.address } else { 0 },
        }
    }
}

/// Where a frame of a stack is among those that are written: `inner` ones, then not those that are omitted.
fn position(at: usize, inner: usize, omitted: usize) -> Option<usize> {
    match omitted == 0 || at < inner {
        true => Some(at),
        false => at.checked_sub(omitted).filter(|at| *at >= inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::owner::Owner;

    #[test]
    fn a_place_is_where_it_is_in_what_is_written() {
        // Of ten frames the first three and the last two are written.
        let positions = [0, 2, 3, 7, 8, 9].map(|at| position(at, 3, 5));
        assert_eq!(positions, [Some(0), Some(2), None, None, Some(3), Some(4)]);
        assert_eq!(position(9, 3, 0), Some(9));
    }

    #[test]
    fn a_frame_is_listed_once() {
        let frame = |function, line| analysis::Frame {
            function,
            file: Some("/u/src/a.rs"),
            line,
            inlined: false,
            module: None,
            address: 4096,
            owner: Owner::User,
        };
        let mut frames = Frames::default();
        let stacks = [
            vec![frame(Some("inner"), Some(1)), frame(Some("main"), Some(9))],
            vec![frame(None, None), frame(Some("inner"), Some(2)), frame(Some("main"), Some(9))],
        ];
        let stacks = stacks.map(|stack| stack.iter().map(|frame| frames.index(frame)).collect::<Vec<_>>());
        assert_eq!(stacks, [vec![0, 1], vec![2, 3, 1]]);
        let list = frames.into_list();
        let names: Vec<_> = list.iter().map(|frame| frame.function.as_deref()).collect();
        assert_eq!(names, [Some("inner"), Some("main"), None, Some("inner")]);
        assert_eq!((list[2].address, list[3].address), (Some(4096), None));
    }
}
