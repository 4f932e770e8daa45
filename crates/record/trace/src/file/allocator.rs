//! What a recording calls the allocator of a process: the path of the object that has its `malloc`, a type below a wrapper, or the
//! allocator's own name where it is inside of the program.

/// The name of glibc's own, where it is inside of a program that is linked statically.
pub const GLIBC: &str = "glibc";

/// Whether it is glibc's own.
pub fn is_glibc(allocator: &str) -> bool {
    allocator == GLIBC || file(allocator).starts_with("libc.so.")
}

/// Whether it is the file of musl, which is its loader as well.
pub fn is_musl(allocator: &str) -> bool {
    let file = file(allocator);
    file == "libc.so" || file.starts_with("ld-musl-") || file.starts_with("libc.musl-")
}

fn file(allocator: &str) -> &str {
    allocator.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_c_librarys_is_known_by_its_file_and_by_its_name() {
        assert!(is_glibc("/lib/x86_64-linux-gnu/libc.so.6") && is_glibc("glibc"));
        assert!(is_musl("/lib/ld-musl-x86_64.so.1") && is_musl("/usr/lib/x86_64-linux-musl/libc.so"));
        assert!(is_musl("/lib/libc.musl-x86_64.so.1"));
        for other in ["/opt/libjemalloc.so.2", "", "/opt/glibc", "/opt/musl"] {
            assert!(!is_glibc(other) && !is_musl(other), "{other}");
        }
        assert!(!is_glibc("/usr/lib/x86_64-linux-musl/libc.so") && !is_musl("/lib/libc.so.6"));
    }
}
