//! Allocation wrappers by how they are called, for those whose names are in no table.
//!
//! What tells `my_xmalloc(size)` from `node_new()` or `read_token()` is who decides on the size. Each call of a wrapper
//! makes one block, directly by a function of the allocator, and each caller asks for its own size: one always for 24
//! bytes, another always for 80. A constructor makes blocks of one size for all of its callers, and what copies text makes
//! blocks of many sizes for each.
//!
//! A file without debug information still says where its functions begin. One that calls the allocator within its first few instructions,
//! for blocks of different sizes, is also taken for a wrapper: it cannot have done much to find out what to ask for.
//!
//! In Rust, a function that calls `std::alloc::alloc` with a layout and is called `allocate` or the like is one, too, unless all of its callers get
//! blocks of one size, as from a pool. What asked for the memory is further out.
//!
//! The number of calls of a function is not recorded. That it makes one block for each is seen by that it has a single
//! line, or two, that allocate, and by that it calls nothing else that does.

use crate::heap::SizeSpread;
use crate::stacks::names::{FunctionId, Names, StoredFrame};
use crate::stacks::owner::{Owner, sounds_like_one, sounds_like_one_of_rust};
use crate::units::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// Callers that each ask for a different size.
const LEAST_CALLERS: usize = 3;
/// The same for a function whose name or beginning is like that of a wrapper; then it does not matter whether each has one size.
const LEAST_CALLERS_OF_LIKELY: usize = 2;
/// Bytes from the beginning of a function to its call of the allocator, if it decides nothing before that: 8 for `malloc` and a check, 18
/// for an array of so many elements. Of what 461 libraries of Debian 12 export, 56 functions call it so early for a size that is no
/// constant: all but a handful are wrappers, copies, and makers of what their callers want so many of. Of the 76 that do in the 24 bytes
/// behind, about half do other work (`vorbis_comment_add`, `mpc_sum`), which their names say.
const MOST_BEFORE: u32 = 24;
/// The same for a function without a name, with which no name is lost.
const MOST_BEFORE_WITHOUT_NAME: u32 = 48;
/// One caller's blocks of one size are a habit from here on.
const LEAST_BLOCKS: u64 = 2;
/// Lines of a wrapper that allocate: `malloc`, and a second try or `realloc`.
const MOST_LINES: usize = 2;
/// Frames outside of a place that are known to call something that allocates.
const CALLERS_SEEN: usize = 8;

/// The blocks of one stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    /// How many were requested.
    pub(crate) blocks: u64,
    /// The one size of all of them; `None` if there are several.
    pub(crate) size: Option<Bytes>,
}

impl Habit {
    /// Of so many requests, with sizes that are known.
    pub(crate) fn new(blocks: u64, sizes: &SizeSpread) -> Self {
        Self { blocks, size: sizes.smallest().filter(|_| sizes.is_uniform()) }
    }
}

/// What is known of the functions that may be wrappers.
#[derive(Debug, Default)]
pub(crate) struct WrapperShapes {
    candidates: FxHashMap<FunctionId, Candidate>,
    /// Functions that do something else than to call the allocator.
    others: FxHashSet<FunctionId>,
}

#[derive(Debug, Default)]
struct Candidate {
    lines: FxHashSet<Line>,
    callers: FxHashMap<FunctionId, Caller>,
    /// Whether it calls the allocator by functions without names, which may decide on the size.
    is_through_nameless: bool,
    /// Whether it calls Rust's functions that only hand a layout on to the allocator.
    is_by_layout: bool,
}

/// Where a function calls the allocator: a line, or an address where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    number: Option<u32>,
    address: u64,
}

impl Line {
    fn of(frame: &StoredFrame) -> Self {
        Self { number: frame.line, address: frame.address }
    }
}

/// What one caller gets.
#[derive(Debug, Default)]
struct Caller {
    blocks: u64,
    /// The one size of all its blocks; `None` if there are several.
    size: Option<Bytes>,
}

