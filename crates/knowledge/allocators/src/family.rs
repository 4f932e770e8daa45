//! What gives an allocator away, and what to advise where it is met.

/// Allocators that look alike from outside: the versions of one, or two that share their name.
///
/// A row gives what it has, and the rest is that of [`Family::UNKNOWN`].
#[derive(Debug)]
pub struct Family {
    /// What it is called in findings and reports: `jemalloc`.
    pub name: &'static str,
    /// A word in the names of its libraries, and of packages and types that wrap it. Empty if nothing replaces the C
    /// library's allocator under such a name.
    pub word: &'static str,
    /// What the names of its libraries begin with.
    pub libraries: &'static [&'static str],
    /// Functions that a file defines if it contains the allocator, the surest first.
    pub symbols: &'static [Sign],
    /// How C strings in its code begin, which stay where symbols are stripped: messages, or names of settings.
    pub texts: &'static [&'static str],
    /// Functions that are signs of another family, and that this one defines as well: in this family's libraries they prove
    /// nothing.
    pub also_defines: &'static [&'static str],
    /// Families whose code it brings along and uses only if a setting says so.
    pub brings: &'static [&'static str],
    /// Whether it is the heap of a language's runtime, for that language's objects: what is in C goes through `malloc` all the
    /// same.
    pub is_runtime: bool,
    /// A variable and the beginning of its value that have it left out of use: `PYTHONMALLOC=malloc`.
    pub turned_off_by: Option<(&'static str, &'static str)>,
    /// What to do to see its blocks, where they are not recorded.
    pub unrecorded: &'static str,
    /// What the names of its functions begin with, as stacks have them.
    pub frames: &'static [&'static str],
    /// Environment variables that it reads, in capitals; `*` stands for anything, at the start or at the end.
    pub variables: &'static [&'static str],
    /// What it prints when it does not understand a variable.
    pub complaints: &'static [Complaint],
    /// How a library of the family that was not built by heapwise reports what it is.
    pub interface: Interface,
    /// Whether it checks each access besides, so that times and sizes are not those of the program.
    pub is_sanitizer: bool,
    /// How it returns free pages to the system.
    pub free_pages: &'static str,
    /// How to have it keep the pages of large blocks for the next ones. `None` if it keeps them, or that is not known.
    pub new_pages: Option<&'static str>,
    /// What keeps its pages from being pinned.
    pub fragmentation: &'static str,
}

impl Family {
    /// The values for an allocator that is not in the table.
    pub const UNKNOWN: Self = Self {
        name: "",
        word: "",
        libraries: &[],
        symbols: &[],
        texts: &[],
        also_defines: &[],
        brings: &[],
        is_runtime: false,
        turned_off_by: None,
        unrecorded: "to record the blocks, wrap it in heapwise::Allocator (Rust), or build what contains it with the system's \
                     allocator (for Rust: without #[global_allocator])",
        frames: &[],
        variables: &[],
        complaints: &[],
        interface: Interface::None,
        is_sanitizer: false,
        free_pages: "Look for the allocator's settings for returning pages to the system: decay, purge, trim or release.",
        new_pages: None,
        fragmentation: "An allocator that keeps sizes apart (jemalloc, mimalloc) may pack them better; compare before you \
                        switch.",
    };

    /// What to do to see the blocks of an allocator whose functions are entered where their names are there.
    pub(crate) const WITHOUT_SYMBOLS: &str = "to record the blocks, keep the symbols of the file that contains it, or its debug file below /usr/lib/debug (no `strip`, no \
                                              `-s`), wrap it in heapwise::Allocator (Rust), or build it with the system's allocator \
                                              (for Rust: without #[global_allocator])";

    /// Whether a library's file name has its word.
    pub(crate) fn is_named_in(&self, name: &str) -> bool {
        !self.word.is_empty() && name.contains(self.word)
    }

    pub(crate) fn has_library(&self, file: &str) -> bool {
        self.libraries.iter().any(|start| file.starts_with(start))
    }

