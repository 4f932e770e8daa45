//! Allocation wrappers by how they are called, for those whose names are in no table.
//!
//! What tells `my_xmalloc(size)` from `node_new()` or `read_token()` is who decides on the size. Each call of a wrapper
//! makes one block, directly by a function of the allocator, and each caller asks for its own size: one always for 24
//! bytes, another always for 80. A constructor makes blocks of one size for all of its callers, and what copies text makes
//! blocks of many sizes for each.
//!
//! A stripped file still says where a function begins, but no name sounds like a wrapper there. Such a function is also taken for one
//! if it calls the allocator within its first few instructions, for blocks of different sizes.
//!
//! The number of calls of a function is not recorded. That it makes one block for each is seen by that it has a single
//! line, or two, that allocate, and by that it calls nothing else that does.

use crate::heap::SizeSpread;
use crate::stacks::names::{FunctionId, Names, StoredFrame};
use crate::stacks::owner::{Owner, sounds_like_one};
use crate::units::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// Callers that each ask for a different size.
const LEAST_CALLERS: usize = 3;
/// The same for a function whose name is like that of a wrapper; then the sizes do not matter.
const LEAST_CALLERS_OF_NAMED: usize = 2;
/// Bytes from the beginning of a function without a name to its call of the allocator, if it decides nothing before that.
const MOST_BEFORE: u64 = 48;
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
    /// Bytes from its beginning to the nearest of these addresses, if it has no name.
    before: Option<u64>,
    callers: FxHashMap<FunctionId, Caller>,
}

/// Where a function calls the allocator: a line, or an address where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    number: Option<u32>,
    address: u64,
    /// Bytes from the function's beginning to that address, if it has no name.
    before: Option<u64>,
}

impl Line {
    fn of(frame: &StoredFrame) -> Self {
        let before = frame.start.map(|start| frame.address.saturating_sub(start));
        Self { number: frame.line, address: frame.address, before }
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
        let mut is_direct = true;
        let mut at_place = None;
        for (at, (frame, owner)) in frames.take(place.saturating_add(1 + CALLERS_SEEN)).enumerate() {
            let id = frame.function_id();
            if at < place {
                let is_new =
                    || names.text(frame.function).is_some_and(|name| name.starts_with("operator new"));
                is_direct &= match owner {
                    Owner::System | Owner::Wrapper | Owner::Recorder => true,
                    Owner::CxxStd => is_new(),
                    Owner::RustStd | Owner::Dependency | Owner::User => false,
                };
            } else if at == place {
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
                    self.candidates.entry(own).or_default().add(line, caller, habit);
                }
            }
        }
    }

    /// The functions that are wrappers.
    pub(crate) fn wrappers(&self, names: &Names) -> FxHashSet<FunctionId> {
        let found = self.candidates.iter().filter(|(id, candidate)| {
            !self.others.contains(*id)
                && candidate.lines.len() <= MOST_LINES
                && candidate.is_wrapper(names.name_of(**id))
        });
        found.map(|(id, _)| *id).collect()
    }
}

impl Candidate {
    fn add(&mut self, line: Line, caller: FunctionId, Habit { blocks, size }: Habit) {
        self.lines.insert(line);
        self.before = self.before.min(line.before).or(line.before);
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

    fn is_wrapper(&self, name: &str) -> bool {
        let sounds_like_one = || if name.is_empty() { self.decides_nothing() } else { sounds_like_one(name) };
        if self.callers.len() >= LEAST_CALLERS_OF_NAMED && sounds_like_one() {
            return true;
        }
        let habits = self.callers.values().filter(|caller| caller.blocks >= LEAST_BLOCKS);
        let sizes: FxHashSet<Bytes> = habits.filter_map(|caller| caller.size).collect();
        sizes.len() >= LEAST_CALLERS
    }

    /// Whether it asks for another size each time, before it can have done much to find it out.
    fn decides_nothing(&self) -> bool {
        let first = self.callers.values().next().and_then(|caller| caller.size);
        let has_one_size = first.is_some() && self.callers.values().all(|caller| caller.size == first);
        self.before.is_some_and(|before| before <= MOST_BEFORE) && !has_one_size
    }
}
