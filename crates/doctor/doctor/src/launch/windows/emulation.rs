//! What ntdll does for a debugged process on Windows, done for it under Wine.
//!
//! Wine reads `NtGlobalFlag` when it makes the process heap, and has a debug heap; only the step in front is missing, by
//! which Windows turns a debugger into a flag. It is: no options for the program in the registry, and no `_NO_DEBUG_HEAP`
//! that is a number other than 0. On Windows nothing is done here.

use super::sys;
use crate::launch::Error;
use crate::launch::error::Repr;
use heapwise_environment::facts::windows::{DEBUG_HEAP, NT_GLOBAL_FLAG, image_options, peb_of, wine_version};
use heapwise_environment::turns_debug_heap_off;
use std::ffi::OsStr;
use std::os::windows::io::AsHandle;
use std::path::Path;
use std::process::{Child, Command};

/// Turns the debug heap on if Windows would. Returns the version of Wine if it did.
pub(super) fn apply(child: &Child, command: &Command) -> Result<Option<String>, Error> {
    let Some(wine) = wine_version() else { return Ok(None) };
    let value = super::value_of(command);
    let has_options = !image_options(Path::new(command.get_program())).is_empty();
    let is_off = value.as_deref().and_then(OsStr::to_str).is_some_and(turns_debug_heap_off);
    if has_options || is_off || !cfg!(target_arch = "x86_64") {
        return Ok(None);
    }
    let failed = |error| Repr::Call { what: "emulate the debug heap under Wine", error };
    let unknown = || failed(std::io::Error::other("the process environment block was not found"));
    let block = peb_of(child.as_handle()).ok_or_else(unknown)?;
    sys::write(child.as_handle(), block + NT_GLOBAL_FLAG, &DEBUG_HEAP.to_le_bytes()).map_err(failed)?;
    Ok(Some(wine))
}
