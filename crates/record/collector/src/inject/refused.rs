//! Why the recorder could not be written into a process, and what to do about it.

use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::io;

/// Why the recorder could not be written into a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The kernel does not let us do something.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
    /// It does not let the process do something.
    #[error("the program could not {0} for the recorder: {1}")]
    Call(&'static str, io::Error),
    #[error("the kernel maps no code of its own into programs (vdso=0)")]
    NoGate,
    #[error("the recorder's image is damaged")]
    NoImage,
    #[error("the recorder's start failed with {0}")]
    Failed(Signal),
    #[error("the program ended while the recorder was written into it")]
    Ended,
    #[error("the recorder could not join the recording from within the program")]
    NotJoined,
    #[error("it gains privileges when it starts, and its loader then ignores LD_PRELOAD")]
    GainsRights,
    #[error("it cannot open heapwise's library: it is another user's, or in a container")]
    OutOfReach,
    #[error("its arguments and variables have no room for two more")]
    LargeEnvironment,
    #[error("there is no such process")]
    NoProcess,
    #[error("it is a thread of process {0}; name that")]
    ThreadOf(u32),
    #[error("it is a thread of the kernel")]
    Kernel,
    #[error("it has ended, and its parent has not asked for that yet")]
    Zombie,
    #[error(
        "its first thread has ended before the others, and the kernel shows nothing of the process any more"
    )]
    Leaderless,
    #[error("it is this heapwise, or one of the processes that have started it")]
    Own,
    #[error("it is a program for 32 bits, and heapwise records programs for 64-bit x86")]
    Bits,
    #[error("process {0} ({1}) traces it already; a debugger has to let it go first")]
    Traced(u32, String),
    #[error("the system does not allow it to be traced ({0}); {remedy}", remedy = remedy_of_forbidden())]
    Forbidden(io::Error),
    #[error("process {0} records it already")]
    Recorded(u32),
    #[error("it was started in the strict mode of seccomp, in which nothing can be recorded")]
    Strict,
    #[error(
        "its filter of system calls (seccomp) does not allow {0}, without which nothing can be recorded; allow it in the filter"
    )]
    Filtered(&'static str),
    #[error("it has a filter of system calls (seccomp), which only root can read; run heapwise as root")]
    FilterHidden(io::Error),
    #[error(
        "it has a shadow stack (CET), which tells the recorder's calls from its own; start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack,
    #[error("thread {thread} does not stop{}; wait until it has what it waits for", place_of(.place))]
    Unstoppable { thread: u32, place: String },
    #[error("no thread of it can work for the recorder at the moment; try again")]
    NoWorker,
    #[error("heapwise stood still while the recorder was written into it; try again")]
    Late,
    #[error(
        "none of its functions is known to allocate: it has no symbols (keep them; for Rust: strip = false; or have its debug file below \
         /usr/lib/debug), or no allocator in C"
    )]
    NoFunctions,
    #[error("no memory near its allocation functions is free")]
    NoRoom,
    #[error("a thread has not left the beginning of an allocation function in time; try again")]
    Occupied,
}

fn place_of(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" (it waits in {place})") }
}

/// What helps where tracing is not allowed.
fn remedy_of_forbidden() -> String {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "3" => "kernel.yama.ptrace_scope=3 forbids it to all until the next boot".into(),
        "1" | "2" => format!(
            "run heapwise as root (kernel.yama.ptrace_scope={} allows it to root alone; in a container, with --cap-add=SYS_PTRACE)",
            scope.trim()
        ),
        _ => {
            "run heapwise as the process's user or as root (in a container, with --cap-add=SYS_PTRACE)".into()
        }
    }
}

impl Refused {
    pub(super) fn system(what: &'static str) -> impl Fn(Errno) -> Self {
        move |error| Self::System(what, error.into())
    }

    pub(super) fn call(number: libc::c_long, error: i32) -> Self {
        let what = match number {
            libc::SYS_mmap => "map memory",
            libc::SYS_mprotect => "make memory executable",
            libc::SYS_memfd_create => "make shared memory",
            _ => "make a system call",
        };
        Self::Call(what, io::Error::from_raw_os_error(error))
    }
}
