//! The tables that all threads of a profile share: columns, and indices from one to the other.
//!
//! The names of fields are those of version 63 of the format, which is documented in the Firefox Profiler's
//! `src/types/profile.ts` and `docs-developer/CHANGELOG-formats.md`.

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// Gives each new key the next index.
#[derive(Debug)]
pub(super) struct Indices<K>(FxHashMap<K, usize>);

impl<K> Default for Indices<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Eq + Hash> Indices<K> {
    /// The key's index, and whether it is new.
    pub(super) fn of(&mut self, key: K) -> (usize, bool) {
        let next = self.0.len();
        let index = *self.0.entry(key).or_insert(next);
        (index, index == next && self.0.len() > next)
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shared {
    pub(super) stack_table: StackTable,
    pub(super) frame_table: FrameTable,
    pub(super) func_table: FuncTable,
    pub(super) resource_table: ResourceTable,
    pub(super) native_symbols: NativeSymbols,
    pub(super) sources: Sources,
    pub(super) string_array: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct StackTable {
    pub(super) frame: Vec<usize>,
    pub(super) prefix: Vec<Option<usize>>,
    pub(super) length: usize,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub(super) address: Vec<i64>,
    pub(super) inline_depth: Vec<usize>,
    pub(super) category: Vec<usize>,
    pub(super) subcategory: Vec<usize>,
    pub(super) func: Vec<usize>,
    pub(super) native_symbol: Vec<Option<usize>>,
    #[serde(rename = "innerWindowID")]
    pub(super) inner_window_id: Vec<u32>,
    pub(super) line: Vec<Option<u32>>,
    pub(super) column: Vec<Option<u32>>,
    pub(super) length: usize,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    pub(super) name: Vec<usize>,
    #[serde(rename = "isJS")]
    pub(super) is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub(super) relevant_for_js: Vec<bool>,
    pub(super) resource: Vec<i64>,
    pub(super) source: Vec<Option<usize>>,
    pub(super) line_number: Vec<Option<u32>>,
    pub(super) column_number: Vec<Option<u32>>,
    pub(super) length: usize,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct ResourceTable {
    #[serde(rename = "type")]
    pub(super) kind: Vec<u32>,
    pub(super) lib: Vec<Option<usize>>,
    pub(super) name: Vec<usize>,
    pub(super) host: Vec<Option<usize>>,
    pub(super) length: usize,
}

/// Stays empty: frames have their functions already, and the addresses of functions are not known.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeSymbols {
    lib_index: [usize; 0],
    address: [u64; 0],
    name: [usize; 0],
    function_size: [u64; 0],
    length: usize,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sources {
    pub(super) id: Vec<Option<usize>>,
    pub(super) filename: Vec<usize>,
    pub(super) start_line: Vec<u32>,
    pub(super) start_column: Vec<u32>,
    #[serde(rename = "sourceMapURL")]
    pub(super) source_map_url: Vec<Option<usize>>,
    pub(super) length: usize,
}

/// An object file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lib {
    pub(super) arch: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) debug_name: String,
    pub(super) debug_path: String,
    pub(super) breakpad_id: String,
    pub(super) code_id: Option<String>,
}

/// Mozilla's name for a build: the first 16 bytes of the build id as a GUID, whose first three numbers are little-endian,
/// and an age of 0.
pub(super) fn breakpad_id(build_id: &str) -> String {
    let digits: String =
        build_id.chars().filter(char::is_ascii_hexdigit).chain("0".repeat(32).chars()).take(32).collect();
    let swapped: [std::ops::Range<usize>; 9] =
        [6..8, 4..6, 2..4, 0..2, 10..12, 8..10, 14..16, 12..14, 16..32];
    let guid: String = swapped.into_iter().map(|part| &digits[part]).collect();
    guid.to_uppercase() + "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_the_name_that_mozilla_gives_it() {
        let id = breakpad_id("ca75aaf3e54d4d27b2f2b5be5a8c2bcf00112233");
        assert_eq!(id, "F3AA75CA4DE5274DB2F2B5BE5A8C2BCF0");
        assert_eq!(breakpad_id(""), "0".repeat(33));
    }

    #[test]
    fn indices_say_what_is_new() {
        let mut indices = Indices::default();
        let answers = ["a", "b", "a"].map(|key| indices.of(key));
        assert_eq!(answers, [(0, true), (1, true), (0, false)]);
    }
}