    #[cfg(feature = "candidates")]
    pub(crate) fn reads(&self, variable: &str) -> bool {
        let fits = |pattern: &str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => variable.ends_with(end),
            (_, Some(start)) => variable.starts_with(start),
            _ => variable == pattern,
        };
        self.variables.iter().any(|pattern| fits(pattern))
    }
}

/// How a symbol identifies an allocator.
#[derive(Clone, Copy, Debug)]
pub enum Sign {
    /// The whole name.
    Exact(&'static str),
    /// A part of a mangled name, such as a namespace.
    Mangled(&'static str),
    /// The name, with or without a prefix that ends with an underscore: `je_arrow_mallocx`.
    Prefixed(&'static str),
}

impl Sign {
    /// Whether a symbol is one of these.
    pub fn fits(&self, symbol: &str) -> bool {
        match self {
            Self::Exact(name) => symbol == *name,
            Self::Prefixed(name) => {
                let is_mangled = symbol.starts_with("_Z") || symbol.starts_with("_R");
                let prefix = symbol.strip_suffix(name).filter(|_| !is_mangled);
                prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
            }
            Self::Mangled(part) => {
                (symbol.starts_with("_Z") || symbol.starts_with("_R")) && symbol.contains(part)
            }
        }
    }
}

/// A line that an allocator prints about a variable.
#[derive(Debug)]
pub struct Complaint {
    /// How the line begins.
    pub start: &'static str,
    /// What it has one of besides.
    pub words: &'static [&'static str],
}

impl Complaint {
    /// Whether a line is one.
    pub fn fits(&self, line: &str) -> bool {
        line.starts_with(self.start) && self.words.iter().any(|word| line.contains(word))
    }
}

/// The functions by which a library that was not built by heapwise reports its version and its statistics. What heapwise builds
/// has its own functions for that (`allocators/entry`).
#[derive(Clone, Copy, Debug)]
pub enum Interface {
    None,
    /// `mallctl`, with a `version` and with statistics by name.
    Mallctl,
    /// `tc_version`, and numbers by name.
    Gperftools {
        /// The numbers that are settings, by the settings' names.
        settings: &'static [(&'static str, &'static std::ffi::CStr)],
    },
    /// `mi_version`, which returns a number.
    Mimalloc,
    /// `gnu_get_libc_version`.
    CLibrary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_patterns() {
        let family = Family { variables: &["MALLOC_CONF", "*_MALLOC_CONF", "X_*"], ..Family::UNKNOWN };
        for name in ["MALLOC_CONF", "_RJEM_MALLOC_CONF", "X_1"] {
            assert!(family.reads(name), "{name}");
        }
        for name in ["MALLOC_CONFIG", "AMALLOC_CONF", "1_X_"] {
            assert!(!family.reads(name), "{name}");
        }
    }

    #[test]
    fn a_family_without_a_word_is_in_no_name() {
        assert!(!Family::UNKNOWN.is_named_in("libanything.so"));
        assert!(Family { word: "any", ..Family::UNKNOWN }.is_named_in("libanything.so"));
    }

    #[test]
    fn a_part_counts_in_mangled_names_alone() {
        assert!(Sign::Mangled("8snmalloc").fits("_ZN8snmalloc5AllocE"));
        assert!(!Sign::Mangled("8snmalloc").fits("my8snmalloc"));
        assert!(
            Sign::Exact("mi_malloc").fits("mi_malloc") && !Sign::Exact("mi_malloc").fits("mi_malloc_aligned")
        );
    }

    #[test]
    fn a_prefix_is_any_that_ends_with_an_underscore() {
        let sign = Sign::Prefixed("mallocx");
        for name in ["mallocx", "_rjem_mallocx", "je_arrow_mallocx", "duckdb_je_mallocx"] {
            assert!(sign.fits(name), "{name}");
        }
        for name in ["smallocx", "mallocx_default", "_RNvCs1_9jemalloc_7mallocx", "_ZN2a_mallocx"] {
            assert!(!sign.fits(name), "{name}");
        }
    }
}
