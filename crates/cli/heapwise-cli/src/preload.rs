//! The preload libraries and the image of the recorder that this program contains, and which one a program gets.

use crate::blind_spots::{is_written_into, not_written, records_itself};
use heapwise_allocators::replaces_malloc;
use heapwise_collector::{Image, Recorder};
use heapwise_symbols::frame_table;
use heapwise_symbols::inspect::{Executable, inspect};
use std::path::Path;

/// Built by this crate's build script.
static USUAL: &[u8] = include_bytes!(env!("HEAPWISE_PRELOAD"));
/// The variant that also interposes the C++ operators.
static WITH_CXX: &[u8] = include_bytes!(env!("HEAPWISE_PRELOAD_CXX"));

/// The recorder for a program that no library can be preloaded into.
static IMAGE: &[u8] = include_bytes!(env!("HEAPWISE_IMAGE"));

/// The image for a program; `None` if it gets a library, or nothing of it would be recorded.
pub(crate) fn image_for(executable: &Executable) -> Option<Image> {
    is_written_into(executable).then(|| image_for_running(&executable.path))
}

/// The image for a process that runs.
pub(crate) fn image_for_running(program: &Path) -> Image {
    Image { file: IMAGE, frames: frame_table::of(program).unwrap_or_default() }
}

/// What records a program that a recorded one has executed.
pub(crate) fn recorder_for(path: &Path) -> Recorder {
    let executable = match inspect(path, None) {
        Ok(executable) => executable,
        Err(error) => return Recorder::NotLoaded(error.to_string()),
    };
    if executable.is_preloaded_into() {
        return Recorder::Library;
    }
    if executable.interpreter.is_some() {
        return Recorder::NotLoaded("it is not linked against glibc or musl for 64-bit x86".into());
    }
    if records_itself(&executable) {
        return Recorder::Own;
    }
    if !is_written_into(&executable) {
        return Recorder::NotWritten(not_written(&executable).0.to_owned());
    }
    Recorder::Image(image_for_running(path))
}

/// The library for programs that an attached process executes.
pub(crate) fn library_for_children() -> &'static [u8] {
    USUAL
}

/// The library for a program: the variant for C++ operators if another allocator is preloaded or linked, whose
/// operators would bypass `malloc`.
pub(crate) fn library_for(executable: Option<&Executable>) -> &'static [u8] {
    let is_preloaded = std::env::var_os("LD_PRELOAD").is_some_and(|list| !list.is_empty());
    let is_linked = executable.is_some_and(|found| found.needed.iter().any(|name| replaces_malloc(name)));
    if is_preloaded || is_linked { WITH_CXX } else { USUAL }
}
