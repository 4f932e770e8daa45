//! Reading a configuration file, or refusing to.
//!
//! What is refused is left alone and named, with the reason: an editor that reads a file which heapwise does not
//! understand must not find it changed.

use crate::original::Original;
use crate::places::{Owner, Places};
use crate::text::{self, Lines};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that was not understood, and is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub file: PathBuf,
    /// The line, counted from one, if the reason is at one.
    pub line: Option<usize>,
    /// The column in characters, counted from one.
    pub column: Option<usize>,
    pub why: String,
}

impl Refused {
    pub(crate) fn whole(file: &Path, why: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, column: None, why: why.into() }
    }

    /// Because of what is at a byte of the text.
    pub(crate) fn at(source: &Source, byte: usize, why: impl Into<String>) -> Self {
        let (line, column) = source.lines.position(source.text(), byte);
        Self {
            file: source.file.clone(),
            line: Some(line),
            column: Some(column),
            why: text::plain(&why.into()),
        }
    }
}

/// The text of a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Where it is, links resolved.
    pub(crate) file: PathBuf,
    /// Its owner.
    pub(crate) owner: Owner,
    /// What it holds, which all changes of it share.
    pub(crate) original: Arc<Original>,
    /// Where its lines end.
    pub(crate) lines: Lines,
    /// One step of indentation, cached once it was computed.
    pub(crate) unit: OnceCell<String>,
}

/// Larger than any configuration that was written by hand.
const LARGEST: u64 = 8 << 20;
/// Of all files together: they are kept until the last one was read.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

impl Source {
    /// Reads a file. There is nothing if it does not exist.
    ///
    /// `room` is how many bytes of configuration may still be read, of all files together.
    pub(crate) fn read(
        file: &Path,
        owner: Owner,
        places: &Places,
        room: &mut u64,
    ) -> Result<Option<Self>, Refused> {
        let cannot = |error: std::io::Error| Refused::whole(file, format!("cannot be read: {error}"));
        let real = match fs::canonicalize(file) {
            Ok(real) => real,
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && fs::symlink_metadata(file).is_err() =>
            {
                return Ok(None);
            }
            Err(error) => return Err(cannot(error)),
        };
        let is_link = fs::symlink_metadata(file).map_err(cannot)?.is_symlink();
        if !is_within(&real, owner, places) {
            let where_to = text::plain(&real.display().to_string());
            return Err(Refused::whole(file, format!("leads outside of the folder, to {where_to}")));
        }
        // Checked before opening: opening a pipe would wait for a writer.
        let metadata = fs::metadata(&real).map_err(cannot)?;
        if !metadata.is_file() {
            return Err(Refused::whole(file, "is not a regular file"));
        }
        let opened = open(&real).map_err(cannot)?;
        if opened.metadata().map_err(cannot)?.len() > LARGEST {
            return Err(Refused::whole(file, "is larger than 8 MiB"));
        }
        let mut bytes = Vec::new();
        opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
        let size = bytes.len() as u64;
        if size > LARGEST {
            return Err(Refused::whole(file, "is larger than 8 MiB"));
        }
        *room = room.checked_sub(size).ok_or_else(|| {
            Refused::whole(
                file,
                format!("is left out: there are more than {} MiB of configuration", MOST_BYTES >> 20),
            )
        })?;
        // An edit replaces the file, and a link must stay one.
        let file = if is_link { real } else { file.to_owned() };
        Self::from_bytes(file, owner, bytes).map(Some)
    }

    /// Decodes what a file holds.
    pub(crate) fn from_bytes(file: PathBuf, owner: Owner, bytes: Vec<u8>) -> Result<Self, Refused> {
        // UTF-16 is recognised by its mark, or by a zero next to the first character, which is `{`, `<` or the like.
        if matches!(bytes.as_slice(), [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, ..] | [_, 0, ..]) {
            let why = "is UTF-16, which is not edited: save it as UTF-8 and look again";
            return Err(Refused::whole(&file, why));
        }
        match String::from_utf8(bytes) {
            Ok(whole) => Ok(Self::new(file, owner, whole)),
            Err(error) => {
                let end = error.utf8_error().valid_up_to();
                let source =
                    Self::new(file, owner, String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned());
                Err(Refused::at(&source, source.text().len(), "is not UTF-8"))
            }
        }
    }

    fn new(file: PathBuf, owner: Owner, whole: String) -> Self {
        let original = Original::new(file.clone(), whole);
        let lines = Lines::of(original.text());
        Self { file, owner, original: Arc::new(original), lines, unit: OnceCell::new() }
    }

    /// Its text, without a byte order mark.
    pub(crate) fn text(&self) -> &str {
        self.original.text()
    }

    /// The line of a byte of the text.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.line(at)
    }

    /// What the line of a byte is indented by, and whether nothing else is before the byte.
    pub(crate) fn indentation(&self, at: usize) -> (&str, bool) {
        self.lines.indentation(self.text(), at)
    }

    /// How the file ends its lines.
    pub(crate) fn newline(&self) -> &'static str {
        self.lines.newline(self.text())
    }

    /// The folder that the file is in.
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }
}

/// Opens what was a regular file a moment ago. If a link or a pipe took its place, it is neither followed nor waited for.
pub(crate) fn open(file: &Path) -> std::io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let opened = options.open(file)?;
    match opened.metadata()?.is_file() {
        true => Ok(opened),
        false => Err(std::io::Error::other("it was replaced by something that is not a regular file")),
    }
}

/// Whether a file is where its owner keeps files.
fn is_within(real: &Path, owner: Owner, places: &Places) -> bool {
    let below = |folder: &Path| fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder));
    match owner {
        Owner::Project => below(&places.folder),
        Owner::User => {
            places.home.as_deref().is_some_and(below) || places.settings.as_deref().is_some_and(below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> Refused {
        Source::from_bytes("a.json".into(), Owner::Project, bytes.to_vec()).expect_err("is not accepted")
    }

    #[test]
    fn other_encodings_are_refused() {
        for bytes in [&b"\xff\xfe{\0"[..], b"\xfe\xff\0{", b"{\0}\0", b"\0{\0}"] {
            assert!(refused(bytes).why.contains("UTF-16"), "{bytes:?}");
        }
        let latin = refused(b"{\n  \"n\": \"J\xfcrgen\"}");
        assert_eq!((latin.line, latin.column), (Some(2), Some(10)));
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        let source =
            Source::from_bytes("a".into(), Owner::Project, b"\xef\xbb\xbf{}".to_vec()).expect("is UTF-8");
        assert_eq!((source.text(), source.original.whole().len()), ("{}", 5));
    }
}
