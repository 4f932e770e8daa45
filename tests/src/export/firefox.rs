//! The rules of the Firefox Profiler's processed profile, version 63.
//!
//! The Profiler itself has no checks: a wrong index shows as a wrong or an empty picture. So its rules are checked here, as its
//! type definitions state them: tables are columns of the same length, and indices refer to the other tables.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A profile that kept the rules.
#[derive(Clone, Debug)]
pub struct Profile {
    json: Value,
}

impl Profile {
    /// Reads a profile and checks all rules.
    ///
    /// # Panics
    /// If one is broken.
    pub fn read(file: &Path) -> Self {
        let text = std::fs::read(file).expect("an export");
        let profile = Self { json: serde_json::from_slice(&text).expect("JSON") };
        profile.check();
        profile
    }

    /// Sums of the weights of each thread, by its name.
    pub fn sums(&self) -> BTreeMap<&str, u64> {
        let threads = self.json["threads"].as_array().expect("threads").iter();
        threads
            .map(|thread| {
                let weights = numbers(&thread["samples"]["weight"]);
                (thread["name"].as_str().expect("a name"), weights.iter().map(|&w| w as u64).sum())
            })
            .collect()
    }

    /// All stacks of a thread as `function (file:line)` from the outermost inwards, inlined ones with a `+`.
    pub fn stacks(&self, thread: &str) -> Vec<Vec<String>> {
        let mut threads = self.json["threads"].as_array().expect("threads").iter();
        let thread = threads.find(|t| t["name"] == thread).expect("a thread of this name");
        let stacks = thread["samples"]["stack"].as_array().expect("stacks").iter();
        stacks.map(|stack| self.stack(stack.as_u64())).collect()
    }

    /// The levels of a counter, by its name.
    pub fn levels(&self, counter: &str) -> Vec<i64> {
        let mut counters = self.json["counters"].as_array().expect("counters").iter();
        let counter = counters.find(|c| c["name"] == counter).expect("a counter of this name");
        let mut level = 0;
        let changes = numbers(&counter["samples"]["count"]);
        changes
            .into_iter()
            .map(|change| {
                level += change;
                level
            })
            .collect()
    }

    /// Names of the markers of all threads with their begin and end in milliseconds, as far as they have them.
    pub fn markers(&self) -> Vec<(&str, Option<f64>, Option<f64>)> {
        let strings = &self.json["shared"]["stringArray"];
        let tables =
            self.json["threads"].as_array().expect("threads").iter().map(|thread| &thread["markers"]);
        let rows = tables.flat_map(|table| {
            (0..table["length"].as_u64().expect("a length") as usize).map(move |i| (table, i))
        });
        rows.map(|(table, i)| {
            let name = table["name"][i].as_u64().expect("an index") as usize;
            let time = |column: &str| table[column][i].as_f64();
            (strings[name].as_str().expect("a string"), time("startTime"), time("endTime"))
        })
        .collect()
    }

    fn stack(&self, mut at: Option<u64>) -> Vec<String> {
        let (shared, mut frames) = (&self.json["shared"], Vec::new());
        let string =
            |index: &Value| shared["stringArray"][index.as_u64().expect("an index") as usize].as_str();
        while let Some(stack) = at {
            let frame = shared["stackTable"]["frame"][stack as usize].as_u64().expect("a frame") as usize;
            let table = &shared["frameTable"];
            let function = table["func"][frame].as_u64().expect("a function") as usize;
            let name = string(&shared["funcTable"]["name"][function]).expect("a string");
            let source = shared["funcTable"]["source"][function].as_u64();
            let file = source.and_then(|s| string(&shared["sources"]["filename"][s as usize]));
            let line = table["line"][frame].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
            let inlined = if table["inlineDepth"][frame] == 0 { "" } else { "+" };
            frames.push(format!("{inlined}{name} ({}{line})", file.unwrap_or("?")));
            at = shared["stackTable"]["prefix"][stack as usize].as_u64();
        }
        frames.reverse();
        frames
    }

