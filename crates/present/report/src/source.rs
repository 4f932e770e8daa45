//! Source files and their lines, from a reader that the caller provides. This crate reads no files: the caller decides which ones a
//! recording may name.

use std::fmt;
use std::sync::Arc;

/// Longer lines were not written by hand.
const LONGEST_LINE: usize = 240;

/// Reads source files.
pub trait Sources: fmt::Debug {
    /// A source file by its path, or why it is not shown. `program` is the path of an object file that was built from it: a source file
    /// that is newer than that was changed.
    ///
    /// # Errors
    /// If the file is not there, or may not be shown.
    fn find(&self, path: &str, program: Option<&str>) -> Result<SourceFile, Absence>;

    /// A source file by its path, if it is there and may be shown.
    fn read(&self, path: &str) -> Option<SourceFile> {
        self.find(path, None).ok()
    }
}

/// A source file as it is now, not as it was compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    pub text: String,
    /// Whether it was changed after the recording, or after what was built from it, so that lines may have moved.
    pub changed: bool,
}

/// Why the text of a source file is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// There is no such file.
    NotFound,
    /// The compiler was given another path for it, and where it really lies is not known.
    Remapped,
    /// It is not below a folder whose files may be shown.
    Outside,
    /// Its name is not that of source code.
    NotSource,
    /// It is a pipe, a device or a folder.
    NotRegular,
    /// No file that was written by hand is so large.
    TooLarge,
    /// The system refuses it.
    Unreadable,
    /// The reader wants no lines of source.
    Unwanted,
    /// It is newer than the recording, or than what was built from it.
    Changed,
    /// It has no such lines: it is not what was compiled.
    Shorter,
}

impl Absence {
    /// Its stable name, for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Remapped => "remapped",
            Self::Outside => "outside",
            Self::NotSource => "not-source",
            Self::NotRegular => "not-regular",
            Self::TooLarge => "too-large",
            Self::Unreadable => "unreadable",
            Self::Unwanted => "unwanted",
            Self::Changed => "changed",
            Self::Shorter => "shorter",
        }
    }

    /// It in a sentence, and what to do about it; nothing if there is nothing to do.
    pub fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Self::NotFound => {
                ("the file is not on this machine", "--source-root DIR names a folder for relative paths")
            }
            Self::Remapped => {
                ("the path was replaced when the file was compiled, and where the file lies is not known", "")
            }
            Self::Outside => (
                "the file is not below the current folder",
                "--source-root DIR names another folder whose files are shown",
            ),
            Self::NotSource => ("the name of the file is not that of source code", ""),
            Self::NotRegular => ("it is no regular file", ""),
            Self::TooLarge => ("the file is larger than any that is written by hand", ""),
            Self::Unreadable => ("the file cannot be read", ""),
            Self::Unwanted => ("--no-source leaves it out", ""),
            Self::Changed => (
                "the file was changed after the program was built, so its lines may have moved",
                "build and record again",
            ),
            Self::Shorter => (
                "the file has fewer lines than the one that was compiled",
                "check out the version that was recorded, or build and record again",
            ),
        }
    }
}

/// A line of source as it is shown: of bounded length, and with spaces for tabs. It is not escaped.
pub(crate) fn shown(line: &str) -> String {
    let line: String = line.trim_end().chars().take(LONGEST_LINE).collect();
    line.replace('\t', "    ")
}

type Look = dyn Fn(&str, u32) -> Option<String> + Send + Sync;

/// Returns a line of a source file, if it is available. Rendering is pure: the caller decides whether and how files are read.
#[derive(Clone)]
pub struct SourceLines(Arc<Look>);

impl SourceLines {
    /// Lines from a function of path and number, the first line being 1.
    pub fn new(look: impl Fn(&str, u32) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// The line without surrounding space; `None` if it does not exist or is empty.
    pub fn line(&self, path: &str, number: u32) -> Option<String> {
        (self.0)(path, number).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }
}

impl Default for SourceLines {
    fn default() -> Self {
        Self::new(|_, _| None)
    }
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SourceLines")
    }
}