impl WrapperShapes {
    /// Adds a stack whose place is known, as the place of one of its frames.
    pub(crate) fn add<'a>(
        &mut self,
        place: usize,
        habit: Habit,
        frames: impl Iterator<Item = &'a (StoredFrame, Owner)>,
        names: &Names,
    ) {
        let (mut is_direct, mut is_through_nameless) = (true, false);
        let (mut is_by_layout, mut is_through_std) = (false, false);
        let mut at_place = None;
        for (at, (frame, owner)) in frames.take(place.saturating_add(1 + CALLERS_SEEN)).enumerate() {
            let id = frame.function_id();
            if at < place {
                let is_new =
                    || names.text(frame.function).is_some_and(|name| name.starts_with("operator new"));
                is_direct &= match owner {
                    Owner::System | Owner::Wrapper | Owner::Recorder => true,
                    Owner::CxxStd => is_new(),
                    Owner::RustStd => {
                        let hands_on = hands_a_layout_on(frame, names);
                        is_by_layout |= hands_on;
                        is_through_std = true;
                        hands_on || is_shim(frame, names)
                    }
                    // What a library does not export has no name in it: `fz_malloc` calls the allocator by such a function.
                    Owner::Dependency | Owner::User => {
                        is_through_nameless = true;
                        frame.function.is_none()
                    }
                };
            } else if at == place {
                // Without lines, a container may have been inlined in between.
                is_direct &= !is_through_std || is_by_layout;
                let is_code = matches!(owner, Owner::User | Owner::Dependency);
                at_place = id.filter(|_| is_code).map(|id| (id, Line::of(frame)));
                if !is_direct {
                    self.others.extend(id);
                }
            } else {
                // It calls what allocates, so it is none that does nothing else.
                self.others.extend(id);
                if at == place + 1
                    && let (Some(caller), Some((own, line))) = (id, at_place.filter(|_| is_direct))
                    && caller != own
                {
                    let candidate = self.candidates.entry(own).or_default();
                    candidate.add(line, caller, habit);
                    candidate.is_through_nameless |= is_through_nameless;
                    candidate.is_by_layout |= is_by_layout;
                }
            }
        }
    }

    /// The functions that are wrappers.
    pub(crate) fn wrappers(&self, names: &Names) -> FxHashSet<FunctionId> {
        let found = self.candidates.iter().filter(|(id, candidate)| {
            !self.others.contains(*id)
                && candidate.lines.len() <= MOST_LINES
                && candidate.is_wrapper(names.name_of(**id), names.first_call(**id))
        });
        found.map(|(id, _)| *id).collect()
    }
}

/// Whether it is `std::alloc::alloc` or one like it, which makers of layouts call. `exchange_malloc`, of the same file, is what the compiler makes of
/// `Box::new` and `vec![]`.
fn hands_a_layout_on(frame: &StoredFrame, names: &Names) -> bool {
    const FOR_BOXES: [&str; 2] = ["exchange_malloc", "box_new"];
    let is_in_alloc_rs = names.text(frame.file).is_some_and(|file| file.ends_with("alloc/src/alloc.rs"));
    let is_for_boxes = |name: &str| FOR_BOXES.iter().any(|end| name.ends_with(end));
    is_in_alloc_rs && !names.text(frame.function).is_some_and(is_for_boxes)
}

/// Whether it is what the compiler puts between that and the allocator.
fn is_shim(frame: &StoredFrame, names: &Names) -> bool {
    let begins = |name: &str| ["__rust", "__rdl_", "__rg_"].iter().any(|start| name.starts_with(start));
    let is_of_system = |file: &str| file.contains("/sys/alloc/");
    names.text(frame.function).is_some_and(begins) || names.text(frame.file).is_some_and(is_of_system)
}

impl Candidate {
    fn add(&mut self, line: Line, caller: FunctionId, Habit { blocks, size }: Habit) {
        self.lines.insert(line);
        if blocks == 0 {
            return;
        }
        match self.callers.entry(caller) {
            Entry::Vacant(new) => _ = new.insert(Caller { blocks, size }),
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.blocks += blocks;
                known.size = known.size.filter(|known| Some(*known) == size);
            }
        }
    }

    /// `first_call`: bytes from its beginning to its first call, if that is known.
    fn is_wrapper(&self, name: &str, first_call: Option<u32>) -> bool {
        let most = if name.is_empty() { MOST_BEFORE_WITHOUT_NAME } else { MOST_BEFORE };
        let decides_nothing = || first_call.is_some_and(|before| before <= most) && !self.has_one_size();
        let is_often_called = self.callers.len() >= LEAST_CALLERS_OF_LIKELY;
        if self.is_by_layout {
            return sounds_like_one_of_rust(name) && (self.callers.len() < 2 || !self.has_one_size());
        }
        if self.is_through_nameless {
            return is_often_called && sounds_like_one(name);
        }
        if is_often_called && (sounds_like_one(name) || decides_nothing()) {
            return true;
        }
        let habits = self.callers.values().filter(|caller| caller.blocks >= LEAST_BLOCKS);
        let sizes: FxHashSet<Bytes> = habits.filter_map(|caller| caller.size).collect();
        sizes.len() >= LEAST_CALLERS
    }

    /// Whether it asks for the same size each time.
    fn has_one_size(&self) -> bool {
        let first = self.callers.values().next().and_then(|caller| caller.size);
        first.is_some() && self.callers.values().all(|caller| caller.size == first)
    }
}
