//! What happens on the threads that a budget watches.
//!
//! A *watch* belongs to one closure, scope or future that has a budget. A thread *enters* it, and until it leaves, its
//! requests belong to that watch; and to all that it has entered before, since budgets nest. Threads that have entered none
//! see one thread-local flag and go on.
//!
//! The counts are differences of the thread's own counters, so nothing that happens on another thread can get into them.

use super::capture::capture;
use super::stacks::Table;
use crate::state::Use;
use crate::tally::{self, Counts, Ignore};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// Whether this thread has entered a watch.
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    /// Those that it has entered, the innermost last, and a table that is not in use.
    static ENTERED: RefCell<Entered> = const { RefCell::new(Entered { watches: Vec::new(), spare: None }) };
}

struct Entered {
    watches: Vec<Open>,
    spare: Option<Box<Table>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // It was not counted when it was allocated, and the thread that ends may be counted still.
        let _ignore = Ignore::begin();
        self.watches = Vec::new();
        self.spare = None;
    }
}

/// A watch that this thread has entered.
struct Open {
    watch: Arc<Shared>,
    table: Box<Table>,
    /// Guards of this thread: it leaves when the last one is dropped.
    guards: usize,
    /// The thread's counts when it entered.
    before: Counts,
    /// Net bytes of the thread that the watch's level knows of.
    level: i64,
    /// Frames whose stack pointer is above this address belong to the code that entered. 0 if that is not known.
    stack_end: usize,
}

/// What all threads of a watch have in common.
#[derive(Debug)]
struct Shared {
    /// Threads that have entered and not left.
    inside: AtomicUsize,
    level: AtomicI64,
    peak: AtomicI64,
    total: Mutex<Total>,
    _counting: Use,
    _stacks: Use,
}

/// What the threads that have left did.
#[derive(Debug)]
pub(super) struct Total {
    pub(super) counts: Counts,
    pub(super) stacks: Table,
}

impl Shared {
    fn moved(&self, by: i64) {
        if by != 0 {
            let level = self.level.fetch_add(by, Ordering::Relaxed) + by;
            self.peak.fetch_max(level, Ordering::Relaxed);
        }
    }
}

/// A watch; its clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Watch(Option<Arc<Shared>>);

impl Watch {
    /// Begins to watch, without a thread yet.
    ///
    /// # Panics
    /// If heapwise is not the global allocator.
    #[track_caller]
    pub(super) fn new() -> Self {
        let (counting, stacks) = (Use::counting(), Use::stacks());
        tally::ensure_installed();
        let _ignore = Ignore::begin();
        let total = Total { counts: Counts::default(), stacks: Table::growing() };
        Self(Some(Arc::new(Shared {
            inside: AtomicUsize::new(0),
            level: AtomicI64::new(0),
            peak: AtomicI64::new(0),
            total: Mutex::new(total),
            _counting: counting,
            _stacks: stacks,
        })))
    }

    fn shared(&self) -> &Arc<Shared> {
        self.0.as_ref().expect("only drop takes it")
    }

    /// From here on this thread's requests belong to the watch, until what is returned is dropped. A thread that has entered
    /// it already is not counted twice. `stack_end` as in [`Open`].
    pub(super) fn enter(&self, stack_end: usize) -> Inside {
        let ignore = Ignore::begin();
        let is_new = ENTERED.with_borrow_mut(|entered| {
            if let Some(open) =
                entered.watches.iter_mut().find(|open| Arc::ptr_eq(&open.watch, self.shared()))
            {
                open.guards += 1;
                return false;
            }
            let table = entered.spare.take().unwrap_or_else(|| Box::new(Table::new()));
            let watch = Arc::clone(self.shared());
            watch.inside.fetch_add(1, Ordering::AcqRel);
            entered.watches.push(Open {
                watch,
                table,
                guards: 1,
                before: Counts::default(),
                level: 0,
                stack_end,
            });
            true
        });
        drop(ignore);
        if is_new {
            WATCHING.set(true);
            ENTERED.with_borrow_mut(|entered| {
                let Some(open) = entered.watches.last_mut() else { return };
                open.before = tally::thread();
                open.level = open.before.net_bytes();
            });
        }
        Inside { watch: Some(self.clone()), not_send: std::marker::PhantomData }
    }

    /// Threads that have entered and not left.
    pub(super) fn threads_inside(&self) -> usize {
        self.shared().inside.load(Ordering::Acquire)
    }

    /// What the threads did that have left, and their highest level of live bytes together.
    pub(super) fn end(self) -> (Total, u64) {
        let shared = self.shared();
        let _ignore = Ignore::begin();
        let nothing = Total { counts: Counts::default(), stacks: Table::growing() };
        let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
        let peak = shared.peak.load(Ordering::Relaxed).max(0) as u64;
        (std::mem::replace(&mut total, nothing), peak)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It was not counted when it was allocated.
        let _ignore = Ignore::begin();
        self.0 = None;
    }
}

/// A thread is inside of a watch as long as this lives.
#[derive(Debug)]
pub(super) struct Inside {
    /// Only drop takes it.
    watch: Option<Watch>,
    not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let after = tally::thread();
        let Some(watch) = self.watch.take() else { return };
        let _ignore = Ignore::begin();
        // At the very end of a thread the list is gone already.
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let is_it = |open: &Open| Arc::ptr_eq(&open.watch, watch.shared());
            let Some(at) = entered.watches.iter().position(is_it) else { return };
            entered.watches[at].guards -= 1;
            if entered.watches[at].guards > 0 {
                return;
            }
            let mut open = entered.watches.remove(at);
            WATCHING.set(!entered.watches.is_empty());
            open.watch.moved(after.net_bytes() - open.level);
            {
                let mut total = open.watch.total.lock().unwrap_or_else(PoisonError::into_inner);
                total.counts += after - open.before;
                total.stacks.add_all(&open.table);
            }
            // The watch around this one has to know these stacks, too.
            if let Some(outer) = at.checked_sub(1).and_then(|at| entered.watches.get_mut(at)) {
                outer.table.add_all(&open.table);
            }
            open.table.clear();
            entered.spare = Some(open.table);
            open.watch.inside.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

/// A request on this thread, which has been counted already. Some budget needs stacks.
pub(crate) fn requested(bytes: usize) {
    if WATCHING.get() {
        watched(bytes);
    }
}

#[cold]
#[inline(never)]
fn watched(bytes: usize) {
    if tally::is_ignoring() {
        return;
    }
    let level = tally::thread().net_bytes();
    let _ignore = Ignore::begin();
    // Allocations in here are heapwise's, and are ignored by the guard above.
    let _ = ENTERED.try_with(|entered| {
        let Ok(mut entered) = entered.try_borrow_mut() else { return };
        let stack_end = entered.watches.first().map_or(0, |open| open.stack_end);
        for open in &mut entered.watches {
            open.watch.moved(level - open.level);
            open.level = level;
        }
        if let Some(innermost) = entered.watches.last_mut() {
            innermost.table.request(bytes as u64, |frames| capture(frames, stack_end));
        }
    });
}
