//! The process heap of Windows.

/// What the process environment block and the heap's header say.
///
/// The values and places are those of 64-bit Windows: `NtGlobalFlag` at 0xBC of the block, `Flags` and `ForceFlags` at 0x70
/// and 0x74 of the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowsHeap {
    /// `BeingDebugged`: a debugger is attached now.
    pub being_debugged: bool,
    /// `NtGlobalFlag`: 0x70 are the three checks of the debug heap.
    pub nt_global_flag: u32,
    /// `Flags` of the process heap.
    pub heap_flags: u32,
    /// `ForceFlags` of the process heap: 0x40000060 are those of the debug heap.
    pub force_flags: u32,
    /// Whether there is a key in Image File Execution Options for the program, and the `GlobalFlag` that it has.
    pub image_options: Option<ImageOptions>,
    /// The version of Wine, if it is not Windows.
    pub wine: Option<String>,
    /// Whether the debug version of the C runtime is loaded, which has a checking heap of its own.
    pub has_debug_crt: bool,
}

/// A key below `Image File Execution Options`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The name of the key: that of the program.
    pub image: String,
    /// Its value `GlobalFlag`.
    pub global_flag: Option<u32>,
    /// Its value `PageHeapFlags`.
    pub page_heap_flags: Option<u32>,
    /// Its value `VerifierDlls`.
    pub verifier_dlls: Option<String>,
    /// Its value `TracingFlags`, which heap tracing leaves behind.
    pub tracing_flags: Option<u32>,
}
