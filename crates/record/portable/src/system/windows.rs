//! Windows.

use super::{MOST_NAME_BYTES, Module};
use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::ptr;
use windows_sys::Win32::Foundation::{HMODULE, LocalFree};
use windows_sys::Win32::System::Diagnostics::Debug::RtlCaptureStackBackTrace;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, GetModuleFileNameW,
    GetModuleHandleExW,
};
use windows_sys::Win32::System::ProcessStatus::{
    K32GetModuleInformation, K32GetProcessMemoryInfo, MODULEINFO, PROCESS_MEMORY_COUNTERS,
};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetCurrentThreadId, GetThreadDescription,
};

/// Walks the stack with the system's unwinder.
pub(in super::super) fn capture(frames: &mut [usize]) -> usize {
    let most = u32::try_from(frames.len()).unwrap_or(u32::MAX);
    // SAFETY: it writes at most as many addresses as there is room for.
    let len = unsafe { RtlCaptureStackBackTrace(0, most, frames.as_mut_ptr().cast(), ptr::null_mut()) };
    len.into()
}

/// Whether the environment can be trusted. It can: programs do not gain any rights by being started.
pub(in super::super) fn may_trust_environment() -> bool {
    true
}

/// Does something. There are no signals here that a thread could take from the program.
pub(in super::super) fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The system's number of this thread.
pub(in super::super) fn thread_id() -> u64 {
    // SAFETY: it has no requirement.
    unsafe { GetCurrentThreadId() }.into()
}

/// The name of this thread; its length.
pub(in super::super) fn thread_name(name: &mut [u8; MOST_NAME_BYTES]) -> usize {
    let mut text = ptr::null_mut();
    // SAFETY: the handle is that of the calling thread, and the address of the text is written to where it is.
    let result = unsafe { GetThreadDescription(GetCurrentThread(), &raw mut text) };
    if result < 0 || text.is_null() {
        return 0;
    }
    let mut len = 0;
    // SAFETY: the text ends in zero.
    while unsafe { *text.add(len) } != 0 {
        len += 1;
    }
    // SAFETY: as many units as were just counted.
    let units = unsafe { std::slice::from_raw_parts(text, len) };
    let mut at = 0;
    for character in char::decode_utf16(units.iter().copied()).map(|c| c.unwrap_or('?')) {
        let Some(room) = name.get_mut(at..at + character.len_utf8()) else { break };
        character.encode_utf8(room);
        at += character.len_utf8();
    }
    // SAFETY: the system allocated it for us to free, and it is not used any more.
    unsafe { LocalFree(text.cast()) };
    at
}

/// Bytes of a page of memory.
pub(in super::super) fn page_bytes() -> u64 {
    // On all processors that Windows runs on.
    4096
}

/// Bytes of memory that the system has.
pub(in super::super) fn memory_bytes() -> Option<u64> {
    let mut status =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the structure is ours and as large as it says.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (is_known != 0).then_some(status.ullTotalPhys)
}

/// Resident bytes of this process.
pub(in super::super) fn resident_bytes() -> Option<u64> {
    // SAFETY: a structure of integers, for which zeroes are a value.
    let mut counters: PROCESS_MEMORY_COUNTERS = unsafe { std::mem::zeroed() };
    let size = size_of_val(&counters) as u32;
    // SAFETY: the structure is ours and as large as is said.
    let is_known = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, size) };
    (is_known != 0).then_some(counters.WorkingSetSize as u64)
}

/// Not known here.
pub(in super::super) fn anonymous_bytes() -> Option<u64> {
    None
}

/// The file that holds an address.
pub(in super::super) fn module_of(address: u64) -> Option<Module> {
    let mut module: HMODULE = ptr::null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    // SAFETY: any address may be asked for instead of a name, and the answer is written to where it is.
    let is_found = unsafe { GetModuleHandleExW(flags, address as usize as *const u16, &raw mut module) };
    if is_found == 0 || module.is_null() {
        return None;
    }
    // SAFETY: a structure of pointers and integers, for which zeroes are a value.
    let mut info: MODULEINFO = unsafe { std::mem::zeroed() };
    // SAFETY: a module of this process, and a structure that is as large as is said.
    let is_known = unsafe {
        K32GetModuleInformation(GetCurrentProcess(), module, &raw mut info, size_of::<MODULEINFO>() as u32)
    };
    if is_known == 0 {
        return None;
    }
    let mut path = [0u16; 1024];
    // SAFETY: a module of this process, and a buffer that is as large as is said.
    let len = unsafe { GetModuleFileNameW(module, path.as_mut_ptr(), path.len() as u32) };
    let path = OsString::from_wide(&path[..(len as usize).min(path.len())]).to_string_lossy().into_owned();
    let start = info.lpBaseOfDll as u64;
    let end = start + u64::from(info.SizeOfImage);
    Some(Module { start, end, bias: start, build_id: String::new(), path })
}
