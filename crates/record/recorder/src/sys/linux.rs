//! Linux: raw system calls. None of them touches `errno`, and none is made in a thread that would be killed for it.

use crate::arch::syscall::{number, syscall6};
use crate::arch::tls;
use crate::owned_memory;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;

/// A kernel error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

pub use crate::arch::syscall::number::{PRCTL, SECCOMP};

/// Not permitted: returned for calls that are not made because the kernel would kill the thread.
pub const EPERM: Errno = Errno(1);
/// A signal came first.
const EINTR: Errno = Errno(4);

/// No such process.
pub const ESRCH: Errno = Errno(3);

/// No such file.
pub const ENOENT: Errno = Errno(2);
/// No such function.
pub const ENOSYS: Errno = Errno(38);

/// Bytes of a page.
pub const PAGE: usize = 4096;

const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;
const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
const O_RDWR_CLOEXEC: usize = 0o2 | 0o2000000;
const O_RDONLY_CLOEXEC: usize = 0o2000000;
const O_NONBLOCK: usize = 0o4000;
const MADV_WIPEONFORK: usize = 18;
const MREMAP_MAYMOVE: usize = 1;
const PR_GET_NAME: usize = 16;
const PR_GET_TSC: usize = 25;
const PR_SET_PTRACER: usize = 0x5961_6d61;
const PR_TSC_SIGSEGV: u32 = 2;
const RLIMIT_AS: usize = 9;

/// `struct stat` of the kernel, in units of 32 bits: 144 bytes, with the mode at 24, user and group at 28 and 32.
const STAT_UNITS: usize = 36;

