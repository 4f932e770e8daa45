//! What the kernel passed to the process when it started.

use super::File;
use crate::arch::weak;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Where the main thread's stack began: the stack pointer at the process's first instruction. 0 if that is not known.
pub fn initial_stack() -> usize {
    /// Known once it was asked for; a forked child's is the same.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let variable = weak::libc_stack_end() as *const usize;
    // SAFETY: null, or glibc's variable, which its loader or start code sets before any code of the program runs.
    let start = match unsafe { variable.as_ref() } {
        Some(&start) if start != 0 => start,
        _ => from_the_kernel().unwrap_or(0),
    };
    KNOWN.store(start, Ordering::Relaxed);
    start
}

/// Field 28 of `/proc/self/stat`, `startstack`.
fn from_the_kernel() -> Option<usize> {
    stat(28).filter(|&start| start != 0)
}

/// The parent's id as `/proc` has it.
pub fn parent_id_in_proc() -> Option<u32> {
    stat(4).and_then(|id| u32::try_from(id).ok())
}

/// How many threads this process has.
pub fn thread_count() -> Option<usize> {
    stat(20)
}

/// A number in `/proc/self/stat`. The second field is the program's name in parentheses, which may hold anything, so fields are
/// counted from the last parenthesis on.
fn stat(field: usize) -> Option<usize> {
    const FIRST_AFTER_NAME: usize = 3;
    let mut buffer = [0u8; 1024];
    let len = read_whole(c"/proc/self/stat", &mut buffer)?;
    let text = buffer.get(..len)?;
    let name_ends = text.iter().rposition(|&b| b == b')')?;
    let value = text.get(name_ends + 2..)?.split(|&b| b == b' ').nth(field - FIRST_AFTER_NAME)?;
    core::str::from_utf8(value).ok()?.parse().ok()
}

/// Where the program headers of the executable are mapped.
pub fn program_headers() -> Option<usize> {
    const AT_PHDR: usize = 3;
    auxiliary(AT_PHDR)
}

/// Whether this process has more rights than its starter, so that its environment is not to be trusted (set-uid,
/// set-gid, file capabilities). Also if that cannot be found out.
pub fn is_privileged() -> bool {
    const AT_SECURE: usize = 23;
    auxiliary(AT_SECURE) != Some(0)
}

/// A value of the auxiliary vector, which the kernel passes to a process when it starts.
fn auxiliary(wanted: usize) -> Option<usize> {
    let mut buffer = [0u8; 1024];
    let len = read_whole(c"/proc/self/auxv", &mut buffer)?;
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    let entries = buffer.get(..len)?.chunks_exact(16);
    let mut pairs = entries.filter_map(|entry| Some((word(&entry[..8])?, word(&entry[8..])?)));
    pairs.find(|&(kind, _)| kind == wanted).map(|(_, value)| value)
}

/// Reads a file that fits in the buffer.
fn read_whole(path: &core::ffi::CStr, buffer: &mut [u8]) -> Option<usize> {
    let file = File::open(path).ok()?;
    let mut len = 0;
    loop {
        match file.read(buffer.get_mut(len..)?).ok()? {
            0 => return Some(len),
            n => len += n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_the_loader_agree_on_where_the_stack_began() {
        let loader = initial_stack();
        assert_eq!(from_the_kernel(), Some(loader));
    }

    #[test]
    fn proc_knows_the_parent() {
        assert_eq!(parent_id_in_proc(), Some(crate::sys::parent_id()));
    }

    #[test]
    fn a_test_has_no_rights_that_its_caller_lacks() {
        assert!(!is_privileged());
        assert_eq!(auxiliary(usize::MAX), None);
    }

    #[test]
    fn the_program_headers_follow_the_header_of_the_executable() {
        let headers = program_headers().expect("the kernel says so");
        let (start, end) = crate::sys::maps::mapping_of(headers).expect("they are mapped");
        let own = program_headers as *const () as usize;
        assert!(start <= headers && headers < end && own > start && own - start < 1 << 30);
    }
}
