//! Names of addresses, looked up at a request and kept.

use crate::entry_frames::{is_the_allocators, is_the_entry_of_the_allocator, makes_buffers};
use heapwise_environment::harmless::escape;
use heapwise_portable::profile::Snapshot;
use heapwise_portable::{Function, Module, Modules, forget_debug_information, look_up};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Addresses whose names are kept. All are forgotten if there are more.
const MOST: usize = 1 << 18;
/// So many addresses are looked up before others get their turn.
const AT_ONCE: usize = 16;
/// Innermost frames among which heapwise's own are looked for.
const OWN_FRAMES: usize = 24;

/// A function and a line in it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) function: Rc<str>,
    pub(super) file: Rc<str>,
    /// 0 if it is not known.
    pub(super) line: u32,
    /// It only leads to the allocator.
    is_entry: bool,
}

/// What is known of a return address.
#[derive(Debug)]
pub(super) struct Place {
    /// The instruction in front of it: in the file as it was linked, if that is known.
    pub(super) address: u64,
    /// The number of the object file.
    pub(super) module: Option<usize>,
    /// The functions that are there, innermost first.
    pub(super) lines: Vec<Line>,
    is_own: bool,
}

/// A frame of a stack as it is shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) return_address: u64,
    pub(super) place: Rc<Place>,
    /// So many of its lines are left out.
    pub(super) hidden: usize,
}

impl Shown {
    pub(super) fn lines(&self) -> &[Line] {
        &self.place.lines[self.hidden..]
    }
}

#[derive(Debug, Default)]
pub(super) struct Names {
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    places: HashMap<u64, Rc<Place>>,
    texts: HashSet<Rc<str>>,
    modules: Modules,
}

impl Names {
    /// Looks up what is new in a snapshot. Others get their turn meanwhile.
    pub(super) async fn learn(&self, snapshot: &Snapshot) {
        let new = {
            let mut known = self.known.borrow_mut();
            if known.places.len() > MOST {
                *known = Known::default();
            }
            let all: HashSet<u64> =
                snapshot.sites.iter().flat_map(|site| site.stack.iter().copied()).collect();
            let mut new: Vec<u64> =
                all.into_iter().filter(|address| !known.places.contains_key(address)).collect();
            // What is near to each other is in the same part of the debug information.
            new.sort_unstable();
            new
        };
        for some in new.chunks(AT_ONCE) {
            some.iter().for_each(|address| self.known.borrow_mut().learn(*address));
            tokio::task::yield_now().await;
        }
        if !new.is_empty() {
            forget_debug_information();
        }
    }

    /// The object files that addresses are in.
    pub(super) fn modules(&self) -> Vec<Module> {
        self.known.borrow().modules.list().to_vec()
    }

    /// A stack, innermost first, without heapwise's own frames and what only leads to the allocator.
    pub(super) fn stack(&self, addresses: &[u64]) -> Vec<Shown> {
        let known = self.known.borrow();
        let place = |address: &u64| known.places.get(address).map(|place| (*address, Rc::clone(place)));
        let places: Vec<(u64, Rc<Place>)> = addresses.iter().filter_map(place).collect();
        let innermost = &places[..places.len().min(OWN_FRAMES)];
        let own = innermost.iter().rposition(|(_, place)| place.is_own).map_or(0, |at| at + 1);
        let mut is_inside = true;
        let shown = places[own..].iter().filter_map(|(return_address, place)| {
            let entries =
                if is_inside { place.lines.iter().take_while(|line| line.is_entry).count() } else { 0 };
            let is_whole = entries == place.lines.len() && !place.lines.is_empty();
            is_inside = is_inside && is_whole;
            (!is_inside).then(|| Shown {
                return_address: *return_address,
                place: Rc::clone(place),
                hidden: entries,
            })
        });
        let shown: Vec<Shown> = shown.collect();
        if !shown.is_empty() {
            return shown;
        }
        // Nothing else is there.
        let whole = |(return_address, place): (u64, Rc<Place>)| Shown { return_address, place, hidden: 0 };
        places.into_iter().map(whole).collect()
    }
}

impl Known {
    fn learn(&mut self, return_address: u64) {
        self.modules.look_for(return_address);
        let module = self.modules.number_of(return_address);
        let bias = module.map_or(0, |number| self.modules.list()[number].bias);
        let found = look_up(return_address);
        let lines = found.frames.iter().map(|frame| self.line(frame)).collect();
        let address = return_address.wrapping_sub(1).wrapping_sub(bias);
        self.places.insert(return_address, Rc::new(Place { address, module, lines, is_own: found.is_own }));
    }

    fn line(&mut self, frame: &Function) -> Line {
        let function = frame.function.as_deref().unwrap_or_default();
        let is_entry = is_the_allocators(function)
            || is_the_entry_of_the_allocator(function)
            || makes_buffers(function, frame.file.as_deref());
        Line {
            function: self.text(function),
            file: self.text(frame.file.as_deref().unwrap_or_default()),
            line: frame.line.unwrap_or_default(),
            is_entry,
        }
    }

    fn text(&mut self, text: &str) -> Rc<str> {
        let text = escape(text);
        if let Some(known) = self.texts.get(&*text) {
            return Rc::clone(known);
        }
        let new: Rc<str> = Rc::from(&*text);
        self.texts.insert(Rc::clone(&new));
        new
    }
}
