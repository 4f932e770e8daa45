//! What `heapwise replay FILE --format json` says about each allocator.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The schema that this reads.
const SCHEMA: &str = "heapwise.replay/1";

/// What is predicted for one allocator.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Prediction {
    pub(crate) allocator: String,
    pub(crate) peak_rss_bytes: Option<u64>,
    pub(crate) rss_after_bytes: Option<u64>,
    pub(crate) cpu_ns: Option<Range>,
    /// Why there are no figures, for instance; it is shown as it is.
    #[serde(default)]
    pub(crate) outcome: serde_json::Value,
}

/// A figure and how far it may be off.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Range {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Replays a recording under the allocators.
pub(crate) fn replay(heapwise: &Path, recording: &Path, allocators: &[&str]) -> Result<Vec<Prediction>> {
    let output = Command::new(heapwise)
        .args([OsStr::new("replay"), recording.as_os_str()])
        .args(["--with", &allocators.join(","), "--format", "json"])
        .output()
        .with_context(|| format!("cannot run {}", heapwise.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`heapwise replay` ended with {}\n{messages}", output.status);
    read(&output.stdout)
}

/// Reads the document.
fn read(document: &[u8]) -> Result<Vec<Prediction>> {
    #[derive(Deserialize)]
    struct Document {
        schema: String,
        candidates: Vec<serde_json::Value>,
    }
    let document: Document =
        serde_json::from_slice(document).context("`heapwise replay` did not write JSON")?;
    if document.schema != SCHEMA {
        bail!("`heapwise replay` wrote {}, and not {SCHEMA}", document.schema);
    }
    let candidates = document.candidates.into_iter();
    candidates.map(|candidate| Ok(serde_json::from_value(candidate)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_read_with_and_without_figures() {
        let document = br#"{"schema":"heapwise.replay/1","later":1,"candidates":[
            {"allocator":"glibc","version":"2.36","settings":{},"peak_rss_bytes":1000,"rss_after_bytes":null,
             "cpu_ns":{"median":5,"low":4.5,"high":6},"outcome":"ok"},
            {"allocator":"snmalloc","outcome":{"died":"signal 9"}}]}"#;
        let candidates = read(document).unwrap();
        assert_eq!((candidates[0].peak_rss_bytes, candidates[0].rss_after_bytes), (Some(1000), None));
        let cpu = candidates[0].cpu_ns.unwrap();
        assert_eq!((cpu.median, cpu.low, cpu.high), (5.0, 4.5, 6.0));
        assert!(candidates[1].cpu_ns.is_none() && candidates[1].peak_rss_bytes.is_none());
    }

    #[test]
    fn something_else_is_refused() {
        assert!(read(b"no").unwrap_err().to_string().contains("JSON"));
        let other = br#"{"schema":"heapwise.replay/2","candidates":[]}"#;
        assert!(read(other).unwrap_err().to_string().contains("heapwise.replay/2"));
    }
}
