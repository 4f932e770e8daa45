//! Which compiler made a file: compilers leave their names in its section `.comment`, which stays when symbols are stripped.

use crate::elf;
use crate::mmap::MappedFile;
use object::{Object, ObjectSection};
use std::path::Path;

/// The section has a line for each version of each compiler.
const MOST_BYTES: usize = 64 << 10;

/// Whether the Rust compiler made at least a part of a file. `false` also if the file cannot be read.
pub fn is_of_rustc(path: &Path) -> bool {
    let look = || {
        let file = MappedFile::open(path).ok()?;
        let object = elf::parse(path, file.data()).ok()?;
        let names = object.section_by_name(".comment")?.data().ok()?;
        let names = names.get(..MOST_BYTES).unwrap_or(names);
        Some(names.split(|byte| *byte == 0).any(|name| name.starts_with(b"rustc version ")))
    };
    look().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_made_by_rustc_and_the_c_library_is_not() {
        assert!(is_of_rustc(&std::env::current_exe().unwrap()));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps
            .lines()
            .find_map(|line| line.find("/").map(|at| &line[at..]).filter(|p| p.contains("libc.so")));
        assert!(!is_of_rustc(Path::new(library.unwrap())));
        assert!(!is_of_rustc(Path::new("/nowhere")));
    }
}