fn check(result: isize) -> Result<usize, Errno> {
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// # Safety
/// As [`syscall6`].
unsafe fn call(number: usize, a: [usize; 6]) -> Result<usize, Errno> {
    if tls::is_strict() {
        return Err(EPERM);
    }
    // SAFETY: handed on to the caller.
    check(unsafe { syscall6(number, a) })
}

/// A file descriptor that is closed when it goes.
#[derive(Debug)]
pub struct File(usize);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone; a failure leaves nothing to do.
        let _ = unsafe { call(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

impl File {
    /// Opens a file for reading and writing.
    pub fn open_shared(path: &core::ffi::CStr) -> Result<Self, Errno> {
        // SAFETY: the path ends with a zero byte.
        unsafe { call(number::OPEN, [path.as_ptr() as usize, O_RDWR_CLOEXEC, 0, 0, 0, 0]) }.map(File)
    }

    /// Opens a file for reading.
    pub fn open(path: &core::ffi::CStr) -> Result<Self, Errno> {
        // SAFETY: the path ends with a zero byte.
        unsafe { call(number::OPEN, [path.as_ptr() as usize, O_RDONLY_CLOEXEC, 0, 0, 0, 0]) }.map(File)
    }

    /// Opens a program for reading. `None` also for what is none: something other than a file, or a file that may not be
    /// executed. Does not wait, whatever it is.
    pub fn open_program(path: &core::ffi::CStr) -> Option<Self> {
        const IS_FILE: u32 = 0o100000;
        const KINDS: u32 = 0o170000;
        const MAY_BE_EXECUTED: u32 = 0o111;
        let flags = O_RDONLY_CLOEXEC | O_NONBLOCK;
        // SAFETY: the path ends with a zero byte.
        let file =
            unsafe { call(number::OPEN, [path.as_ptr() as usize, flags, 0, 0, 0, 0]) }.map(File).ok()?;
        let mut facts = [0u32; STAT_UNITS];
        // SAFETY: the kernel writes as many bytes as there are.
        unsafe { call(number::FSTAT, [file.0, facts.as_mut_ptr() as usize, 0, 0, 0, 0]) }.ok()?;
        let mode = facts[6];
        (mode & KINDS == IS_FILE && mode & MAY_BE_EXECUTED != 0).then_some(file)
    }

    /// Whether it is a program that gains rights by being executed: another user's or group's, or capabilities.
    pub fn gains_rights(&self) -> bool {
        const OTHER_USER_OR_GROUP: u32 = 0o6000;
        let mut facts = [0u32; STAT_UNITS];
        let name = c"security.capability";
        // SAFETY: the kernel writes as many bytes as there are to the first buffer, and none to the other one; the name ends with a
        // zero byte.
        let (is_known, capabilities) = unsafe {
            (
                call(number::FSTAT, [self.0, facts.as_mut_ptr() as usize, 0, 0, 0, 0]).is_ok(),
                call(number::FGETXATTR, [self.0, name.as_ptr() as usize, 0, 0, 0, 0]),
            )
        };
        !is_known || facts[6] & OTHER_USER_OR_GROUP != 0 || capabilities.is_ok()
    }

    /// Reads up to a buffer's length.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the kernel writes at most `len` bytes to the buffer, which is exclusively borrowed.
        unsafe { call(number::READ, [self.0, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
    }

    /// Maps a part of the file, shared with all processes that map it.
    pub fn map_shared(&self, offset: u64, len: usize) -> Result<*mut u8, Errno> {
        let flags = MAP_SHARED | MAP_NORESERVE;
        // SAFETY: the kernel chooses free addresses, so nothing that exists is replaced.
        let at = unsafe { call(number::MMAP, [0, len, PROT_READ_WRITE, flags, self.0, offset as usize]) }?;
        owned_memory::note(at as *mut u8, len);
        Ok(at as *mut u8)
    }
}

/// The system call, for the interposed function.
///
/// # Safety
/// As the C function.
pub unsafe fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> Result<*mut u8, Errno> {
    let arguments = [at as usize, len, protection as usize, flags as usize, file as usize, offset as usize];
    // SAFETY: the caller's call. It is the program's, so it is made even if the program is killed for it.
    check(unsafe { syscall6(number::MMAP, arguments) }).map(|at| at as *mut u8)
}

/// Sets the C library's `errno` of this thread.
pub fn set_errno(error: Errno) {
    unsafe extern "C" {
        fn __errno_location() -> *mut c_int;
    }
    // SAFETY: the function returns this thread's own variable.
    unsafe { *__errno_location() = error.0 };
}

/// Which signals a thread had held back.
pub type Signals = u64;

/// Signals that say that an instruction has failed. Held back they would end the process.
const FAULTS: Signals = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30;

/// Holds back what can be held back of this thread's signals. Returns those that were before.
pub fn hold_signals() -> Signals {
    let (wanted, mut before): (Signals, Signals) = (!FAULTS, 0);
    let (wanted, to) = (&raw const wanted as usize, &raw mut before as usize);
    const SIG_BLOCK: usize = 0;
    // SAFETY: the kernel reads one word and writes the other. Should it refuse, nothing is held back or released.
    let held = unsafe { call(number::RT_SIGPROCMASK, [SIG_BLOCK, wanted, to, size_of::<Signals>(), 0, 0]) };
    if held.is_ok() { before } else { !FAULTS }
}

/// Holds back only these signals of this thread.
pub fn release_signals(before: Signals) {
    if before == !FAULTS {
        return;
    }
    const SIG_SETMASK: usize = 2;
    let from = &raw const before as usize;
    // SAFETY: the kernel reads one word.
    let _ = unsafe { call(number::RT_SIGPROCMASK, [SIG_SETMASK, from, 0, size_of::<Signals>(), 0, 0]) };
}

/// The stack that this thread has for its signal handlers: first address and first address behind.
pub fn alternate_stack() -> Option<(usize, usize)> {
    const SS_DISABLE: usize = 2;
    let mut stack = [0usize; 3];
    // SAFETY: the kernel writes three words: address, flags in the low half of one, size.
    unsafe { call(number::SIGALTSTACK, [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0]) }.ok()?;
    let [start, flags, size] = stack;
    (flags & SS_DISABLE == 0).then(|| (start, start.saturating_add(size)))
}

/// Maps fresh zeroed private memory.
pub fn map_private(len: usize) -> Result<*mut u8, Errno> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: the kernel chooses free addresses, so nothing that exists is replaced.
    let at = unsafe { call(number::MMAP, [0, len, PROT_READ_WRITE, flags, usize::MAX, 0]) }?;
    owned_memory::note(at as *mut u8, len);
    Ok(at as *mut u8)
}

/// Maps memory once more that is shared with others, `len` bytes from this page on. They may reach beyond what is mapped there,
/// but not beyond the file.
///
/// # Safety
/// `page` lies in a mapping that [`File::map_shared`] or this function made.
pub unsafe fn map_shared_again(page: *mut u8, len: usize) -> Result<*mut u8, Errno> {
    // SAFETY: an old size of 0 keeps the old mapping, and the kernel chooses free addresses for the new one.
    let at = unsafe { call(number::MREMAP, [page as usize, 0, len, MREMAP_MAYMOVE, 0, 0]) }?;
    owned_memory::note(at as *mut u8, len);
    Ok(at as *mut u8)
}

/// Maps `len` bytes of the file whose beginning is mapped at `start`, from an offset on. For a moment all that comes before is mapped,
/// too.
///
/// # Safety
/// As [`map_shared_again`]; `offset` is a multiple of a page.
pub unsafe fn map_shared_further(start: *mut u8, offset: usize, len: usize) -> Result<*mut u8, Errno> {
    let whole = offset.checked_add(len).ok_or(ENOENT)?;
    // SAFETY: as above.
    let at = unsafe { call(number::MREMAP, [start as usize, 0, whole, MREMAP_MAYMOVE, 0, 0]) }?;
    // SAFETY: just mapped, and nothing knows of it.
    let _ = unsafe { call(number::MUNMAP, [at, offset, 0, 0, 0, 0]) };
    owned_memory::note((at + offset) as *mut u8, len);
    Ok((at + offset) as *mut u8)
}

/// Maps fresh zeroed private memory at exactly these free addresses; `None` if they are not free.
pub fn map_private_at(at: usize, len: usize) -> Option<*mut u8> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    // SAFETY: what is mapped there is not replaced. Before Linux 4.17 the address is a hint, and the kernel chooses free ones.
    let got = unsafe { call(number::MMAP, [at, len, PROT_READ_WRITE, flags, usize::MAX, 0]) }.ok()?;
    if got != at {
        // SAFETY: just mapped, and nothing knows of it.
        unsafe { unmap(got as *mut u8, len) };
        return None;
    }
    owned_memory::note(got as *mut u8, len);
    Some(got as *mut u8)
}

/// What may be done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Write,
    Execute,
    WriteAndExecute,
}

/// Changes what may be done with whole pages; reading always may be.
///
/// # Safety
/// Nothing relies on what could be done with them before.
pub unsafe fn protect(at: usize, len: usize, access: Access) -> Result<(), Errno> {
    let protection = match access {
        Access::Write => 3,
        Access::Execute => 5,
        Access::WriteAndExecute => 7,
    };
    // SAFETY: the caller's promise.
    unsafe { call(number::MPROTECT, [at, len, protection, 0, 0, 0]) }.map(drop)
}

/// How much address space this process may have; `None` if that is not limited.
pub fn address_space_limit() -> Option<usize> {
    let mut limits = [usize::MAX; 2];
    // SAFETY: the kernel writes the two limits to an array of two words.
    let asked = unsafe { call(number::PRLIMIT64, [0, RLIMIT_AS, 0, limits.as_mut_ptr() as usize, 0, 0]) };
    asked.ok().map(|_| limits[0]).filter(|&limit| limit != usize::MAX)
}

/// Lets a process and what it has started trace this one, where the system asks for more than the same user (Yama).
pub fn allow_tracing_by(pid: u32) {
    // SAFETY: integer arguments.
    let _ = unsafe { call(number::PRCTL, [PR_SET_PTRACER, pid as usize, 0, 0, 0, 0]) };
}

/// Whether reading the processor's clock ends this process.
pub fn is_clock_forbidden() -> bool {
    let mut mode = 0u32;
    // SAFETY: the kernel writes the mode to the integer.
    let asked = unsafe { call(number::PRCTL, [PR_GET_TSC, &raw mut mode as usize, 0, 0, 0, 0]) };
    asked.is_ok() && mode == PR_TSC_SIGSEGV
}

/// Unmaps what one of the functions above returned.
///
/// # Safety
/// Nothing may use the range any more.
pub unsafe fn unmap(at: *mut u8, len: usize) {
    owned_memory::forget(at);
    // SAFETY: the caller gives the range up.
    let _ = unsafe { call(number::MUNMAP, [at as usize, len, 0, 0, 0, 0]) };
}

/// Asks the kernel to hand a forked child zeroes for these whole pages of private anonymous memory.
pub fn wipe_on_fork(at: *mut u8, len: usize) -> Result<(), Errno> {
    // SAFETY: changes nothing for this process.
    unsafe { call(number::MADVISE, [at as usize, len, MADV_WIPEONFORK, 0, 0, 0]) }.map(drop)
}

/// Counts the resident pages among those that a range touches, at most 16 Mi of them.
pub fn resident_pages(at: usize, len: usize) -> Option<u32> {
    const AT_ONCE: usize = 1024;
    let first = at & !(PAGE - 1);
    let pages = (at + len - first).div_ceil(PAGE);
    if pages > 16 << 20 {
        return None;
    }
    let mut resident = 0;
    let mut states = [0u8; AT_ONCE];
    for start in (0..pages).step_by(AT_ONCE) {
        let n = AT_ONCE.min(pages - start);
        let from = first + start * PAGE;
        // SAFETY: the kernel writes one byte per page, `n` of at most `AT_ONCE`.
        unsafe { call(number::MINCORE, [from, n * PAGE, states.as_mut_ptr() as usize, 0, 0, 0]) }.ok()?;
        resident += states[..n].iter().map(|s| u32::from(s & 1)).sum::<u32>();
    }
    Some(resident)
}

/// Reads a word that may not be mapped.
pub fn read_word_checked(at: usize) -> Option<usize> {
    if tls::is_strict() { None } else { read_word_always(at) }
}

/// The same, asked as [`own_thread_id`] is.
pub fn read_word_always(at: usize) -> Option<usize> {
    let mut word = 0usize;
    let local = [&raw mut word as usize, size_of::<usize>()];
    let remote = [at, size_of::<usize>()];
    let (local, remote) = (&raw const local as usize, &raw const remote as usize);
    // SAFETY: no arguments.
    let process = unsafe { syscall6(number::GETPID, [0; 6]) } as usize;
    // SAFETY: the kernel writes eight bytes to `word` if it can read them, and fails otherwise.
    let got = check(unsafe { syscall6(number::PROCESS_VM_READV, [process, local, 1, remote, 1, 0]) });
    (got == Ok(size_of::<usize>())).then_some(word)
}

/// Overwrites memory that may not be writable. Returns whether it was.
pub fn write_checked(at: usize, bytes: &[u8]) -> bool {
    let local = [bytes.as_ptr() as usize, bytes.len()];
    let remote = [at, bytes.len()];
    let (local, remote) = (&raw const local as usize, &raw const remote as usize);
    // SAFETY: the kernel reads our bytes and writes as many to where the caller wants them, or fails.
    let written = unsafe { call(number::PROCESS_VM_WRITEV, [process_id() as usize, local, 1, remote, 1, 0]) };
    written == Ok(bytes.len())
}

/// Sleeps until the word is woken, differs from `expected`, or the time is up. Returns whether a signal came first.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: u64) -> bool {
    let timeout = [(timeout_ns / 1_000_000_000) as usize, (timeout_ns % 1_000_000_000) as usize];
    let at = word.as_ptr() as usize;
    // SAFETY: both pointers are valid for the call.
    let outcome = unsafe { call(number::FUTEX, [at, 0, expected as usize, timeout.as_ptr() as usize, 0, 0]) };
    outcome == Err(EINTR)
}

/// Wakes one sleeper.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the pointer is valid for the call.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as usize, 1, 1, 0, 0, 0]) };
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: no arguments.
    let _ = unsafe { call(number::SCHED_YIELD, [0; 6]) };
}

