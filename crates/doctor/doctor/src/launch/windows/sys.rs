//! Calls of Windows' functions, each wrapped once.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{
    DBG_CONTINUE, DBG_EXCEPTION_NOT_HANDLED, EXCEPTION_BREAKPOINT, HANDLE, STATUS_WX86_BREAKPOINT, TRUE,
};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Diagnostics::Debug::{
    CREATE_PROCESS_DEBUG_EVENT, ContinueDebugEvent, DEBUG_EVENT, DebugActiveProcessStop,
    EXCEPTION_DEBUG_EVENT, EXIT_PROCESS_DEBUG_EVENT, LOAD_DLL_DEBUG_EVENT, WaitForDebugEvent,
    WriteProcessMemory,
};
use windows_sys::Win32::System::Threading::INFINITE;
use windows_sys::core::BOOL;

/// Lets a process that this thread created as its debugger run to its end, or until it is let go.
///
/// A debugger that does nothing: it passes the breakpoint that the loader has for debuggers, and leaves all exceptions to
/// the program. With `lets_go` it leaves at that breakpoint, when the process has its heap and nothing else.
pub(super) fn debug(pid: u32, lets_go: bool) -> io::Result<()> {
    // Of 32-bit programs there are two: that of the emulation and its own.
    let mut at_breakpoint = false;
    let mut breakpoints = vec![EXCEPTION_BREAKPOINT, STATUS_WX86_BREAKPOINT];
    loop {
        let mut event = DEBUG_EVENT::default();
        // SAFETY: the structure is the one that is filled in.
        if unsafe { WaitForDebugEvent(&mut event, INFINITE) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let mut answer = DBG_CONTINUE;
        match event.dwDebugEventCode {
            // SAFETY: the code says which member of the union is there, here and below.
            CREATE_PROCESS_DEBUG_EVENT => close(unsafe { event.u.CreateProcessInfo.hFile }),
            // SAFETY: as above.
            LOAD_DLL_DEBUG_EVENT => close(unsafe { event.u.LoadDll.hFile }),
            EXCEPTION_DEBUG_EVENT => {
                // SAFETY: as above.
                let code = unsafe { event.u.Exception.ExceptionRecord.ExceptionCode };
                match breakpoints.iter().position(|expected| *expected == code) {
                    Some(at) => {
                        breakpoints.remove(at);
                        at_breakpoint = true;
                    }
                    None => answer = DBG_EXCEPTION_NOT_HANDLED,
                }
            }
            _ => {}
        }
        let over = event.dwDebugEventCode == EXIT_PROCESS_DEBUG_EVENT && event.dwProcessId == pid;
        // SAFETY: integer arguments, those of the event.
        if unsafe { ContinueDebugEvent(event.dwProcessId, event.dwThreadId, answer) } == 0 {
            return Err(io::Error::last_os_error());
        }
        if over {
            return Ok(());
        }
        if lets_go && at_breakpoint {
            // SAFETY: an integer argument.
            let result = unsafe { DebugActiveProcessStop(pid) };
            return if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        }
    }
}

/// The files of a debugged program are opened for the debugger, which has to close them.
fn close(file: HANDLE) {
    if !file.is_null() {
        // SAFETY: the handle was made for us with this event, and has no other owner.
        drop(unsafe { OwnedHandle::from_raw_handle(file) });
    }
}

/// Writes bytes into a process.
pub(super) fn write(process: BorrowedHandle<'_>, at: u64, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the size is that of the bytes; the address is the other process's and need not be good.
    let result = unsafe {
        WriteProcessMemory(
            process.as_raw_handle(),
            std::ptr::without_provenance(at as usize),
            bytes.as_ptr().cast(),
            bytes.len(),
            std::ptr::null_mut(),
        )
    };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// From now on, Ctrl-C and Ctrl-Break do not end this process.
pub(super) fn leave_interrupts_to_the_program() {
    unsafe extern "system" fn ignore(_kind: u32) -> BOOL {
        TRUE
    }
    // SAFETY: the function lives as long as the process, and touches nothing.
    unsafe { SetConsoleCtrlHandler(Some(ignore), TRUE) };
}
