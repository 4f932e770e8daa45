//! Linux, macOS and their like.

use super::{MOST_NAME_BYTES, Module};
use nix::sys::signal::{SigSet, SigmaskHow};
use std::ffi::{CStr, c_void};

/// Walks the stack with the unwinder that panics use.
pub(in super::super) fn capture(frames: &mut [usize]) -> usize {
    let mut len = 0;
    // SAFETY: what must not happen at the same time is loading debug information, which walking a stack does not do here: that
    // is the unwinder's own work, and it may be used by any number of threads.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            if len == frames.len() {
                return false;
            }
            let address = frame.ip() as usize;
            if address != 0 {
                frames[len] = address;
                len += 1;
            }
            address != 0
        });
    }
    len
}

/// Whether the environment can be trusted: it was set with the rights that this process has.
pub(in super::super) fn may_trust_environment() -> bool {
    // SAFETY: all four ask for numbers.
    unsafe { libc::getuid() == libc::geteuid() && libc::getgid() == libc::getegid() }
}

/// Does something with all signals blocked on this thread, which a thread that it starts inherits: signals are the program's.
pub(in super::super) fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let result = work();
    // It cannot fail: the set is one that the system has given.
    let _ = before.map(|before| before.thread_set_mask());
    result
}

/// The system's number of this thread.
pub(in super::super) fn thread_id() -> u64 {
    #[cfg(target_os = "linux")]
    // SAFETY: a system call without arguments.
    let id = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
    #[cfg(target_vendor = "apple")]
    let id = {
        let mut id = 0;
        // SAFETY: zero is the calling thread, and the number is written to where it is.
        unsafe { libc::pthread_threadid_np(0, &raw mut id) };
        id
    };
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    // SAFETY: it has no requirement.
    let id = unsafe { libc::pthread_self() } as u64;
    id
}

/// The name of this thread; its length.
pub(in super::super) fn thread_name(name: &mut [u8; MOST_NAME_BYTES]) -> usize {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        // SAFETY: the buffer is ours and as long as it is said to be; the thread is the calling one.
        unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
    }
    name.iter().position(|byte| *byte == 0).unwrap_or(name.len())
}

/// Bytes of a page of memory.
pub(in super::super) fn page_bytes() -> u64 {
    // SAFETY: it has no requirement.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Bytes of memory that the system has for this process: those of its container, if that has fewer.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(in super::super) fn memory_bytes() -> Option<u64> {
    // SAFETY: it has no requirement.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    let all = u64::try_from(pages).ok().map(|pages| pages.saturating_mul(page_bytes()));
    // The root of a container's own hierarchy; without a bound it says `max`, and elsewhere there is no such file.
    let bound = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let bound = bound.and_then(|text| text.trim().parse().ok());
    all.map(|all| bound.map_or(all, |bound: u64| bound.min(all)))
}

/// Not known on other systems.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(in super::super) fn memory_bytes() -> Option<u64> {
    None
}

/// Resident bytes of this process.
#[cfg(target_os = "linux")]
pub(in super::super) fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

/// Resident bytes of this process.
#[cfg(target_vendor = "apple")]
pub(in super::super) fn resident_bytes() -> Option<u64> {
    // SAFETY: a structure of integers, for which zeroes are a value.
    let mut info: libc::proc_taskinfo = unsafe { std::mem::zeroed() };
    let size = size_of_val(&info) as libc::c_int;
    let pid = std::process::id() as libc::c_int;
    // SAFETY: the structure is ours, of the kind that is asked for and as large as is said.
    let got =
        unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTASKINFO, 0, (&raw mut info).cast::<c_void>(), size) };
    (got == size).then_some(info.pti_resident_size)
}

/// Not known on other systems.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(in super::super) fn resident_bytes() -> Option<u64> {
    None
}

/// Resident bytes of this process that no file has: its heap, and its stacks.
#[cfg(target_os = "linux")]
pub(in super::super) fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Not known on other systems.
#[cfg(not(target_os = "linux"))]
pub(in super::super) fn anonymous_bytes() -> Option<u64> {
    None
}

