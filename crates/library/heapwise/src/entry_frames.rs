//! Frames between the code that allocates and the allocator, by their names. They are the same in every stack, and say nothing about the cause.

/// Whether a function is one that the compiler makes, where the global allocator is named, to call it.
pub(crate) fn is_the_allocators(function: &str) -> bool {
    function.trim_start_matches("__rustc::").starts_with("__r")
}

/// Whether a function only leads to the allocator, and says nothing about the cause.
pub(crate) fn is_the_entry_of_the_allocator(function: &str) -> bool {
    is_the_allocators(function)
        || function.starts_with("alloc::alloc::")
        || matches!(function, "alloc" | "alloc_zeroed" | "realloc" | "exchange_malloc")
}

/// Whether a function is of the standard library's code that makes buffers grow, and of nothing above that. Where only lines are in the
/// debug information, names lack their modules, and the file decides.
#[cfg(feature = "serve")]
pub(crate) fn makes_buffers(function: &str, file: Option<&str>) -> bool {
    const FILES: &[&str] = &["/alloc/src/alloc.rs", "/alloc/src/raw_vec.rs", "/alloc/src/raw_vec/mod.rs"];
    function.trim_start_matches('<').starts_with("alloc::raw_vec::")
        || file.is_some_and(|file| FILES.iter().any(|of_std| file.replace('\\', "/").ends_with(of_std)))
}