/// This process's id.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0) as u32
}

/// This process's id as `/proc` has it: in the pid namespace for which `/proc` was mounted, which may be another one
/// than ours.
pub fn id_in_proc() -> Option<u32> {
    let mut link = [0; 16];
    let len = read_link(c"/proc/self", &mut link).ok()?;
    decimal(link.get(..len)?)
}

/// This thread's id as `/proc` has it.
pub fn thread_id_in_proc() -> Option<u32> {
    let mut link = [0; 40];
    let len = read_link(c"/proc/thread-self", &mut link).ok()?;
    decimal(link.get(..len)?.rsplit(|&b| b == b'/').next()?)
}

fn decimal(digits: &[u8]) -> Option<u32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// The parent's process id.
pub fn parent_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPPID, [0; 6]) }.unwrap_or(0) as u32
}

/// This thread's kernel id.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// The same, for what finds the words of a thread: it is asked also where a thread makes no system calls, which can only be known when
/// they are found.
pub fn own_thread_id() -> u32 {
    // SAFETY: no arguments.
    check(unsafe { syscall6(number::GETTID, [0; 6]) }).unwrap_or(0) as u32
}

/// Whether a thread of this process is known to be gone. Asked as [`own_thread_id`] is.
pub fn is_thread_gone(thread: u32) -> bool {
    // SAFETY: no arguments.
    let process = check(unsafe { syscall6(number::GETPID, [0; 6]) }).unwrap_or(0);
    // SAFETY: signal 0 only checks.
    let result = check(unsafe { syscall6(number::TGKILL, [process, thread as usize, 0, 0, 0, 0]) });
    result == Err(ESRCH)
}

