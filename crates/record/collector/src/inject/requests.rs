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
/// Asks for a thread's filters of system calls (Linux 4.4).
const PTRACE_SECCOMP_GET_FILTER: libc::c_uint = 0x420c;
/// Asks where a thread's restartable sequences are (Linux 5.13).
const PTRACE_GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Leaves a thread stopped that the user has stopped, until that changes.
pub(super) fn listen(thread: Pid) {
    // SAFETY: the request has no arguments, and changes nothing of ours.
    let _ = unsafe { libc::ptrace(libc::PTRACE_LISTEN, thread.as_raw(), 0, 0) };
}

/// The registers for numbers and vectors.
pub(super) fn vectors(thread: Pid) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; MOST_VECTORS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: the kernel writes at most as many bytes as there are, and says how many.
    check(unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread.as_raw(), NT_X86_XSTATE, &raw mut part) })?;
    bytes.truncate(part.iov_len);
    Ok(bytes)
}

/// Sets them.
pub(super) fn set_vectors(thread: Pid, bytes: &[u8]) -> io::Result<()> {
    let mut bytes = bytes.to_vec();
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: the kernel reads that many bytes.
    check(unsafe { libc::ptrace(libc::PTRACE_SETREGSET, thread.as_raw(), NT_X86_XSTATE, &raw mut part) })
        .map(drop)
}

/// Which signals a thread holds back.
pub(super) fn mask(thread: Pid) -> io::Result<u64> {
    let mut mask = 0u64;
    // SAFETY: the kernel writes that many bytes.
    check(unsafe { libc::ptrace(libc::PTRACE_GETSIGMASK, thread.as_raw(), MASK_BYTES, &raw mut mask) })?;
    Ok(mask)
}

/// Sets them.
pub(super) fn set_mask(thread: Pid, mask: u64) -> io::Result<()> {
    // SAFETY: the kernel reads that many bytes.
    check(unsafe { libc::ptrace(libc::PTRACE_SETSIGMASK, thread.as_raw(), MASK_BYTES, &raw const mask) })
        .map(drop)
}

/// Where a thread's structure of restartable sequences is; `None` if it has none, or the kernel does not say.
pub(super) fn restartable(thread: Pid) -> Option<u64> {
    let mut configuration = [0u64; 3];
    let size = size_of_val(&configuration);
    // SAFETY: the kernel writes at most that many bytes.
    let answer = check(unsafe {
        libc::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread.as_raw(), size, configuration.as_mut_ptr())
    });
    answer.ok().map(|_| configuration[0]).filter(|&at| at != 0)
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
    let none = std::ptr::null_mut::<FilterStep>();
    // SAFETY: without a place to write to, the kernel only says how many instructions there are.
    let count = unsafe { libc::ptrace(PTRACE_SECCOMP_GET_FILTER, thread.as_raw(), place, none) };
    let count = match check(count) {
        Ok(count) => usize::try_from(count).unwrap_or_default(),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut steps = vec![FilterStep::default(); count];
    // SAFETY: the kernel writes as many instructions as it has said.
    check(unsafe { libc::ptrace(PTRACE_SECCOMP_GET_FILTER, thread.as_raw(), place, steps.as_mut_ptr()) })?;
    Ok(Some(steps))
}
