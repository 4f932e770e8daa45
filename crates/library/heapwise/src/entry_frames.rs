//! Frames between the code that allocates and the allocator, by their names. They are the same in every stack, and say nothing about the cause.
//!
//! Where only lines are in the debug information, names lack their modules: `alloc` may be the standard library's or the program's. The
//! file decides then.

/// Whether a function is one that the compiler makes, where the global allocator is named, to call it. Its file is the one that names it.
pub(crate) fn is_the_allocators(function: &str) -> bool {
    let name = function.trim_start_matches("__rustc::");
    ["__rust_", "__rg_", "__rdl_"].iter().any(|made| name.starts_with(made))
}

/// Whether a function only leads to the allocator, and says nothing about the cause. Without a file, a short name is believed.
pub(crate) fn is_the_entry_of_the_allocator(function: &str, file: Option<&str>) -> bool {
    const FILES: &[&str] = &["/library/alloc/src/", "/library/core/src/alloc/", "/library/std/src/alloc.rs"];
    is_the_allocators(function)
        || function.starts_with("alloc::alloc::")
        || matches!(function, "alloc" | "alloc_zeroed" | "realloc" | "exchange_malloc")
            && file.is_none_or(|file| FILES.iter().any(|of_std| file.replace('\\', "/").contains(of_std)))
}

/// Whether a function is of the standard library's code that makes buffers grow, and of nothing above that.
#[cfg(feature = "serve")]
pub(crate) fn makes_buffers(function: &str, file: Option<&str>) -> bool {
    const FILES: &[&str] = &[
        "/library/alloc/src/alloc.rs",
        "/library/alloc/src/raw_vec.rs",
        "/library/alloc/src/raw_vec/mod.rs",
    ];
    function.trim_start_matches('<').starts_with("alloc::raw_vec::")
        || file.is_some_and(|file| FILES.iter().any(|of_std| file.replace('\\', "/").ends_with(of_std)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_std_s_only_in_its_files() {
        let of_std = "/rustc/59807616e1fa/library/alloc/src/alloc.rs";
        let installed = "C:\\rust\\lib\\rustlib\\src\\rust\\library\\alloc\\src\\alloc.rs";
        for file in [None, Some(of_std), Some(installed)] {
            assert!(is_the_entry_of_the_allocator("alloc", file), "{file:?}");
        }
        for file in ["/home/me/arena/src/arena.rs", "/home/me/alloc/src/alloc.rs"] {
            assert!(!is_the_entry_of_the_allocator("alloc", Some(file)), "{file}");
            #[cfg(feature = "serve")]
            assert!(!makes_buffers("grow", Some(file)), "{file}");
        }
        assert!(is_the_entry_of_the_allocator("alloc::alloc::alloc_zeroed", Some("/anything.rs")));
        for made in ["__rustc::__rust_alloc", "__rust_realloc", "__rg_alloc", "__rdl_alloc"] {
            assert!(is_the_entry_of_the_allocator(made, Some("/home/me/src/main.rs")), "{made}");
        }
        assert!(!is_the_allocators("__read_all") && !is_the_allocators("__rx"));
    }
}
