//! What a recording calls the allocator of a process: the path of the object that has its `malloc`, a type below a wrapper, or the
//! allocator's own name where it is inside of the program.

/// The name of glibc's own, where it is inside of a program that is linked statically.
pub const GLIBC: &str = "glibc";

/// Whether it is glibc's own.
pub fn is_glibc(allocator: &str) -> bool {
    allocator == GLIBC || allocator.rsplit('/').next().is_some_and(|file| file.starts_with("libc.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibcs_is_known_by_its_file_and_by_its_name() {
        assert!(is_glibc("/lib/x86_64-linux-gnu/libc.so.6") && is_glibc("glibc"));
        assert!(!is_glibc("/opt/libjemalloc.so.2") && !is_glibc("") && !is_glibc("/opt/glibc"));
    }
}
