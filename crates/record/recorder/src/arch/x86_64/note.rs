//! The note by which an executable says that it has wrapped its allocator and records itself.

/// Puts the note into the object file of the function that this stands in. It belongs into one that is only compiled if the
/// wrapper is used, such as a generic one: a program may depend on the crate and use another part of it.
///
/// The layout is that of any ELF note: length of the name, length of the contents, kind, name, contents; see `WRAPPER_NOTE`
/// and `WRAPPER_NOTE_KIND` in `heapwise-trace`. The contents are the version of the shared memory that the recorder speaks.
#[macro_export]
macro_rules! executable_note {
    () => {
        core::arch::asm!(
            ".pushsection .note.heapwise,\"a\",@note",
            ".balign 4",
            ".long 9, 4, 1",
            ".asciz \"heapwise\"",
            ".balign 4",
            ".long {version}",
            ".popsection",
            version = const $crate::wrapped::LIVE_VERSION,
            options(nomem, nostack, preserves_flags),
        )
    };
}
