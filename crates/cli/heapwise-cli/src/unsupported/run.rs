//! `heapwise run` where nothing can be recorded: the program runs all the same, and heapwise reports what it does not do.

use crate::args::RunArgs;
use crate::{Failure, launch};
use heapwise_doctor::launch::Launch;

/// Runs a program without recording it: on Windows, without the debug heap.
pub(crate) fn run(args: RunArgs) -> Result<u8, Failure> {
    if cfg!(windows) {
        heapwise_report::say!(
            "heapwise: recording is for Linux, where a library can be preloaded; this runs the program without the debug \
             heap of Windows, and no option of `run` matters"
        );
    }
    launch::start(&Launch::without_debug_heap(args.command))
}
