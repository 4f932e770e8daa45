//! The file that a benchmark leaves, `heapwise.bench/1`: what one iteration allocates.
//!
//! Whoever can write below the target folder can write such a file, and a baseline may come from another machine: what makes no
//! sense is refused with a reason.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The schema that is read here.
pub(crate) const SCHEMA: &str = "heapwise.bench/1";
/// Files of benchmarks have some hundred bytes, most of them for the name.
const MOST_BYTES: u64 = 1 << 20;

/// What was counted in one iteration, or on average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts<N> {
    pub(crate) allocations: N,
    pub(crate) reallocations: N,
    pub(crate) deallocations: N,
    /// Requested bytes of allocations and reallocations.
    pub(crate) allocated_bytes: N,
    /// The most bytes that were live at one time, above what was live before the iteration.
    pub(crate) peak_live_bytes: N,
}

impl<N: Copy> Counts<N> {
    fn all(&self) -> [N; 5] {
        [self.allocations, self.reallocations, self.deallocations, self.allocated_bytes, self.peak_live_bytes]
    }
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bench {
    pub(crate) schema: String,
    /// Its name.
    pub(crate) id: String,
    /// The executable that it is in.
    pub(crate) target: String,
    /// The run that it is of, if cargo heapwise started it.
    #[serde(default)]
    pub(crate) run: String,
    /// How many iterations the numbers are of, without the first one.
    pub(crate) iterations: u64,
    /// The first iteration, in which caches are filled.
    pub(crate) first: Counts<u64>,
    pub(crate) mean: Counts<f64>,
    pub(crate) min: Counts<u64>,
    pub(crate) max: Counts<u64>,
}

#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
}

impl Bench {
    /// Reads a file, or says why it is none.
    pub(crate) fn read(path: &Path) -> Result<(Self, Vec<u8>), String> {
        // To open a pipe would wait for its writer.
        if !path.metadata().map_err(|error| error.to_string())?.is_file() {
            return Err("it is not a file".to_owned());
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err("it is larger than any file of a benchmark".to_owned());
        }
        Self::parse(&bytes).map(|bench| (bench, bytes))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let header: Header =
            serde_json::from_slice(bytes).map_err(|error| format!("it is damaged: {error}"))?;
        match header.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => {
                let other: String = other.chars().take(64).collect();
                return Err(format!(
                    "its schema is {:?} and not {SCHEMA}; use versions of heapwise and cargo-heapwise that belong together",
                    other
                ));
            }
            None => return Err(format!("it is damaged: it names no schema, where {SCHEMA} was expected")),
        }
        let bench: Self = serde_json::from_slice(bytes).map_err(|error| format!("it is damaged: {error}"))?;
        bench.check()?;
        Ok(bench)
    }

    fn check(&self) -> Result<(), String> {
        if self.iterations == 0 {
            return Err("it is damaged: no iteration was measured".to_owned());
        }
        let ranges = self.min.all().into_iter().zip(self.max.all());
        for (mean, (min, max)) in self.mean.all().into_iter().zip(ranges) {
            // A mean may be rounded.
            let is_inside = mean >= min as f64 - 1.0 && mean <= max as f64 + 1.0;
            if !is_inside || mean < 0.0 {
                return Err(format!("it is damaged: a mean of {mean} is not between {min} and {max}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A benchmark whose iterations all need the same: so many allocations, bytes, and bytes at the peak.
    pub(crate) fn bench(target: &str, id: &str, [allocations, bytes, peak]: [u64; 3]) -> Bench {
        let counts = Counts {
            allocations,
            reallocations: 0,
            deallocations: allocations,
            allocated_bytes: bytes,
            peak_live_bytes: peak,
        };
        let mean = Counts {
            allocations: allocations as f64,
            reallocations: 0.0,
            deallocations: allocations as f64,
            allocated_bytes: bytes as f64,
            peak_live_bytes: peak as f64,
        };
        let (id, target) = (id.to_owned(), target.to_owned());
        let (first, min, max) = (counts.clone(), counts.clone(), counts);
        Bench {
            schema: SCHEMA.to_owned(),
            id,
            target,
            run: "r".into(),
            iterations: 10,
            first,
            mean,
            min,
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::bench;
    use super::*;
    use proptest::prelude::*;

    fn error(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let mut value = serde_json::to_value(bench("t", "a", [1, 2, 3])).expect("JSON");
        change(&mut value);
        Bench::parse(value.to_string().as_bytes()).map_or_else(|error| error, |_| String::new())
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        assert_eq!(error(|_| {}), "");
        assert_eq!(error(|value| value["new"] = 1.into()), "", "fields may be added");
        assert!(error(|value| value["schema"] = "heapwise.bench/2".into()).contains("belong together"));
        assert!(error(|value| value["schema"] = 1.into()).contains("damaged"));
        assert!(error(|value| value["iterations"] = 0.into()).contains("no iteration"));
        assert!(error(|value| value["iterations"] = (-1).into()).contains("damaged"));
        assert!(error(|value| value["mean"]["allocations"] = 7.into()).contains("not between 1 and 1"));
        assert!(
            error(|value| value["min"]["allocated_bytes"] = 4.into())
                .contains("a mean of 2 is not between 4")
        );
        assert!(error(|value| _ = value["first"].take()).contains("damaged"));
        for text in ["", "[]", "{", "null", "\u{0}"] {
            assert!(
                Bench::parse(text.as_bytes()).expect_err("no file").starts_with("it is damaged"),
                "{text}"
            );
        }
        let deep = "[".repeat(100_000);
        assert!(Bench::parse(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_huge_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.json");
        File::create(&path).and_then(|file| file.set_len(MOST_BYTES * 1000)).expect("a file");
        assert!(Bench::read(&path).expect_err("no file").contains("larger"));
        assert_eq!(Bench::read(folder.path()), Err("it is not a file".to_owned()));
        #[cfg(unix)]
        assert_eq!(Bench::read(Path::new("/dev/null")), Err("it is not a file".to_owned()));
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_are_nothing_breaks(bytes: Vec<u8>) {
            let _ = Bench::parse(&bytes);
        }
    }
}
