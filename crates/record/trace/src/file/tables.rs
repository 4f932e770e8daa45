//! Bulk facts other than events: trie nodes, clock readings, memory samples, names of marks, symbols.

use super::cursor::{Cursor, Put};
use super::limits::{
    Excess, MOST_ADDRESSES, MOST_FRAMES, MOST_IMAGES, MOST_NODES, MOST_READINGS, MOST_SAMPLES, MOST_STRINGS,
};
use super::records::ProcessIndex;
use crate::event::Epoch;
use crate::live::layout::MAX_MARK_NAMES;

/// A run of nodes of one process's trie; see [`crate::live::node`].
///
/// Payload: process, first id, count, then per node: parent (as distance `id - parent`, signed), key with its flag
/// bits rotated down (signed difference to the key before).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Whose trie.
    pub process: ProcessIndex,
    /// Id of the first node here.
    pub first_id: u32,
    /// `(parent, key)` of each. A key of 0 is a node that was not published.
    pub nodes: Vec<(u32, u64)>,
}

impl Nodes {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.nodes.len() * 6 + 16);
        out.put(u64::from(self.process.0));
        out.put(u64::from(self.first_id));
        out.put(self.nodes.len() as u64);
        let mut before = 0u64;
        for (i, &(parent, key)) in self.nodes.iter().enumerate() {
            out.put_signed(i64::from(self.first_id) + i as i64 - i64::from(parent));
            let key = key.rotate_left(3);
            out.put_signed(key.wrapping_sub(before) as i64);
            before = key;
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let process = ProcessIndex(u32::try_from(c.get()?).ok()?);
        let first_id = u32::try_from(c.get()?).ok()?;
        let count = excess.count(&mut c, MOST_NODES, "frames of stacks")?;
        let mut nodes = Vec::with_capacity(count);
        let mut before = 0u64;
        for i in 0..count {
            let parent = i64::from(first_id).wrapping_add(i as i64).wrapping_sub(c.get_signed()?);
            before = before.wrapping_add(c.get_signed()? as u64);
            nodes.push((u32::try_from(parent).ok()?, before.rotate_right(3)));
        }
        c.is_empty().then_some(Self { process, first_id, nodes })
    }
}

/// Which epoch it was at which time, in nanoseconds since the command was started. Ascending in both.
///
/// Payload: count, then per reading: epoch difference, time difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockReadings(pub Vec<(Epoch, u64)>);

impl ClockReadings {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(self.0.len() as u64);
        let mut before = (0u64, 0u64);
        for &(epoch, time_ns) in &self.0 {
            out.put(epoch.0.wrapping_sub(before.0));
            out.put(time_ns.wrapping_sub(before.1));
            before = (epoch.0, time_ns);
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let mut before = (0u64, 0u64);
        let mut readings = Vec::new();
        for _ in 0..excess.count(&mut c, MOST_READINGS, "readings of the clock")? {
            before = (before.0.wrapping_add(c.get()?), before.1.wrapping_add(c.get()?));
            readings.push((Epoch(before.0), before.1));
        }
        c.is_empty().then_some(Self(readings))
    }
}

/// A reading of a process's resident set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub process: ProcessIndex,
    /// Nanoseconds since the command was started.
    pub time_ns: u64,
    /// Resident bytes, without the recorder's own shared memory as far as it is known.
    pub rss_bytes: u64,
}

/// Memory samples. Payload: count, then per sample: process, signed time difference, signed difference in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples(pub Vec<Sample>);

impl Samples {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(self.0.len() as u64);
        let mut before = Sample::default();
        for sample in &self.0 {
            out.put(u64::from(sample.process.0));
            out.put_signed(sample.time_ns.wrapping_sub(before.time_ns) as i64);
            out.put_signed(sample.rss_bytes.wrapping_sub(before.rss_bytes) as i64);
            before = *sample;
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let mut samples = Vec::new();
        let mut before = Sample::default();
        for _ in 0..excess.count(&mut c, MOST_SAMPLES, "memory samples")? {
            before.process = ProcessIndex(u32::try_from(c.get()?).ok()?);
            before.time_ns = before.time_ns.wrapping_add(c.get_signed()? as u64);
            before.rss_bytes = before.rss_bytes.wrapping_add(c.get_signed()? as u64);
            samples.push(before);
        }
        c.is_empty().then_some(Self(samples))
    }
}

/// A run of names of marks of one process; see [`crate::live::marks`].
///
/// Payload: process, id of the first name, count, names (bytes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkNames {
    /// Whose names.
    pub process: ProcessIndex,
    /// Id of the first name here.
    pub first_id: u32,
    /// The names. One that was cut ends in `…`.
    pub names: Vec<String>,
}

impl MarkNames {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(u64::from(self.process.0));
        out.put(u64::from(self.first_id));
        out.put(self.names.len() as u64);
        self.names.iter().for_each(|name| out.put_bytes(name.as_bytes()));
        out
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let mut c = Cursor(payload);
        let process = ProcessIndex(u32::try_from(c.get()?).ok()?);
        let first_id = u32::try_from(c.get()?).ok()?;
        let count = c.count().filter(|count| *count <= MAX_MARK_NAMES)?;
        let mut names = Vec::with_capacity(count);
        for _ in 0..count {
            names.push(String::from_utf8_lossy(c.bytes()?).into_owned());
        }
        c.is_empty().then_some(Self { process, first_id, names })
    }
}

