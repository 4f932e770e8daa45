//! The replaying process: it has the candidate's allocator and does nothing but execute the script.
//!
//! What it needs for itself is in memory that it shares with its parent, so all of its anonymous memory is the allocator's but
//! for the stacks of its threads. It is started as a hidden command of the same program, with the allocator preloaded.

#![expect(unsafe_code, reason = "calls the C allocation functions and works in shared memory")]

mod calls;
mod interpret;
mod memory;
mod meter;
mod requests;
mod threads;
mod touch;
mod wait;

use memory::Memory;
use std::io::Read;

/// The hidden command, followed by the process id of the parent, and its descriptors of the shared memory and the records.
pub const COMMAND: &str = "replay-worker";

/// Exit code of a worker that could not begin.
pub const CANNOT_BEGIN: i32 = 120;

/// Replays. To be called before the process has done anything else, since all that it has allocated is on the heap that is
/// looked at. Does not return.
pub fn work(parent: &str, shared: &str, records: &str) -> ! {
    end_with_parent(parent);
    let code = match Memory::open(parent, shared, records) {
        Some(memory) => {
            limit_data(&memory);
            threads::run(&memory, interpret::stream);
            0
        }
        None => CANNOT_BEGIN,
    };
    // SAFETY: ends the process at once. Destructors and exit handlers would free memory that is being measured, and
    // other threads still run.
    unsafe { libc::_exit(code) }
}

/// Address space for data that this process has already: an allocator may take terabytes at its start, as snmalloc does, and
/// use them as it goes. Read without the heap, which is looked at.
fn data_bytes() -> u64 {
    let mut text = [0u8; 256];
    let read = std::fs::File::open("/proc/self/statm").and_then(|mut file| file.read(&mut text));
    let text = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or_default();
    let pages = text.split_ascii_whitespace().nth(5).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(heapwise_collector::page_bytes())
}

/// Has the kernel refuse what is more than the script can need: a recording may claim anything.
fn limit_data(memory: &Memory) {
    let most = memory.header().most_data.load(std::sync::atomic::Ordering::Relaxed);
    if most > 0 {
        let most = most.saturating_add(data_bytes());
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the structure is read while the call lasts. A failure leaves it to the parent to watch over memory.
        unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) };
    }
}

/// Has the kernel end this process when the one that watches it is gone: nothing else would.
fn end_with_parent(parent: &str) {
    // SAFETY: integer arguments, and a question without any. A process whose parent ended before the first call has another
    // one by the time of the second.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if parent.parse() != Ok(libc::getppid()) {
            libc::_exit(CANNOT_BEGIN);
        }
    }
}
