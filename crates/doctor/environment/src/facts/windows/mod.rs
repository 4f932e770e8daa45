//! The process heap of Windows, and what makes it slow.
//!
//! A process that a debugger creates gets a heap that checks and fills each block, unless `_NO_DEBUG_HEAP` prevents it
//! ([`crate::turns_debug_heap_off`]). That shows in two places: `NtGlobalFlag` of the process environment block has what was
//! requested, the flags in the heap's header what is done. `layout.rs` has their places, `sys/` reads them from the system,
//! `here.rs` makes facts of them.

mod layout;

#[cfg(windows)]
mod here;
#[cfg(windows)]
#[expect(unsafe_code, reason = "calls functions of Windows")]
mod sys;

#[cfg(windows)]
pub use here::{image_options, inherited, of_process};
#[cfg(windows)]
pub use sys::{peb_of, wine_version};

/// Where `NtGlobalFlag` is in the process environment block of a process of 64 bits.
pub const NT_GLOBAL_FLAG: u64 = 0xBC;
/// In `NtGlobalFlag`: check the tail, check when freeing, validate parameters. What a debugger's child gets.
pub const DEBUG_HEAP: u32 = 0x70;
/// In `NtGlobalFlag`: pages around each block, for overruns to be noticed at once.
pub const PAGE_HEAP: u32 = 0x0200_0000;
/// In `NtGlobalFlag`: the application verifier.
pub const APPLICATION_VERIFIER: u32 = 0x100;
/// In `ForceFlags` of a heap: what [`DEBUG_HEAP`] becomes there.
pub const FORCED_CHECKS: u32 = 0x4000_0060;

/// The values in the process environment block, the heap's header and the registry. `None` is what could not be read: of a
/// process of 32 bits, of another processor, or of one that has no heap yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowsHeap {
    /// `BeingDebugged`: a debugger is attached now.
    pub being_debugged: Option<bool>,
    /// `NtGlobalFlag`: [`DEBUG_HEAP`] and the others.
    pub nt_global_flag: Option<u32>,
    /// `Flags` of the process heap.
    pub heap_flags: Option<u32>,
    /// `ForceFlags` of the process heap: [`FORCED_CHECKS`] are those of the debug heap.
    pub force_flags: Option<u32>,
    /// Keys in Image File Execution Options for the program: one, or two if those for programs of 32 and 64 bits differ.
    pub image_options: Vec<ImageOptions>,
    /// `GlobalFlag` of the session manager, which applies to every process.
    pub machine_global_flag: Option<u32>,
    /// The version of Wine, if it is not Windows.
    pub wine: Option<String>,
    /// Whether the debug version of Microsoft's C runtime is loaded, which has a separate checking heap.
    pub has_debug_crt: bool,
}

impl WindowsHeap {
    /// Whether some of these flags are in force; if that is unknown, whether the next start would have them.
    pub(crate) fn has_flag(&self, flags: u32) -> bool {
        match self.nt_global_flag {
            Some(now) => now & flags != 0,
            None => self.asked_by(flags).is_some() || self.machine_flag(flags).is_some(),
        }
    }

    /// The key that requests some of these flags.
    pub(crate) fn asked_by(&self, flags: u32) -> Option<(&ImageOptions, u32)> {
        self.image_options.iter().find_map(|options| {
            let flag = options.global_flag.filter(|flag| flag & flags != 0)?;
            Some((options, flag))
        })
    }

    pub(crate) fn machine_flag(&self, flags: u32) -> Option<u32> {
        self.machine_global_flag.filter(|flag| flag & flags != 0)
    }
}

/// A key below `Image File Execution Options`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The whole path of the key, as `reg` takes it.
    pub key: String,
    pub global_flag: Option<u32>,
    pub page_heap_flags: Option<u32>,
    pub verifier_dlls: Option<String>,
    /// Its value `TracingFlags`, which heap tracing leaves behind.
    pub tracing_flags: Option<u32>,
}
