//! Reports modules to the collector: each when an address of it is met for the first time.

use super::module::{MAX_MODULES, Module};
use crate::lock::Held;
use crate::real::LinkMap;
use crate::region::Region;
use crate::{placement, sys};
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use heapwise_trace::live::layout::{BUILD_ID_BYTES, MODULE_LOG_BYTES, MODULE_RECORD_HEADER};

/// The modules that were reported to the collector.
#[derive(Debug)]
#[repr(C)]
pub struct ModuleLog {
    /// How often modules were unloaded.
    generation: AtomicU32,
    log: AtomicPtr<u8>,
    modules: [AtomicU32; MAX_MODULES / 32],
}

impl ModuleLog {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            log: AtomicPtr::new(core::ptr::null_mut()),
            modules: [const { AtomicU32::new(0) }; MAX_MODULES / 32],
        }
    }

    /// Begins the log at zeroed memory of the session.
    pub fn begin(&self, log: *mut u8) {
        self.log.store(log, Ordering::Release);
    }

    /// How often modules were unloaded.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Notes that modules were unloaded once more.
    pub fn set_generation(&self, _held: &Held<'_>, generation: u32) {
        self.generation.store(generation, Ordering::Release);
    }

    fn first_time(&self, index: usize) -> bool {
        let bit = 1 << (index % 32);
        self.modules[index / 32].fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// Appends a record of the module at a place in the list of those that were met, unless it was reported before; see
    /// [`MODULE_RECORD_HEADER`] for its layout.
    pub fn publish(&self, _held: &Held<'_>, region: &Region, index: usize, module: &Module) {
        let log = self.log.load(Ordering::Acquire);
        let Some(header) = region.header() else { return };
        if log.is_null() || !self.first_time(index) {
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
        let generation = self.generation();
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
}

impl Default for ModuleLog {
    fn default() -> Self {
        Self::new()
    }
}

/// The name under which the recorder itself appears, unless it is a part of the program.
const OWN_NAME: &[u8] = b"libheapwise_preload.so";

fn path_of<'a>(module: &Module, buffer: &'a mut [u8; 1024]) -> &'a [u8] {
    let own = path_of as *const () as usize;
    if !placement::is_in_program() && module.start <= own && own < module.end {
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
