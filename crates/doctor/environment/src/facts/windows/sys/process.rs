//! A process that is looked at: this one, or another.
//!
//! The own process is read in the same way as another one. A wrong address is then an answer that is not given, and not a
//! crash of another program.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessBasicInformation};
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, HMODULE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::ProcessStatus::{
    K32EnumProcessModulesEx, K32GetModuleFileNameExW, K32GetProcessMemoryInfo, LIST_MODULES_ALL,
    PROCESS_MEMORY_COUNTERS,
};
use windows_sys::Win32::System::Threading::{
    IsWow64Process, OpenProcess, PROCESS_BASIC_INFORMATION, PROCESS_QUERY_INFORMATION, PROCESS_VM_READ,
    QueryFullProcessImageNameW,
};

/// More characters than a path can have.
const LONGEST_PATH: usize = 32_768;
/// More libraries than processes have.
const MOST_MODULES: usize = 4096;

/// A process that may be read.
pub(crate) struct Process(OwnedHandle);

impl Process {
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: integer arguments.
        let handle = unsafe { OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, 0, pid) };
        if handle.is_null() {
            let error = io::Error::last_os_error();
            // Windows reports with this error that there is no such process.
            let is_nobody = error.raw_os_error() == Some(ERROR_INVALID_PARAMETER as i32);
            return Err(if is_nobody { io::ErrorKind::NotFound.into() } else { error });
        }
        // SAFETY: the handle is open, and has no other owner.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    /// Whether it is a process of the kind whose layout is known, as this one then is.
    pub(crate) fn has_64_bits(&self) -> bool {
        let mut emulated = 0;
        // SAFETY: the handle is open, and the answer is written to a place of ours.
        let asked = unsafe { IsWow64Process(self.0.as_raw_handle(), &mut emulated) };
        cfg!(target_arch = "x86_64") && asked != 0 && emulated == 0
    }

    /// The address of its process environment block.
    pub(crate) fn peb(&self) -> Option<u64> {
        use std::os::windows::io::AsHandle;
        peb_of(self.0.as_handle())
    }

    /// Bytes of its memory, all or none.
    pub(crate) fn read(&self, at: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0_u8; size];
        let mut read = 0;
        // SAFETY: the size is that of the buffer; the address is the other process's and need not be good.
        let result = unsafe {
            ReadProcessMemory(
                self.0.as_raw_handle(),
                std::ptr::without_provenance(at as usize),
                bytes.as_mut_ptr().cast(),
                size,
                &mut read,
            )
        };
        (result != 0 && read == size).then_some(bytes)
    }

    /// The path of its program.
    pub(crate) fn image(&self) -> Option<PathBuf> {
        let mut path = vec![0_u16; LONGEST_PATH];
        let mut length = path.len() as u32;
        // SAFETY: the length is that of the buffer.
        let result =
            unsafe { QueryFullProcessImageNameW(self.0.as_raw_handle(), 0, path.as_mut_ptr(), &mut length) };
        (result != 0).then(|| OsString::from_wide(&path[..length as usize]).into())
    }

    /// The paths of what is loaded into it. None of a process that has hardly begun.
    pub(crate) fn modules(&self) -> Vec<PathBuf> {
        let mut modules: Vec<HMODULE> = vec![std::ptr::null_mut(); MOST_MODULES];
        let mut bytes = 0;
        // SAFETY: the size is that of the buffer in bytes.
        let result = unsafe {
            K32EnumProcessModulesEx(
                self.0.as_raw_handle(),
                modules.as_mut_ptr(),
                size_of_val(modules.as_slice()) as u32,
                &mut bytes,
                LIST_MODULES_ALL,
            )
        };
        modules.truncate(if result == 0 { 0 } else { bytes as usize / size_of::<HMODULE>() });
        modules.into_iter().filter_map(|module| self.module(module)).collect()
    }

    fn module(&self, module: HMODULE) -> Option<PathBuf> {
        let mut path = [0_u16; 1024];
        // SAFETY: the length is that of the buffer; a module that was unloaded meanwhile is an error and nothing worse.
        let length = unsafe {
            K32GetModuleFileNameExW(self.0.as_raw_handle(), module, path.as_mut_ptr(), path.len() as u32)
        };
        (length > 0).then(|| OsString::from_wide(&path[..length as usize]).into())
    }

    /// Bytes of it in memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
        let mut counters = PROCESS_MEMORY_COUNTERS { cb: size, ..Default::default() };
        // SAFETY: the size is that of the structure.
        let result = unsafe { K32GetProcessMemoryInfo(self.0.as_raw_handle(), &mut counters, size) };
        if result == 0 { 0 } else { counters.WorkingSetSize as u64 }
    }
}

/// The address of the process environment block of a process.
pub fn peb_of(process: BorrowedHandle<'_>) -> Option<u64> {
    let mut basic = PROCESS_BASIC_INFORMATION::default();
    // SAFETY: the structure is the one that goes with this question, and the size is its own.
    let status = unsafe {
        NtQueryInformationProcess(
            process.as_raw_handle(),
            ProcessBasicInformation,
            (&raw mut basic).cast(),
            size_of_val(&basic) as u32,
            std::ptr::null_mut(),
        )
    };
    Some(basic.PebBaseAddress.addr() as u64).filter(|at| status == 0 && *at != 0)
}

/// How many threads a process has; 0 if that cannot be found out.
pub(crate) fn threads_of(pid: u32) -> u32 {
    // SAFETY: integer arguments.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return 0;
    }
    // SAFETY: the handle is open, and has no other owner.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..Default::default() };
    // SAFETY: the structure says its own size.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        if entry.th32ProcessID == pid {
            return entry.cntThreads;
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &mut entry) };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_block_is_where_the_thread_says() {
        let block: u64;
        // SAFETY: the 60th byte of a thread's block is the address of the process's, and reading it changes nothing.
        unsafe {
            std::arch::asm!("mov {}, gs:[0x60]", out(reg) block, options(nostack, readonly, preserves_flags))
        };
        let own = Process::open(std::process::id()).expect("we may look at ourselves");
        assert_eq!(own.peb(), Some(block));
        assert_eq!(own.read(u64::MAX - 100, 4), None);
    }
}