fn path_of(name: &CStr) -> String {
    let name = name.to_string_lossy().into_owned();
    // The program itself has none.
    if !name.is_empty() {
        return name;
    }
    std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The object file that holds an address.
#[cfg(target_os = "linux")]
pub(in super::super) fn module_of(address: u64) -> Option<Module> {
    struct Search {
        address: u64,
        found: Option<Module>,
    }

    /// One object file, of all.
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: both are valid during the call: the one is the loader's, the other what was given to it, which nothing else
        // uses meanwhile.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the loader's table of that many entries, which stays as long as the object is loaded.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        // Numbers of 32 or 64 bits, as the processor has.
        let bias = info.dlpi_addr as usize;
        let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let ranges = loaded.map(|h| {
            let start = bias.wrapping_add(h.p_vaddr as usize);
            (start, start.wrapping_add(h.p_memsz as usize))
        });
        let (start, end) =
            ranges.fold((usize::MAX, 0), |(from, to), (start, end)| (from.min(start), to.max(end)));
        if !(start..end).contains(&(search.address as usize)) {
            return 0;
        }
        let mut build_id = String::new();
        for note in headers.iter().filter(|h| h.p_type == libc::PT_NOTE) {
            let start = bias.wrapping_add(note.p_vaddr as usize) as *const u8;
            // SAFETY: a segment of an object that is loaded, and notes are within what is loaded and only read.
            let bytes = unsafe { std::slice::from_raw_parts(start, note.p_memsz as usize) };
            build_id = gnu_build_id(bytes).unwrap_or(build_id);
        }
        // SAFETY: a string of the loader's that ends in zero, or null.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        let (start, end, bias) = (start as u64, end as u64, bias as u64);
        search.found = Some(Module { start, end, bias, build_id, path: path_of(name) });
        1
    }

    let mut search = Search { address, found: None };
    // SAFETY: the function is of the right type and gets the search, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// The build id in a segment of notes.
#[cfg(target_os = "linux")]
fn gnu_build_id(mut notes: &[u8]) -> Option<String> {
    const GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name_len, len, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let rest = notes.get(12..)?;
        let name = rest.get(..name_len)?;
        let rest = rest.get(name_len.next_multiple_of(4)..)?;
        let content = rest.get(..len)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return Some(content.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest.get(len.next_multiple_of(4)..)?;
    }
}

/// The object file that holds an address. Its end is not known, so it is assumed to be right behind the address.
#[cfg(not(target_os = "linux"))]
pub(in super::super) fn module_of(address: u64) -> Option<Module> {
    // SAFETY: a structure of pointers, for which zeroes are a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and the answer is written to where it is.
    let found = unsafe { libc::dladdr(address as usize as *const c_void, &raw mut info) };
    if found == 0 || info.dli_fbase.is_null() {
        return None;
    }
    // SAFETY: a string of the loader's that ends in zero, or null.
    let name = if info.dli_fname.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dli_fname) } };
    let start = info.dli_fbase as u64;
    Some(Module { start, end: address + 1, bias: start, build_id: String::new(), path: path_of(name) })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_in_this_program_and_its_build_id_is_found_among_notes() {
        let here = a_function_is_in_this_program_and_its_build_id_is_found_among_notes as *const () as u64;
        let module = module_of(here).expect("it is loaded");
        assert!((module.start..module.end).contains(&here) && module.bias <= module.start, "{module:x?}");
        assert_eq!(module.path, std::env::current_exe().expect("a test has a file").to_string_lossy());
        assert_eq!(module_of(8), None);
        let note =
            b"\x04\0\0\0\x01\0\0\0\x01\0\0\0GNU\0\xff\0\0\0\x04\0\0\0\x02\0\0\0\x03\0\0\0GNU\0\x0a\xb0\0\0";
        assert_eq!(gnu_build_id(note).as_deref(), Some("0ab0"));
        assert_eq!(gnu_build_id(&note[..note.len() - 3]), None);
    }
}