    fn check(&self) {
        let (meta, shared) = (&self.json["meta"], &self.json["shared"]);
        assert_eq!(meta["preprocessedProfileVersion"], 63);
        let categories = meta["categories"].as_array().expect("categories");
        assert_eq!(categories[0]["color"], "grey", "the default category");
        let n_libs = self.json["libs"].as_array().expect("libraries").len();
        let n_strings = shared["stringArray"].as_array().expect("strings").len();
        let columns: [(&str, &[&str]); 6] = [
            ("stackTable", &["frame", "prefix"]),
            (
                "frameTable",
                &[
                    "address",
                    "inlineDepth",
                    "category",
                    "subcategory",
                    "func",
                    "nativeSymbol",
                    "innerWindowID",
                    "line",
                    "column",
                ],
            ),
            (
                "funcTable",
                &["name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"],
            ),
            ("resourceTable", &["type", "lib", "name", "host"]),
            ("nativeSymbols", &["libIndex", "address", "name", "functionSize"]),
            ("sources", &["id", "filename", "startLine", "startColumn", "sourceMapURL"]),
        ];
        let mut length = BTreeMap::new();
        for (table, columns) in columns {
            length.insert(table, equally_long(&shared[table], columns));
        }
        let references = [
            ("stackTable", "frame", length["frameTable"]),
            ("stackTable", "prefix", length["stackTable"]),
            ("frameTable", "func", length["funcTable"]),
            ("frameTable", "category", categories.len()),
            ("funcTable", "name", n_strings),
            ("funcTable", "resource", length["resourceTable"]),
            ("funcTable", "source", length["sources"]),
            ("resourceTable", "lib", n_libs),
            ("resourceTable", "name", n_strings),
            ("sources", "filename", n_strings),
        ];
        for (table, column, limit) in references {
            inside(&shared[table][column], limit, &format!("{table}.{column}"));
        }
        let prefixes = shared["stackTable"]["prefix"].as_array().expect("a column").iter();
        assert!(
            prefixes.enumerate().all(|(at, p)| p.as_u64().is_none_or(|p| (p as usize) < at)),
            "a caller comes first"
        );
        let (start, end) = (0.0, meta["profilingEndTime"].as_f64().expect("an end"));
        let threads = self.json["threads"].as_array().expect("threads");
        for thread in threads {
            equally_long(&thread["samples"], &["stack", "time", "weight"]);
            inside(&thread["samples"]["stack"], length["stackTable"], "a sample's stack");
            let times = thread["samples"]["time"].as_array().expect("times");
            let times: Vec<f64> = times.iter().map(|t| t.as_f64().expect("a time")).collect();
            assert!(times.is_sorted() && times.iter().all(|&t| t >= start && t < end), "{times:?}");
            let kind = thread["samples"]["weightType"].as_str().expect("a type");
            assert!(["bytes", "samples"].contains(&kind), "{kind}");
            let markers = &thread["markers"];
            equally_long(markers, &["data", "name", "startTime", "endTime", "phase", "category"]);
            inside(&markers["name"], n_strings, "a marker's name");
            inside(&markers["category"], categories.len(), "a marker's category");
            for (i, phase) in numbers(&markers["phase"]).into_iter().enumerate() {
                // An instant and a begin have a start, an interval both, an end has an end.
                let has = ["startTime", "endTime"].map(|column| markers[column][i].is_f64());
                assert_eq!(has, [phase != 3, phase == 1 || phase == 3], "marker {i}: {markers}");
            }
            assert!(thread["pid"].is_string() && thread["tid"].is_u64());
        }
        for counter in self.json["counters"].as_array().expect("counters") {
            equally_long(&counter["samples"], &["time", "count"]);
            inside(&serde_json::json!([counter["mainThreadIndex"]]), threads.len(), "a counter's thread");
        }
    }
}

fn numbers(column: &Value) -> Vec<i64> {
    let column = column.as_array().expect("a column");
    column.iter().map(|v| v.as_i64().or(v.as_f64().map(|f| f as i64)).expect("a number")).collect()
}

fn equally_long(table: &Value, columns: &[&str]) -> usize {
    let length = table["length"].as_u64().expect("a length") as usize;
    for column in columns {
        assert_eq!(table[column].as_array().map(Vec::len), Some(length), "{column}");
    }
    length
}

fn inside(column: &Value, limit: usize, what: &str) {
    for value in column.as_array().expect("a column") {
        // What is missing is null, or -1 where the format has no null.
        let fine = value.is_null() || value == -1 || value.as_u64().is_some_and(|i| (i as usize) < limit);
        assert!(fine, "{what}: {value} of {limit}");
    }
}
