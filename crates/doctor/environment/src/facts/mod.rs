//! What is known of a process, of what a command would inherit, or of a machine.
//!
//! Facts are plain data, so that a check can be tried on any of them. What was not found out is `None` or missing in the list,
//! and checks then report nothing.

mod describe;
mod here;
mod machine;
mod process;
mod program;
mod variables;
pub mod windows;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
#[expect(unsafe_code, reason = "asks the C library's allocator")]
mod probes_unix;

pub use machine::{Cgroup, Limits, Machine, Thp};
pub use process::{Process, Tracer};
pub use program::{Libc, OwnAllocator, Program};
pub use variables::Variables;
pub use windows::{ImageOptions, WindowsHeap};

pub use here::{inherited, of_process, own};
#[cfg(target_os = "linux")]
pub use linux::{Roots, preload_list};
#[cfg(unix)]
pub use probes_unix::probe;

use std::borrow::Cow;
use std::path::PathBuf;

/// The subject of the facts, which decides how findings are worded: "has" or "would inherit".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// A command that would be started from here.
    #[default]
    Command,
    /// A process that runs.
    Process(u32),
    Own,
    /// What every program would inherit that is started from here.
    Machine,
}

/// The operating system, which decides what means anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    Windows,
    MacOs,
    Other,
}

impl System {
    /// The one that this program runs on.
    pub const HERE: Self = if cfg!(target_os = "linux") {
        Self::Linux
    } else if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Other
    };
}

/// A library that is in the process without the program having asked for it, or that is in it at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its path, or its name as it was given.
    pub path: PathBuf,
    /// How it gets there.
    pub origin: Origin,
}

/// How a library gets into a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `LD_PRELOAD`, or what is its like elsewhere.
    Preload,
    /// `/etc/ld.so.preload`.
    SystemPreload,
    /// The program needs it.
    Needed,
    /// It is mapped into the running process.
    Mapped,
}

/// What the C library's allocator does with blocks, found out by asking it for some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// The byte that a new block is full of, if it is one and not zero.
    pub fresh_fill: Option<u8>,
    /// The byte that a block is full of after it was freed and handed out again.
    pub freed_fill: Option<u8>,
    /// Usable bytes of a block of 193.
    pub usable_of_193: usize,
}

/// Everything that checks look at.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What they are about.
    pub subject: Subject,
    pub system: System,
    /// Environment variables that concern the heap, and no others.
    pub variables: Variables,
    /// The program, if there is one and it can be read.
    pub program: Option<Program>,
    /// Libraries that are, or will be, in the process.
    pub libraries: Vec<Library>,
    /// The process, if it runs.
    pub process: Option<Process>,
    /// The machine, and the part of it that the process may use.
    pub machine: Machine,
    /// What probes of the allocator found.
    pub probes: Option<Probes>,
    /// The process heap of Windows.
    pub windows: Option<WindowsHeap>,
}

impl Default for Facts {
    /// Nothing is known, on the system of this program.
    fn default() -> Self {
        Self {
            subject: Subject::default(),
            system: System::HERE,
            variables: Variables::default(),
            program: None,
            libraries: Vec::new(),
            process: None,
            machine: Machine::default(),
            probes: None,
            windows: None,
        }
    }
}

impl Library {
    fn file_name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy()
    }
}

impl Facts {
    /// Libraries whose file name contains one of these words.
    pub fn libraries_like<'a>(&'a self, words: &'a [&str]) -> impl Iterator<Item = &'a Library> {
        self.libraries
            .iter()
            .filter(move |library| words.iter().any(|word| library.file_name().contains(word)))
    }

    /// Libraries of allocators that take the place of the C library's.
    pub fn other_allocators(&self) -> impl Iterator<Item = &Library> {
        self.libraries.iter().filter(|library| heapwise_allocators::replaces_malloc(&library.file_name()))
    }

    /// Whether the program's allocation functions are those of glibc, as far as can be seen: no other allocator is in the
    /// process, nor in the program.
    pub fn uses_glibc_malloc(&self) -> bool {
        let own = self.program.as_ref().is_some_and(|p| !p.allocators.is_empty() || p.libc == Libc::Musl);
        self.system == System::Linux && !own && self.other_allocators().next().is_none()
    }

    /// "has" or "would have", as the subject demands.
    pub fn has(&self) -> &'static str {
        match self.subject {
            Subject::Command | Subject::Machine => "would have",
            Subject::Process(_) | Subject::Own => "has",
        }
    }
}
