//! Files that others read after this process: where they are, how they are named, how they are written.

use crate::Counts;
use serde::Serialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, io, process};

/// Counts as they are in files.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(crate) struct CountsJson {
    /// Allocations and reallocations.
    requests: u64,
    /// Allocations without reallocations.
    allocations: u64,
    /// Reallocations.
    reallocations: u64,
    /// Blocks that were freed.
    deallocations: u64,
    /// Bytes asked for, by allocations and, with their new size, by reallocations.
    allocated_bytes: u64,
    /// Bytes freed, by deallocations and, with the old size, by reallocations.
    freed_bytes: u64,
}

impl From<&Counts> for CountsJson {
    fn from(counts: &Counts) -> Self {
        Self {
            requests: counts.requests(),
            allocations: counts.allocations,
            reallocations: counts.reallocations,
            deallocations: counts.deallocations,
            allocated_bytes: counts.allocated_bytes,
            freed_bytes: counts.freed_bytes,
        }
    }
}

/// A document of ours; it contains nothing that JSON cannot express.
pub(crate) fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("numbers, texts and lists");
    text.push('\n');
    text
}

/// The folder `heapwise` in cargo's target folder.
pub(crate) fn folder() -> io::Result<PathBuf> {
    let variable = env::var_os("CARGO_TARGET_DIR");
    let executable = env::current_exe().ok();
    let found = target_folder(variable.as_deref(), executable.as_deref(), |folder| {
        folder.join("CACHEDIR.TAG").is_file()
    });
    let hint = "no target folder of cargo is above this program; CARGO_TARGET_DIR can name one";
    found
        .map(|target| target.join("heapwise"))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, hint.to_owned()))
}

/// What the variable says, or the folder above the program that cargo has marked.
///
/// A relative path is relative to the folder where cargo was started. Benchmarks run in the folder of their package, so the
/// folder is derived from the path of the program instead.
fn target_folder(
    variable: Option<&OsStr>,
    executable: Option<&Path>,
    is_marked: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let named = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = &named
        && named.is_absolute()
    {
        return Some(named.clone());
    }
    let marked = executable
        .and_then(|file| file.ancestors().skip(1).find(|folder| is_marked(folder)))
        .map(Path::to_owned);
    marked.or(named)
}

/// The most letters of a name in a file name; file systems allow 255, and an ending and a hash are added.
const LONGEST: usize = 150;

/// The name of the file for a name.
pub(crate) fn file_name(name: &str) -> String {
    plain_name(name) + ".json"
}

/// A name, if it is valid as a file name; otherwise its harmless characters with a hash of the whole name, so that different
/// names have different files.
pub(crate) fn plain_name(name: &str) -> String {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let plain: String = name.chars().take(LONGEST).map(|c| if is_harmless(c) { c } else { '_' }).collect();
    // Names of devices, on Windows with any ending. A file that begins with a dot is hidden elsewhere.
    let stem = plain.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_port = number.is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()));
    let is_special = is_port || ["", "CON", "PRN", "AUX", "NUL"].contains(&stem.as_str());
    match plain == name && !is_special {
        true => plain,
        false => format!("{}-{:016x}", plain.replacen('.', "_", usize::from(is_special)), hash(name)),
    }
}

/// FNV-1a: short, and stable, so that the next run finds the file.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Writes a file so that no reader ever sees a part of it, and makes its folder. An error names the file.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", process::id()));
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_the_variable_or_the_marked_one_above() {
        let root = if cfg!(windows) { "C:\\" } else { "/" };
        let marked = Path::new(root).join("project").join("target");
        let program = marked.join("release").join("deps").join("bench-1");
        let named = Path::new(root).join("elsewhere");
        let is_marked = |folder: &Path| folder == marked;
        let find = |variable: &str, marks: bool| {
            target_folder(Some(variable.as_ref()), Some(&program), |folder| marks && is_marked(folder))
        };
        assert_eq!(find(named.to_str().expect("text"), true), Some(named));
        assert_eq!(find("", true), Some(marked.clone()));
        assert_eq!(find("target", true), Some(marked.clone()));
        assert_eq!(find("target", false), Some(PathBuf::from("target")));
        assert_eq!(find("", false), None);
        assert_eq!(target_folder(None, None, is_marked), None);
    }

    #[test]
    fn different_names_have_different_files_that_any_system_takes() {
        assert_eq!(file_name("v01_simple.x-2"), "v01_simple.x-2.json");
        let hostile = [
            "memory/v01",
            "memory_v01",
            "memory\\v01",
            "../../etc/passwd",
            "..",
            ".",
            "",
            "CON",
            "nul.txt",
            "com1",
            "a\0b",
            "\u{202e}",
            "é",
            "è",
            "a b",
            "<script>",
            ".hidden",
            "-rf",
            &"x".repeat(1000),
            &"x".repeat(1001),
        ];
        let names: std::collections::BTreeSet<String> = hostile.iter().map(|id| file_name(id)).collect();
        assert_eq!(names.len(), hostile.len(), "{names:?}");
        for name in &names {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            assert!(name.chars().all(is_plain) && name.len() < 200 && !name.starts_with('.'), "{name}");
        }
        assert!(file_name("CON").starts_with("CON-") && file_name("memory/v01").starts_with("memory_v01-"));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a").join("b.json");
        write(&path, "one").expect("it is written");
        write(&path, "two").expect("it is replaced");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "two");
        assert_eq!(fs::read_dir(folder.path().join("a")).expect("a folder").count(), 1);
        let error = write(&path.join("c.json"), "three").expect_err("a file is no folder").to_string();
        assert!(error.starts_with("cannot write ") && error.contains("c.json"), "{error}");
    }
}
