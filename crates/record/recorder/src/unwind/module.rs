//! Which object file an address belongs to.
//!
//! The loader answers without a lock (`_dl_find_object`, glibc 2.35), so this works in a signal handler and while
//! another thread is in the middle of `dlopen`. With an older glibc, before the loader is ready, and for code that it
//! does not know, the kernel's list of mappings answers; and for objects of which the loader says only where one of their
//! segments is, since there is a hole between these.

use crate::lock::Held;
use crate::real::{self, DlFindObject, LinkMap};
use crate::sys;
use crate::sys::maps::Code;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most modules that can be distinguished.
pub(super) const MAX_MODULES: usize = 2048;

/// A module that was met.
struct Known {
    /// 0 where nothing is known, or the module was unloaded.
    start: AtomicUsize,
    end: AtomicUsize,
    link_map: AtomicUsize,
    /// An address of its code.
    code: AtomicUsize,
}

/// Modules met so far: they are the same for every recorder of the process, and forked children inherit them.
static KNOWN: [Known; MAX_MODULES] = [const {
    Known {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        link_map: AtomicUsize::new(0),
        code: AtomicUsize::new(0),
    }
}; MAX_MODULES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A loaded object file.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// First address.
    pub start: usize,
    /// First address behind.
    pub end: usize,
    /// Address of its `.eh_frame_hdr`, 0 if it has none.
    pub eh_frame_header: usize,
    /// Run-time address minus link-time address.
    pub bias: usize,
    /// The loader's structure, 0 if the loader does not know the module.
    pub(super) link_map: usize,
    /// An address of its code.
    pub(super) code: usize,
}

/// What an address belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// An object file.
    Module(Module),
    /// Code that the program has made itself.
    Made,
    /// It is not code.
    Nothing,
    /// The kernel was asked too often already; ask again later.
    NotNow,
}

/// What an address belongs to. `clock` is the session's, by which questions to the kernel are counted.
pub fn look_up(address: usize, clock: u64) -> Found {
    let known = loader_module(address).or_else(|| mapped_before(address)).or_else(|| own_module(address));
    if let Some(module) = known {
        return Found::Module(module);
    }
    if MADE.contains(address) {
        return Found::Made;
    }
    if !may_ask(clock) {
        return Found::NotNow;
    }
    mapped_code(address, &mut [])
}

/// Questions to the kernel between two movements of the clock. Each takes as long as a hundred events, and walks
/// through made code may lead to ever new addresses that are not code.
const QUESTIONS: u64 = 4;
/// The clock at the last question, and how many there were since it moved.
static ASKED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn may_ask(clock: u64) -> bool {
    if ASKED[0].swap(clock, Ordering::Relaxed) != clock {
        ASKED[1].store(0, Ordering::Relaxed);
    }
    let may = ASKED[1].fetch_add(1, Ordering::Relaxed) < QUESTIONS;
    if !may {
        POSTPONED.fetch_add(1, Ordering::Relaxed);
    }
    may
}

static POSTPONED: AtomicU64 = AtomicU64::new(0);

/// How often a question was put off. Walks between which this changed may differ.
pub fn postponed() -> u64 {
    POSTPONED.load(Ordering::Relaxed)
}

/// A module that only the kernel knew of, when it is met again.
fn mapped_before(address: usize) -> Option<Module> {
    let module = known().iter().find(|k| {
        let start = k.start.load(Ordering::Acquire);
        let range = start..k.end.load(Ordering::Relaxed);
        start != 0 && k.link_map.load(Ordering::Relaxed) == 0 && range.contains(&address)
    })?;
    let (start, end) = (module.start.load(Ordering::Acquire), module.end.load(Ordering::Relaxed));
    let (bias, eh_frame_header) = super::elf::locate(start, end);
    let code = module.code.load(Ordering::Relaxed);
    Some(Module { start, end, eh_frame_header, bias, link_map: 0, code })
}

/// The recorder itself, where it is an image.
fn own_module(address: usize) -> Option<Module> {
    let (start, end) = real::own_image().filter(|&(start, end)| start <= address && address < end)?;
    let (bias, eh_frame_header) = super::elf::locate(start, end);
    Some(Module { start, end, eh_frame_header, bias, link_map: 0, code: address })
}

fn loader_module(address: usize) -> Option<Module> {
    let mut object = DlFindObject::default();
    // SAFETY: the loader fills in the structure, whose layout is that of glibc 2.35 and later, where the function
    // exists.
    let found = unsafe { real::dl_find_object()?(address as *mut _, &mut object) } == 0;
    // What begins with no header is a segment of an object with holes, whose tables are found by its headers.
    let found = found && super::elf::begins_at(object.map_start);
    // SAFETY: the loader's structure of a loaded object begins with its bias.
    let bias = found.then(|| unsafe { (*(object.link_map as *const LinkMap)).bias })?;
    Some(Module {
        start: object.map_start,
        end: object.map_end,
        eh_frame_header: object.eh_frame_header,
        bias,
        link_map: object.link_map,
        code: address,
    })
}

