//! Names of addresses, looked up at a request and kept.

use crate::entry_frames::{is_the_entry_of_the_allocator, makes_buffers};
use heapwise_environment::harmless::escape;
use heapwise_portable::profile::Site;
use heapwise_portable::{Function, Module, Modules, forget_debug_information, look_up};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Addresses whose names are kept. All are forgotten if there are as many.
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

#[derive(Debug)]
pub(super) struct Names {
    known: RefCell<Known>,
    most: usize,
    /// How many answers are being made of it.
    users: Cell<usize>,
}

impl Default for Names {
    fn default() -> Self {
        Self { known: RefCell::default(), most: MOST, users: Cell::new(0) }
    }
}

/// What is known, for one answer: as long as it lives, nothing of that is forgotten.
#[derive(Debug)]
pub(super) struct Learned<'a>(&'a Names);

impl Drop for Learned<'_> {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get() - 1);
    }
}

#[derive(Debug, Default)]
struct Known {
    places: HashMap<u64, Rc<Place>>,
    texts: HashSet<Rc<str>>,
    modules: Modules,
}

impl Names {
    /// Looks up what is new in a snapshot, as far as there is room for it. Others get their turn meanwhile.
    pub(super) async fn learn(&self, sites: &[Site]) -> Learned<'_> {
        let is_alone = self.users.replace(self.users.get() + 1) == 0;
        let learned = Learned(self);
        let new = {
            let mut known = self.known.borrow_mut();
            if is_alone && known.places.len() >= self.most {
                *known = Known::default();
            }
            let all: HashSet<u64> = sites.iter().flat_map(|site| site.stack.iter().copied()).collect();
            let mut new: Vec<u64> =
                all.into_iter().filter(|address| !known.places.contains_key(address)).collect();
            // What is near to each other is in the same part of the debug information.
            new.sort_unstable();
            new
        };
        for some in new.chunks(AT_ONCE) {
            some.iter().for_each(|address| self.known.borrow_mut().learn(*address, self.most));
            tokio::task::yield_now().await;
        }
        if !new.is_empty() {
            forget_debug_information();
        }
        learned
    }
}

impl Learned<'_> {
    /// The object files that addresses are in.
    pub(super) fn modules(&self) -> Vec<Module> {
        self.0.known.borrow().modules.list().to_vec()
    }

    /// A stack, innermost first, without heapwise's own frames and what only leads to the allocator.
    pub(super) fn stack(&self, addresses: &[u64]) -> Vec<Shown> {
        let known = self.0.known.borrow();
        let places: Vec<(u64, Rc<Place>)> =
            addresses.iter().map(|address| (*address, known.place(*address))).collect();
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
    fn place(&self, return_address: u64) -> Rc<Place> {
        self.places.get(&return_address).cloned().unwrap_or_else(|| Rc::new(self.nameless(return_address)))
    }

    /// A place of which nothing but the object file is known, if at all.
    fn nameless(&self, return_address: u64) -> Place {
        let module = self.modules.number_of(return_address);
        let bias = module.map_or(0, |number| self.modules.list()[number].bias);
        let address = return_address.wrapping_sub(1).wrapping_sub(bias);
        Place { address, module, lines: Vec::new(), is_own: false }
    }

    fn learn(&mut self, return_address: u64, most: usize) {
        if self.places.len() >= most || self.places.contains_key(&return_address) {
            return;
        }
        self.modules.look_for(return_address);
        let found = look_up(return_address);
        let lines = found.frames.iter().map(|frame| self.line(frame)).collect();
        let place = Place { lines, is_own: found.is_own, ..self.nameless(return_address) };
        self.places.insert(return_address, Rc::new(place));
    }

    fn line(&mut self, frame: &Function) -> Line {
        let function = frame.function.as_deref().unwrap_or_default();
        let is_entry = is_the_entry_of_the_allocator(function, frame.file.as_deref())
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use heapwise_portable::profile::Counts;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    /// What comes of it, and how often others got their turn before.
    pub(in super::super) fn finished<T>(work: impl Future<Output = T>) -> (T, usize) {
        let mut work = pin!(work);
        let mut turns = 0;
        loop {
            if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return (result, turns);
            }
            turns += 1;
        }
    }

    fn site(stack: &[u64]) -> Site {
        Site { stack: Arc::from(stack), most_bytes: 0, counts: Counts::default() }
    }

    #[test]
    fn there_is_a_bound_and_frames_are_never_dropped() {
        let names = Names { most: 4, ..Names::default() };
        let here = (std::process::id as *const () as u64) + 1;
        let (first, second) = ([here, 11, 12], [21, 22, 23, here]);
        let (one, _) = finished(names.learn(&[site(&first)]));
        let (two, _) = finished(names.learn(&[site(&second)]));
        assert_eq!(names.known.borrow().places.len(), 4);
        for (learned, stack) in [(&one, &first[..]), (&two, &second[..]), (&one, &[99])] {
            let shown: Vec<u64> = learned.stack(stack).iter().map(|frame| frame.return_address).collect();
            assert_eq!(shown, stack);
        }
        drop(two);
        // One answer is still being made.
        let (two, _) = finished(names.learn(&[site(&second)]));
        assert!(names.known.borrow().places.contains_key(&11));
        drop((one, two));
        let (_again, _) = finished(names.learn(&[site(&second)]));
        let known = names.known.borrow();
        assert!(known.places.len() == 4 && !known.places.contains_key(&11), "there was no room");
    }
}
