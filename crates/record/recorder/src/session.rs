//! Finding and mapping the collector's memory.

use crate::arch::weak;
use crate::sys::{self, Errno, File};
use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering;
use heapwise_trace::live::layout::{
    LIVE_VERSION, SESSION_HEADER_BYTES, SESSION_MAGIC, SESSION_VARIABLE, SessionHeader,
};

/// Bytes of the longest session path: `/proc/<pid>/fd/<n>` with room to spare.
const PATH_BYTES: usize = 96;

/// Where the session file is. Copied out of the environment, which the program may change.
#[derive(Debug)]
pub struct SessionPath {
    bytes: [u8; PATH_BYTES],
}

impl SessionPath {
    /// The path that the environment names; `None` if there is none, it is not of the expected form, or it may have
    /// been set with fewer rights than this process has: the memory behind it is trusted.
    pub fn from_environment() -> Option<Self> {
        let value = variable(SESSION_VARIABLE)?.to_bytes();
        if sys::is_privileged() {
            return None;
        }
        Self::new(value)
    }

    /// This path; `None` if it is not of the form `/proc/<pid>/fd/<n>`.
    pub fn new(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; PATH_BYTES];
        let mut parts = value.strip_prefix(b"/proc/")?.split(|&b| b == b'/');
        let is_number =
            |part: Option<&[u8]>| part.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
        let is_expected = is_number(parts.next())
            && parts.next() == Some(b"fd")
            && is_number(parts.next())
            && parts.next().is_none();
        if value.len() >= PATH_BYTES || !is_expected {
            return None;
        }
        bytes[..value.len()].copy_from_slice(value);
        Some(Self { bytes })
    }

    /// The path as text.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }

    /// Opens the file. Closed again after each use: a descriptor that stayed open would be visible to the program,
    /// which might close it and open something else in its place.
    pub fn open(&self) -> Result<File, Errno> {
        File::open_shared(self.as_c_str())
    }
}

/// The value of an environment variable.
pub fn variable(name: &str) -> Option<&'static CStr> {
    // SAFETY: this runs when the recorder attaches, before the program could be changing its environment on another thread.
    unsafe { variable_in(first_environment(), name) }
}

/// This process's environment; null if it is not known.
pub fn own_environment() -> *const *const c_char {
    let variable = weak::environ() as *const *const *const c_char;
    if variable.is_null() {
        return core::ptr::null();
    }
    // SAFETY: the C library's variable of that name, which has this type. It is read as the library does.
    unsafe { variable.read_volatile() }
}

/// The environment that the process was started with, if it has not been given another one. Functions of the executable may run
/// before libc has noted where that is (`.preinit_array`): then it is where the kernel has put it, behind the arguments.
fn first_environment() -> *const *const c_char {
    let noted = own_environment();
    let start = sys::initial_stack() as *const *const c_char;
    if !noted.is_null() || start.is_null() {
        return noted;
    }
    // SAFETY: a process's stack begins with the number of its arguments, their addresses, a null pointer, the addresses of its
    // environment and another one.
    unsafe { start.add(1 + start.cast::<usize>().read() + 1) }
}

/// The value of a variable in an environment; `None` also without one.
///
/// # Safety
/// It is null or a null-terminated array of strings. They do not change during the call, nor the value for as long as
/// it is used.
pub unsafe fn variable_in(environment: *const *const c_char, name: &str) -> Option<&'static CStr> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut entry = environment;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry);
            if let Some(rest) = text.to_bytes_with_nul().strip_prefix(name.as_bytes())
                && let Some(value) = rest.strip_prefix(b"=")
            {
                return CStr::from_bytes_until_nul(value).ok();
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Why a session could not be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file could not be opened or mapped.
    System(Errno),
    /// Not a session, or one of another version.
    Foreign,
}

/// Maps the session's header, for the rest of the process's life.
pub fn map(file: &File) -> Result<&'static SessionHeader, Refusal> {
    let at = file.map_shared(0, SESSION_HEADER_BYTES as usize).map_err(Refusal::System)?;
    // SAFETY: the mapping is page-aligned, larger than the header (asserted in the layout), never unmapped, and all
    // fields are atomics, for which any bytes are valid and which may be shared.
    let header = unsafe { &*at.cast::<SessionHeader>() };
    if is_ours(header) { Ok(header) } else { Err(Refusal::Foreign) }
}

/// Whether a header is that of a session of this version.
pub fn is_ours(header: &SessionHeader) -> bool {
    header.magic.load(Ordering::Acquire) == SESSION_MAGIC
        && header.version.load(Ordering::Relaxed) == LIVE_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_descriptor_of_a_process_is_a_session() {
        assert!(SessionPath::new(b"/proc/4711/fd/7").is_some());
        for other in [
            &b"/proc/self/fd/7"[..],
            b"/proc/../tmp/x",
            b"/proc/1/fd/7/..",
            b"/proc/1/fd/",
            b"/tmp/1/fd/7",
            b"",
        ] {
            assert!(SessionPath::new(other).is_none(), "{}", String::from_utf8_lossy(other));
        }
    }
}