/// One source-level frame of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SymbolFrame {
    /// Index of the function's name in [`Symbols::strings`].
    pub function: Option<u32>,
    /// Index of the file's path in [`Symbols::strings`].
    pub file: Option<u32>,
    /// Line in the file, from 1. Without a file: how far the address is behind the function's beginning, in bytes.
    pub line: Option<u32>,
    /// Whether the compiler inlined this frame into the next one.
    pub inlined: bool,
}

impl SymbolFrame {
    /// How far the address is behind the function's beginning, of a frame without a source file for which that is known.
    pub fn distance_from_start(&self) -> Option<u32> {
        self.line.filter(|_| self.file.is_none() && !self.inlined)
    }
}

/// Names for addresses of object files.
///
/// Payload: strings; images (path string, build id string); per image: entries (address difference, frames).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    pub strings: Vec<String>,
    /// All frames of all addresses.
    pub frames: Vec<SymbolFrame>,
    /// The object files.
    pub images: Vec<ImageSymbols>,
}

/// The symbols of one object file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageSymbols {
    /// Path as in [`super::records::ModuleInfo`].
    pub path: String,
    /// Build id as in [`super::records::ModuleInfo`].
    pub build_id: String,
    /// Link-time address and its range in [`Symbols::frames`], innermost frame first; ascending.
    pub addresses: Vec<(u64, std::ops::Range<u32>)>,
}

impl Symbols {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(self.strings.len() as u64);
        self.strings.iter().for_each(|s| out.put_bytes(s.as_bytes()));
        out.put(self.images.len() as u64);
        for image in &self.images {
            out.put_bytes(image.path.as_bytes());
            out.put_bytes(image.build_id.as_bytes());
            out.put(image.addresses.len() as u64);
            let mut before = 0;
            for (address, range) in &image.addresses {
                out.put(address.wrapping_sub(before));
                before = *address;
                let frames = self.frames.get(range.start as usize..range.end as usize).unwrap_or(&[]);
                out.put(frames.len() as u64);
                for frame in frames {
                    out.put(frame.function.map_or(0, |i| u64::from(i) + 1));
                    out.put(frame.file.map_or(0, |i| u64::from(i) + 1));
                    out.put(frame.line.map_or(0, u64::from) << 1 | u64::from(frame.inlined));
                }
            }
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let mut symbols = Self::default();
        let n_strings = excess.count(&mut c, MOST_STRINGS, "names")?;
        for _ in 0..n_strings {
            symbols.strings.push(String::from_utf8_lossy(c.bytes()?).into_owned());
        }
        let string = |index: u64| match index {
            0 => Some(None),
            i if i <= n_strings as u64 => Some(Some((i - 1) as u32)),
            _ => None,
        };
        let mut n_addresses = 0;
        for _ in 0..excess.count(&mut c, MOST_IMAGES, "object files")? {
            let path = String::from_utf8_lossy(c.bytes()?).into_owned();
            let build_id = String::from_utf8_lossy(c.bytes()?).into_owned();
            let mut addresses = Vec::new();
            let mut address = 0u64;
            let here = c.count()?;
            n_addresses += here;
            excess.more(n_addresses, MOST_ADDRESSES, "addresses with names")?;
            for _ in 0..here {
                address = address.wrapping_add(c.get()?);
                let start = symbols.frames.len() as u32;
                let frames = c.count()?;
                excess.more(symbols.frames.len() + frames, MOST_FRAMES, "frames with names")?;
                for _ in 0..frames {
                    let (function, file) = (string(c.get()?)?, string(c.get()?)?);
                    let line = c.get()?;
                    let number = u32::try_from(line >> 1).ok()?;
                    symbols.frames.push(SymbolFrame {
                        function,
                        file,
                        line: (number != 0).then_some(number),
                        inlined: line & 1 != 0,
                    });
                }
                addresses.push((address, start..symbols.frames.len() as u32));
            }
            symbols.images.push(ImageSymbols { path, build_id, addresses });
        }
        c.is_empty().then_some(symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_of_marks_survive(process: u32, first_id: u32, names in proptest::collection::vec(".{0,9}", 0..20)) {
            let names = MarkNames { process: ProcessIndex(process), first_id, names };
            prop_assert_eq!(MarkNames::decode(&names.encode()), Some(names));
        }

        #[test]
        fn garbage_is_none_not_a_panic(bytes: Vec<u8>) {
            let _ = MarkNames::decode(&bytes);
        }
    }

    #[test]
    fn the_example_of_the_documentation_is_true() {
        let names = vec!["load".to_owned(), "parse".to_owned()];
        let names = MarkNames { process: ProcessIndex(0), first_id: 1, names };
        let payload = b"\x00\x01\x02\x04load\x05parse";
        assert_eq!(names.encode(), payload);
        assert_eq!(MarkNames::decode(payload), Some(names));
    }

    #[test]
    fn more_names_than_a_process_can_have_are_refused_before_they_take_memory() {
        let mut payload = vec![0, 1];
        payload.put(MAX_MARK_NAMES as u64 + 1);
        payload.resize(payload.len() + MAX_MARK_NAMES + 1, 0);
        assert_eq!(MarkNames::decode(&payload), None);
    }
}
