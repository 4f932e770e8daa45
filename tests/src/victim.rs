//! A victim's source: its language and the flags in its first line.

use crate::folders::tests_folder;
use std::path::PathBuf;

/// What a victim is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Compiled with `cc`.
    C,
    /// Compiled with `c++`.
    Cpp,
    /// Compiled with `rustc`.
    Rust,
}

/// A victim, or a plugin that victims load.
#[derive(Clone, Debug)]
pub struct Victim {
    /// The file name without its ending.
    pub name: String,
    pub source: PathBuf,
    /// What it is written in.
    pub language: Language,
    /// The flags for its compiler.
    pub flags: Vec<String>,
    /// Whether it is a shared object, which other victims load.
    pub plugin: bool,
}

impl Victim {
    /// The victim of that name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(name: &str) -> Self {
        let mut all = Self::all();
        let at =
            all.iter().position(|v| v.name == name).unwrap_or_else(|| panic!("there is no victim {name}"));
        all.swap_remove(at)
    }

    /// All of them, in the order of their names.
    pub fn all() -> Vec<Self> {
        Self::all_in("victims")
    }

    /// All in a folder of this crate, in the order of their names.
    pub fn all_in(folder: &str) -> Vec<Self> {
        let folder = tests_folder().join(folder);
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("no victims in {}: {e}", folder.display()));
        let paths = entries.map(|entry| entry.expect("the folder of victims can be read").path());
        let mut all: Vec<Self> = paths.filter_map(Self::read).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn read(source: PathBuf) -> Option<Self> {
        let language = match source.extension()?.to_str()? {
            "c" => Language::C,
            "cpp" => Language::Cpp,
            "rs" => Language::Rust,
            _ => return None,
        };
        let name = source.file_stem()?.to_str()?.to_owned();
        let text = std::fs::read_to_string(&source).ok()?;
        let first = text.lines().next().unwrap_or_default();
        let plugin = first.starts_with("// plugin:");
        assert!(plugin || first.starts_with("// victim:"), "{name} does not begin like a victim");
        // A plugin's first line describes its build in words; the flags are always `-shared -fPIC`.
        let flags =
            if plugin { "-shared -fPIC" } else { first.rsplit_once("flags:").map_or("", |(_, flags)| flags) };
        let flags = flags.split_whitespace().map(str::to_owned).collect();
        Some(Self { name, source, language, flags, plugin })
    }
}
