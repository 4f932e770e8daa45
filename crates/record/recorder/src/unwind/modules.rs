//! Which object file an address belongs to, and telling the collector about it.
//!
//! The loader answers without a lock (`_dl_find_object`, glibc 2.35), so this works in a signal handler and while
//! another thread is in the middle of `dlopen`. With an older glibc, before the loader is ready, and for code that it
//! does not know, the kernel's list of mappings answers. A module is published when an address of it is met for the
//! first time.
//!
//! When a module is unloaded its addresses may come to belong to another one. The *generation* counts such
//! moments: rules are forgotten, and stacks get new roots.

use crate::lock::Held;
use crate::process::PROCESS;
use crate::real::{self, DlFindObject, LinkMap};
use crate::sys;
use crate::sys::maps::Code;
use crate::unwind::cache;
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use heapwise_trace::live::layout::{BUILD_ID_BYTES, MODULE_LOG_BYTES, MODULE_RECORD_HEADER};

/// Most modules that can be told apart.
const MAX_MODULES: usize = 2048;

/// What the collector was told.
#[derive(Debug)]
#[repr(C)]
pub struct Published {
    log: AtomicPtr<u8>,
    modules: [AtomicU32; MAX_MODULES / 32],
}

impl Published {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            log: AtomicPtr::new(core::ptr::null_mut()),
            modules: [const { AtomicU32::new(0) }; MAX_MODULES / 32],
        }
    }

    /// Begins the log at zeroed memory of the session.
    pub fn begin(&self, log: *mut u8) {
        self.log.store(log, Ordering::Release);
    }

    fn first_time(&self, index: usize) -> bool {
        let bit = 1 << (index % 32);
        self.modules[index / 32].fetch_or(bit, Ordering::AcqRel) & bit == 0
    }
}

impl Default for Published {
    fn default() -> Self {
        Self::new()
    }
}

struct Known {
    /// 0 where nothing is known, or the module was unloaded.
    start: AtomicUsize,
    end: AtomicUsize,
    link_map: AtomicUsize,
}

/// Modules met so far. Inherited by forked children, which publish them again.
static KNOWN: [Known; MAX_MODULES] =
    [const { Known { start: AtomicUsize::new(0), end: AtomicUsize::new(0), link_map: AtomicUsize::new(0) } };
        MAX_MODULES];
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
    link_map: usize,
    /// An address of its code.
    code: usize,
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

/// What an address belongs to. Publishes a module that is new.
pub fn find(address: usize) -> Found {
    let found = look_up(address);
    if let Found::Module(module) = &found {
        let known = KNOWN[..COUNT.load(Ordering::Acquire).min(MAX_MODULES)].iter().any(|k| is(k, module));
        if !known && let Some(held) = PROCESS.lock.acquire() {
            note(&held, module);
        }
    }
    found
}

fn look_up(address: usize) -> Found {
    if let Some(module) = loader_module(address).or_else(|| mapped_before(address)) {
        return Found::Module(module);
    }
    if MADE.contains(address) {
        return Found::Made;
    }
    if !may_ask() {
        return Found::NotNow;
    }
    mapped_code(address, &mut [])
}

/// Questions to the kernel between two movements of the clock. Each takes as long as a hundred events, and walks
/// through made code may lead to ever new addresses that are none.
const QUESTIONS: u64 = 4;
/// The clock at the last question, and how many there were since it moved.
static ASKED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn may_ask() -> bool {
    let clock = PROCESS.session().map_or(0, |session| session.clock.0.load(Ordering::Relaxed));
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
    let known = &KNOWN[..COUNT.load(Ordering::Acquire).min(MAX_MODULES)];
    let module = known.iter().find(|k| {
        let start = k.start.load(Ordering::Acquire);
        let range = start..k.end.load(Ordering::Relaxed);
        start != 0 && k.link_map.load(Ordering::Relaxed) == 0 && range.contains(&address)
    })?;
    let (start, end) = (module.start.load(Ordering::Acquire), module.end.load(Ordering::Relaxed));
    let (bias, eh_frame_header) = super::elf::locate(start, end);
    Some(Module { start, end, eh_frame_header, bias, link_map: 0, code: address })
}

fn loader_module(address: usize) -> Option<Module> {
    let mut object = DlFindObject::default();
    // SAFETY: the loader fills in the structure, whose layout is that of glibc 2.35 and later, where the function
    // exists.
    let found = unsafe { real::dl_find_object()?(address as *mut _, &mut object) } == 0;
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
        // An empty range in between, so that nobody pairs the old end with the new start.
        self.ends[index].store(0, Ordering::Release);
        self.starts[index].store(start, Ordering::Release);
        self.ends[index].store(end, Ordering::Release);
    }
}

fn is(known: &Known, module: &Module) -> bool {
    known.start.load(Ordering::Acquire) == module.start
        && known.link_map.load(Ordering::Relaxed) == module.link_map
}

