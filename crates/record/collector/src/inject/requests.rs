//! Requests of `ptrace` that have no function elsewhere.

#![expect(unsafe_code, reason = "requests that have no function elsewhere")]

use nix::unistd::Pid;
use std::io;

/// The set of registers that signals save: those for numbers and vectors, in the form of the instruction `xsave`.
const NT_X86_XSTATE: usize = 0x202;
/// Bytes of the largest one that processors have.
const MOST_VECTORS: usize = 16 << 10;
/// Bytes of a set of signals.
const MASK_BYTES: usize = 8;
/// Which signals a thread holds back (Linux 3.11).
const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;
/// Asks for a thread's filters of system calls (Linux 4.4).
const PTRACE_SECCOMP_GET_FILTER: libc::c_uint = 0x420c;
/// Asks where a thread's restartable sequences are (Linux 5.13).
const PTRACE_GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;

/// Makes a request. C libraries differ in the type of its number, so this is the system call, which takes words.
///
/// # Safety
/// `data` is what the request takes there: nothing, or memory that the kernel may read or write.
unsafe fn request<T>(
    number: libc::c_uint,
    thread: Pid,
    address: usize,
    data: *const T,
) -> io::Result<libc::c_long> {
    // SAFETY: the caller's promise; of our own memory the kernel looks at what `data` points to alone.
    let result = unsafe { libc::syscall(libc::SYS_ptrace, number as usize, thread.as_raw(), address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What a traced thread has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Come {
    /// Nothing new.
    On,
    /// It has stopped at a signal that it is about to get, which may be any, or at something else (0).
    Stopped(i32),
    /// It has ended, or is none that we trace.
    Gone,
}

/// Looks what a traced thread has come to. An end is taken note of, so that its parent hears of it.
pub(super) fn look(thread: Pid) -> Come {
    let mut status = 0;
    // SAFETY: the kernel writes an integer.
    let result = unsafe { libc::waitpid(thread.as_raw(), &raw mut status, libc::__WALL | libc::WNOHANG) };
    match result {
        0 => Come::On,
        -1 => Come::Gone,
        _ if libc::WIFSTOPPED(status) && status >> 16 == 0 && libc::WSTOPSIG(status) & 0x80 == 0 => {
            Come::Stopped(libc::WSTOPSIG(status))
        }
        _ if libc::WIFSTOPPED(status) => Come::Stopped(0),
        _ => Come::Gone,
    }
}

/// Lets a stopped thread go, with any signal; nothing happens if it was killed meanwhile.
pub(super) fn detach(thread: Pid, signal: i32) {
    let signal = std::ptr::without_provenance::<u8>(signal as usize);
    // SAFETY: the last argument is a number.
    let _ = unsafe { request(libc::PTRACE_DETACH as libc::c_uint, thread, 0, signal) };
}

/// Whether two processes have the same memory: one was made by `vfork`, and has executed nothing yet.
pub(super) fn share_memory(a: u32, b: u32) -> bool {
    const KCMP_VM: usize = 1;
    // SAFETY: integer arguments.
    unsafe { libc::syscall(libc::SYS_kcmp, a as usize, b as usize, KCMP_VM, 0, 0) == 0 }
}

/// Leaves a thread stopped that the user has stopped, until that changes.
pub(super) fn listen(thread: Pid) {
    // SAFETY: the request has no arguments.
    let _ = unsafe { request(libc::PTRACE_LISTEN as libc::c_uint, thread, 0, std::ptr::null::<u8>()) };
}

/// The registers for numbers and vectors.
pub(super) fn vectors(thread: Pid) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; MOST_VECTORS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let number = libc::PTRACE_GETREGSET as libc::c_uint;
    // SAFETY: the kernel writes at most as many bytes as there are, and says how many.
    unsafe { request(number, thread, NT_X86_XSTATE, &raw mut part) }?;
    bytes.truncate(part.iov_len);
    Ok(bytes)
}

/// Sets them.
pub(super) fn set_vectors(thread: Pid, bytes: &[u8]) -> io::Result<()> {
    let mut bytes = bytes.to_vec();
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let number = libc::PTRACE_SETREGSET as libc::c_uint;
    // SAFETY: the kernel reads that many bytes.
    unsafe { request(number, thread, NT_X86_XSTATE, &raw mut part) }.map(drop)
}

/// Which signals a thread holds back.
pub(super) fn mask(thread: Pid) -> io::Result<u64> {
    let mut mask = 0u64;
    // SAFETY: the kernel writes that many bytes.
    unsafe { request(PTRACE_GETSIGMASK, thread, MASK_BYTES, &raw mut mask) }?;
    Ok(mask)
}

/// Sets them.
pub(super) fn set_mask(thread: Pid, mask: u64) -> io::Result<()> {
    // SAFETY: the kernel reads that many bytes.
    unsafe { request(PTRACE_SETSIGMASK, thread, MASK_BYTES, &raw const mask) }.map(drop)
}

/// Where a thread's structure of restartable sequences is; `None` if it has none, or the kernel does not say.
pub(super) fn restartable(thread: Pid) -> Option<u64> {
    let mut configuration = [0u64; 3];
    let size = size_of_val(&configuration);
    // SAFETY: the kernel writes at most that many bytes.
    unsafe { request(PTRACE_GET_RSEQ_CONFIGURATION, thread, size, configuration.as_mut_ptr()) }.ok()?;
    Some(configuration[0]).filter(|&at| at != 0)
}

/// One instruction of a filter of system calls: `struct sock_filter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct FilterStep {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) value: u32,
}

/// A thread's filter at a place, the newest first; `None` behind the last one.
pub(super) fn filter(thread: Pid, place: usize) -> io::Result<Option<Vec<FilterStep>>> {
    let none = std::ptr::null::<FilterStep>();
    // SAFETY: without a place to write to, the kernel only says how many instructions there are.
    let count = match unsafe { request(PTRACE_SECCOMP_GET_FILTER, thread, place, none) } {
        Ok(count) => usize::try_from(count).unwrap_or_default(),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut steps = vec![FilterStep::default(); count];
    // SAFETY: the kernel writes as many instructions as it has said: a filter never changes.
    unsafe { request(PTRACE_SECCOMP_GET_FILTER, thread, place, steps.as_mut_ptr()) }?;
    Ok(Some(steps))
}
