//! Heap profiles in pprof's format: gzip around a protobuf message.
//!
//! [`Encoder`] writes the message in pieces, [`Strings`] and [`Functions`] are the tables that its parts refer to. Exports of recordings and
//! programs that serve their own profile write the same format by it.
//!
//! The sample types are those of Go's heap profiles, which every reader of heap profiles supports.

mod messages;

pub use messages::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};

/// What the values of a heap profile are, and their units.
pub const SAMPLE_TYPES: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];
/// What its period is, and its unit.
pub const PERIOD_TYPE: (&str, &str) = ("space", "bytes");

/// Pieces of the message are written out at this size.
const PIECE: usize = 1 << 16;

/// A profile while it is written. Fields of a protobuf message may come in any number of pieces.
#[derive(Debug)]
pub struct Encoder<W: Write> {
    out: GzEncoder<W>,
    buffer: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    /// Writes to `out`, compressed.
    pub fn new(out: W) -> Self {
        Self { out: GzEncoder::new(out, Compression::default()), buffer: Vec::new() }
    }

    /// Writes a part of the profile.
    ///
    /// # Errors
    /// Those of what is written to.
    pub fn put(&mut self, piece: &Profile) -> io::Result<()> {
        piece.encode(&mut self.buffer)?;
        if self.buffer.len() >= PIECE {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the two tables, which nothing may be added to any more, and the end; returns what was written to.
    ///
    /// # Errors
    /// Those of what is written to.
    pub fn finish(mut self, functions: Functions, strings: Strings) -> io::Result<W> {
        self.put(&Profile { function: functions.list, ..Profile::default() })?;
        for string in strings.list {
            self.put(&Profile { string_table: vec![string], ..Profile::default() })?;
        }
        self.out.write_all(&self.buffer)?;
        self.out.finish()
    }
}

/// The table of strings.
#[derive(Debug)]
pub struct Strings {
    list: Vec<String>,
    indices: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { list: Vec::new(), indices: HashMap::new() };
        // The first string has to be the empty one.
        strings.index("");
        strings
    }
}

impl Strings {
    /// The index of a string.
    pub fn index(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        let index = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }

    /// The head of a heap profile: the types of its values, and how many bytes lie between two samples (1 if all were recorded).
    pub fn head(&mut self, default_type: &str, period: i64) -> Profile {
        let mut kind = |(kind, unit)| ValueType { kind: self.index(kind), unit: self.index(unit) };
        let sample_type = SAMPLE_TYPES.map(&mut kind).to_vec();
        let period_type = Some(kind(PERIOD_TYPE));
        let default_sample_type = self.index(default_type);
        Profile { sample_type, period_type, period, default_sample_type, ..Profile::default() }
    }
}

/// Where an object file was loaded: its first address, the one behind it, and how far that is from where it was linked to be.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one.
    pub end: u64,
    /// What is added to addresses as linked.
    pub bias: u64,
}

/// Where an object file was linked to be, from its first address to the one behind its last: as far as that is known, and at least from the
/// first to the last of the addresses that occur.
pub fn reach((from, to): (u64, u64), loaded: Option<Loaded>) -> (u64, u64) {
    let start = loaded.map(|file| file.start.wrapping_sub(file.bias)).filter(|start| *start <= from);
    let end = loaded.map(|file| file.end.wrapping_sub(file.bias)).filter(|end| *end > to);
    (start.unwrap_or(from), end.unwrap_or(to.saturating_add(1)))
}

impl Mapping {
    /// An object file, with all that [`reach`] says. Its name and build id are indices of strings.
    pub fn as_linked(
        id: u64,
        covers: (u64, u64),
        loaded: Option<Loaded>,
        filename: i64,
        build_id: i64,
    ) -> Self {
        let (memory_start, memory_limit) = reach(covers, loaded);
        Self {
            id,
            memory_start,
            memory_limit,
            file_offset: 0,
            filename,
            build_id,
            // Otherwise readers would look for names again, in files that may have been replaced by now.
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        }
    }
}

/// The table of functions.
#[derive(Debug, Default)]
pub struct Functions {
    list: Vec<Function>,
    ids: HashMap<(i64, i64), u64>,
}

impl Functions {
    /// The number of a function with this name in this file, both as indices of strings.
    pub fn id(&mut self, name: i64, filename: i64) -> u64 {
        let id = self.list.len() as u64 + 1;
        *self.ids.entry((name, filename)).or_insert_with(|| {
            self.list.push(Function { id, name, filename });
            id
        })
    }
}

/// A value as a profile has it, whose numbers are signed.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn pieces_are_one_message() {
        let (mut strings, mut functions) = (Strings::default(), Functions::default());
        let mut encoder = Encoder::new(Vec::new());
        encoder.put(&strings.head("inuse_space", 512)).expect("to memory");
        let (name, file) = (strings.index("main"), strings.index("main.rs"));
        let function_id = functions.id(name, file);
        assert_eq!(functions.id(name, file), function_id);
        for id in 1..=20_000 {
            let line = vec![Line { function_id, line: id as i64 }];
            encoder
                .put(&Profile {
                    location: vec![Location { id, line, ..Location::default() }],
                    ..Profile::default()
                })
                .expect("to memory");
        }
        let bytes = encoder.finish(functions, strings).expect("to memory");
        let mut message = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut message).expect("it is gzip");
        let profile = Profile::decode(&message[..]).expect("it is a profile");
        let text = |index: i64| profile.string_table[index as usize].as_str();
        let types: Vec<_> = profile.sample_type.iter().map(|t| (text(t.kind), text(t.unit))).collect();
        assert_eq!(types[0], ("alloc_objects", "count"));
        assert_eq!(types[3], ("inuse_space", "bytes"));
        assert_eq!((text(profile.default_sample_type), profile.period), ("inuse_space", 512));
        assert_eq!((text(0), text(profile.function[0].name)), ("", "main"));
        assert_eq!((profile.location.len(), profile.function.len()), (20_000, 1));
    }

    #[test]
    fn a_mapping_covers_what_occurs() {
        let loaded = Loaded { start: 0x5000_1000, end: 0x5000_9000, bias: 0x5000_0000 };
        let ends = |range, loaded| {
            let mapping = Mapping::as_linked(1, range, loaded, 2, 3);
            (mapping.memory_start, mapping.memory_limit)
        };
        assert_eq!(ends((0x2000, 0x3000), Some(loaded)), (0x1000, 0x9000));
        assert_eq!(ends((0x800, 0x9000), Some(loaded)), (0x800, 0x9001));
        assert_eq!(ends((0x800, u64::MAX), None), (0x800, u64::MAX));
    }
}