fn note(held: &Held<'_>, module: &Module) {
    let count = COUNT.load(Ordering::Relaxed);
    if count == MAX_MODULES || KNOWN[..count].iter().any(|k| is(k, module)) {
        return;
    }
    let known = &KNOWN[count];
    known.end.store(module.end, Ordering::Relaxed);
    known.link_map.store(module.link_map, Ordering::Relaxed);
    known.start.store(module.start, Ordering::Release);
    COUNT.store(count + 1, Ordering::Release);
    publish(held, count, module);
}

/// Publishes every known module that is still loaded: after a fork the collector knows none of them.
pub fn publish_all(held: &Held<'_>) {
    let count = COUNT.load(Ordering::Acquire);
    for (index, known) in KNOWN[..count].iter().enumerate() {
        let start = known.start.load(Ordering::Acquire);
        if start != 0
            && let Found::Module(module) = look_up(start)
        {
            publish(held, index, &module);
        }
    }
}

/// Notices modules that are gone. Called after a `dlclose`.
pub fn notice_unloaded() {
    let count = COUNT.load(Ordering::Acquire);
    let gone = |known: &Known| {
        let start = known.start.load(Ordering::Acquire);
        if known.link_map.load(Ordering::Relaxed) == 0 {
            // Only the kernel can tell, and mapping another file there is what it is asked about.
            return start != 0 && sys::maps::mapping_of(start).is_none_or(|(from, _)| from != start);
        }
        start != 0 && !matches!(look_up(start), Found::Module(module) if is(known, &module))
    };
    if !KNOWN[..count].iter().any(gone) {
        return;
    }
    let Some(held) = PROCESS.lock.acquire() else { return };
    for known in KNOWN[..count].iter().filter(|known| gone(known)) {
        known.start.store(0, Ordering::Release);
    }
    cache::clear();
    let generation = PROCESS.generation.load(Ordering::Relaxed) + 1;
    if PROCESS.trie.begin_generation(&held, generation).is_some() {
        PROCESS.generation.store(generation, Ordering::Release);
    }
    // Every thread looks at the generation when it sees the clock change.
    if let Some(session) = PROCESS.session() {
        session.clock.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Appends a record to the module log; see [`MODULE_RECORD_HEADER`] for its layout.
fn publish(_held: &Held<'_>, index: usize, module: &Module) {
    let log = PROCESS.published.log.load(Ordering::Acquire);
    let Some(header) = PROCESS.header() else { return };
    if log.is_null() || !PROCESS.published.first_time(index) {
        return;
    }
    let mut buffer = [0u8; 1024];
    let path = path_of(module, &mut buffer);
    let used = header.module_log_len.load(Ordering::Relaxed) as usize;
    let len = (MODULE_RECORD_HEADER + path.len()).next_multiple_of(8);
    if used + len > MODULE_LOG_BYTES {
        return;
    }
    let (build_id, build_id_len) = super::elf::build_id(module.start, module.end);
    let generation = PROCESS.generation.load(Ordering::Relaxed);
    // SAFETY: `used + len` is within the log, which only the holder of the lock writes to, and which the collector
    // does not read before the new length is stored.
    let record = unsafe { core::slice::from_raw_parts_mut(log.add(used), len) };
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        record[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&(len as u32).to_le_bytes());
    put(&generation.to_le_bytes());
    put(&(module.start as u64).to_le_bytes());
    put(&(module.end as u64).to_le_bytes());
    put(&(module.bias as u64).to_le_bytes());
    put(&(build_id_len as u32).to_le_bytes());
    put(&(path.len() as u32).to_le_bytes());
    put(&build_id[..BUILD_ID_BYTES]);
    put(path);
    header.module_log_len.store((used + len) as u32, Ordering::Release);
}

/// The name under which the recorder itself appears, unless it is a part of the program.
const OWN_NAME: &[u8] = b"libheapwise_preload.so";

fn path_of<'a>(module: &Module, buffer: &'a mut [u8; 1024]) -> &'a [u8] {
    let own = path_of as *const () as usize;
    if !crate::wrapped::is_used() && module.start <= own && own < module.end {
        return OWN_NAME;
    }
    if module.link_map == 0 {
        let found = sys::maps::code_at(module.code, buffer);
        return &buffer[..found.map_or(0, |(_, len)| len)];
    }
    // SAFETY: the loader keeps a C string there as long as the object is loaded.
    let name = unsafe { CStr::from_ptr((*(module.link_map as *const LinkMap)).name) }.to_bytes();
    if name.is_empty() {
        let len = sys::read_link(c"/proc/self/exe", buffer).unwrap_or(0);
        return &buffer[..len];
    }
    let len = name.len().min(buffer.len());
    buffer[..len].copy_from_slice(&name[..len]);
    &buffer[..len]
}