/// The first object file whose code lies at an address or behind it, and where that begins.
pub(super) fn next_mapped(mut from: usize) -> Option<(usize, Module)> {
    loop {
        let start = sys::maps::next_code(from)?;
        if let Found::Module(module) = mapped_code(start, &mut []) {
            return Some((start, module));
        }
        from = start + 1;
    }
}

/// Asks the kernel. `path` receives a module's path, as far as it fits.
fn mapped_code(address: usize, path: &mut [u8]) -> Found {
    match sys::maps::code_at(address, path) {
        Some((Code::Object { start, end }, _)) => {
            let (bias, eh_frame_header) = super::elf::locate(start, end);
            Found::Module(Module { start, end, eh_frame_header, bias, link_map: 0, code: address })
        }
        Some((Code::Made { start, end }, _)) => {
            MADE.note(start, end);
            Found::Made
        }
        None => Found::Nothing,
    }
}

/// Ranges of code that the program has made: asking the kernel for every address of a just-in-time compiler would be
/// slow. A range that was code once is taken to be code still, since this is only asked for addresses found where a
/// return address should be, and after the loader was asked.
struct MadeRanges {
    starts: [AtomicUsize; MADE_RANGES],
    ends: [AtomicUsize; MADE_RANGES],
    next: AtomicUsize,
}

const MADE_RANGES: usize = 16;

static MADE: MadeRanges = MadeRanges {
    starts: [const { AtomicUsize::new(0) }; MADE_RANGES],
    ends: [const { AtomicUsize::new(0) }; MADE_RANGES],
    next: AtomicUsize::new(0),
};

impl MadeRanges {
    fn contains(&self, address: usize) -> bool {
        let ranges = self.starts.iter().zip(&self.ends);
        let mut bounds =
            ranges.map(|(start, end)| start.load(Ordering::Acquire)..end.load(Ordering::Acquire));
        bounds.any(|range| range.contains(&address))
    }

    fn note(&self, start: usize, end: usize) {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % MADE_RANGES;
        // An empty range in between, so that no reader pairs the old end with the new start.
        self.ends[index].store(0, Ordering::Release);
        self.starts[index].store(start, Ordering::Release);
        self.ends[index].store(end, Ordering::Release);
    }
}

/// The modules that were met.
fn known() -> &'static [Known] {
    &KNOWN[..COUNT.load(Ordering::Acquire).min(MAX_MODULES)]
}

fn is(known: &Known, module: &Module) -> bool {
    known.start.load(Ordering::Acquire) == module.start
        && known.link_map.load(Ordering::Relaxed) == module.link_map
}

/// Whether a module was met before.
pub(super) fn is_known(module: &Module) -> bool {
    known().iter().any(|known| is(known, module))
}

/// Notes a module. Returns its place in the list if it was not met before.
pub(super) fn note(_held: &Held<'_>, module: &Module) -> Option<usize> {
    let count = COUNT.load(Ordering::Relaxed);
    if count == MAX_MODULES || is_known(module) {
        return None;
    }
    let known = &KNOWN[count];
    known.end.store(module.end, Ordering::Relaxed);
    known.link_map.store(module.link_map, Ordering::Relaxed);
    known.code.store(module.code, Ordering::Relaxed);
    known.start.store(module.start, Ordering::Release);
    COUNT.store(count + 1, Ordering::Release);
    Some(count)
}

/// Every module that was met and is still loaded, with its place in the list.
pub(crate) fn all_known(clock: u64) -> impl Iterator<Item = (usize, Module)> {
    known().iter().enumerate().filter_map(move |(index, known)| {
        let start = known.start.load(Ordering::Acquire);
        match (start != 0).then(|| look_up(start, clock)) {
            Some(Found::Module(module)) => Some((index, module)),
            _ => None,
        }
    })
}

/// Whether some module that was met is gone.
pub(super) fn is_any_gone(clock: u64) -> bool {
    known().iter().any(|known| is_gone(known, clock))
}

fn is_gone(known: &Known, clock: u64) -> bool {
    let start = known.start.load(Ordering::Acquire);
    if known.link_map.load(Ordering::Relaxed) == 0 {
        // Only the kernel knows whether another file is mapped here by now.
        return start != 0 && sys::maps::mapping_of(start).is_none_or(|(from, _)| from != start);
    }
    start != 0 && !matches!(look_up(start, clock), Found::Module(module) if is(known, &module))
}

/// Forgets the modules that are gone.
pub(super) fn forget_gone(_held: &Held<'_>, clock: u64) {
    for known in known().iter().filter(|known| is_gone(known, clock)) {
        known.start.store(0, Ordering::Release);
    }
}