/// This thread's name, zero-padded.
pub fn thread_name() -> [u64; 2] {
    let mut name = [0u64; 2];
    // SAFETY: the kernel writes at most 16 bytes with a zero at the end.
    let _ = unsafe { call(number::PRCTL, [PR_GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    name
}

/// Whether a process is known to be gone.
pub fn is_gone(pid: u32) -> bool {
    // SAFETY: signal 0 only checks.
    let result = unsafe { call(number::KILL, [pid as usize, 0, 0, 0, 0, 0]) };
    result == Err(ESRCH)
}

/// Follows a symbolic link into a buffer; returns the length.
pub fn read_link(path: &core::ffi::CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    let (at, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most `len` bytes to the exclusively borrowed buffer.
    unsafe { call(number::READLINK, [path.as_ptr() as usize, at, len, 0, 0, 0]) }
}

/// The effective user and group of this thread.
pub fn user_and_group() -> (u32, u32) {
    // SAFETY: no arguments.
    let ask = |which| unsafe { call(which, [0; 6]) }.unwrap_or(0) as u32;
    (ask(number::GETEUID), ask(number::GETEGID))
}

/// The user and group that own a file, which may be a symbolic link.
pub fn owner(path: &core::ffi::CStr) -> Option<(u32, u32)> {
    let mut facts = [0u32; STAT_UNITS];
    // SAFETY: the path ends with a zero byte; the kernel writes as many bytes as there are.
    unsafe { call(number::LSTAT, [path.as_ptr() as usize, facts.as_mut_ptr() as usize, 0, 0, 0, 0]) }.ok()?;
    Some((facts[7], facts[8]))
}

/// Writes a line to standard error, if it can.
pub fn complain(text: &str) {
    // SAFETY: the kernel reads the text.
    let _ = unsafe { call(number::WRITE, [2, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
}

/// Ends the process at once. For broken invariants only.
pub fn exit_now(code: usize) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { syscall6(number::EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::maps::mapping_of;

    #[test]
    fn the_mapping_of_a_local_variable_holds_it() {
        let local = 0u8;
        let at = &raw const local as usize;
        let (start, end) = mapping_of(at).expect("the stack is mapped");
        assert!(start <= at && at < end);
        assert_eq!(mapping_of(0), None);
    }

    #[test]
    fn proc_knows_this_process_and_thread_by_their_ids() {
        assert_eq!(id_in_proc(), Some(process_id()));
        assert_eq!(thread_id_in_proc(), Some(thread_id()));
        assert_ne!(thread_id(), process_id(), "a test has its own thread");
    }

    #[test]
    fn what_this_process_is_belongs_to_its_user() {
        assert_eq!(owner(c"/proc/self/exe"), Some(user_and_group()));
        assert_eq!(owner(c"/proc"), Some((0, 0)));
        assert_eq!(owner(c"/no such file"), None);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let mut word = *b"before";
        assert!(write_checked(&raw mut word as usize, b"after!"));
        assert_eq!(std::hint::black_box(word), *b"after!");
        assert!(!write_checked(8, b"x"));
        assert!(!write_checked("in the executable".as_ptr() as usize, b"x"));
    }

    #[test]
    fn an_unmapped_word_is_refused() {
        let word = 77usize;
        assert_eq!(read_word_checked(&raw const word as usize), Some(77));
        assert_eq!(read_word_checked(8), None);
    }

    #[test]
    fn signals_that_were_held_back_are_released() {
        let mask = || {
            let before = hold_signals();
            release_signals(before);
            before
        };
        let before = mask();
        let outer = hold_signals();
        assert_eq!(outer, before);
        assert_eq!(mask() | FAULTS, !(1 << 8 | 1 << 18) | FAULTS, "all but SIGKILL and SIGSTOP");
        release_signals(outer);
        assert_eq!(mask(), before);
    }

    #[test]
    fn touched_pages_of_fresh_memory_are_counted() {
        let at = map_private(64 * PAGE).expect("memory is there");
        assert_eq!(resident_pages(at as usize, 64 * PAGE), Some(0));
        for page in 0..10 {
            // SAFETY: within the mapping made above, which nothing else uses.
            unsafe { at.add(page * PAGE).write_volatile(1) };
        }
        assert_eq!(resident_pages(at as usize + 16, 64 * PAGE - 16), Some(10));
    }
}
