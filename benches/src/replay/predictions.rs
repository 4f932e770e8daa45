//! The output of `heapwise replay FILE --format json` about each allocator.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The schema that this reads.
const SCHEMA: &str = "heapwise.replay/1";

/// What is predicted for one allocator.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Prediction {
    pub(crate) allocator: String,
    /// Names and values, or nothing.
    #[serde(default)]
    settings: serde_json::Value,
    pub(crate) peak_rss_bytes: Option<u64>,
    pub(crate) rss_after_bytes: Option<u64>,
    /// Of the allocator and for its pages.
    #[serde(rename = "heap_cpu_ns")]
    pub(crate) cpu_ns: Option<Range>,
    /// Why there are no figures, for instance; it is shown unchanged.
    #[serde(default)]
    pub(crate) outcome: serde_json::Value,
}

impl Prediction {
    /// The allocator with its settings, sorted by name, as in `jemalloc:background_thread=true:dirty_decay_ms=1000`.
    pub(crate) fn candidate(&self) -> String {
        let mut settings: Vec<String> = match &self.settings {
            serde_json::Value::Object(settings) => {
                let text = |value: &serde_json::Value| {
                    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                };
                settings.iter().map(|(name, value)| format!("{name}={}", text(value))).collect()
            }
            serde_json::Value::String(settings) => {
                settings.split([':', ',']).filter(|setting| !setting.is_empty()).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        settings.sort();
        let parts = std::iter::once(self.allocator.clone()).chain(settings);
        parts.collect::<Vec<_>>().join(":")
    }
}

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As fast as it goes, for peaks and processor time, as often as the program ran: some peaks are one of two values.
    Fast { rounds: usize },
    /// With the gaps between events, and so long without any, for what is left after the load.
    Timed { settle: Duration },
}

impl Mode {
    fn options(self) -> Vec<String> {
        match self {
            Self::Fast { rounds } => vec!["--runs".into(), rounds.to_string()],
            Self::Timed { settle } => {
                // Times of calls are not used.
                let settle = format!("{}s", settle.as_secs());
                vec!["--timed".into(), "--settle".into(), settle, "--runs".into(), "0".into()]
            }
        }
    }
}

/// A figure and how far it may be off.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Range {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Replays a recording under the allocators.
pub(crate) fn replay(
    heapwise: &Path,
    recording: &Path,
    candidates: &[&str],
    mode: Mode,
) -> Result<Vec<Prediction>> {
    let output = Command::new(heapwise)
        .args([OsStr::new("replay"), recording.as_os_str()])
        .args(["--with", &candidates.join(","), "--format", "json"])
        .args(mode.options())
        .output()
        .with_context(|| format!("cannot run {}", heapwise.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`heapwise replay` ended with {}\n{messages}", output.status);
    read(&output.stdout)
}

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
             "heap_cpu_ns":{"median":5,"low":4.5,"high":6},"outcome":"ok"},
            {"allocator":"snmalloc","outcome":{"died":"signal 9"}}]}"#;
        let candidates = read(document).unwrap();
        assert_eq!((candidates[0].peak_rss_bytes, candidates[0].rss_after_bytes), (Some(1000), None));
        let cpu = candidates[0].cpu_ns.unwrap();
        assert_eq!((cpu.median, cpu.low, cpu.high), (5.0, 4.5, 6.0));
        assert!(candidates[1].cpu_ns.is_none() && candidates[1].peak_rss_bytes.is_none());
    }

    #[test]
    fn a_candidate_is_named_by_its_sorted_settings() {
        let named = |settings: &str| {
            let text = format!(r#"{{"allocator":"jemalloc","settings":{settings}}}"#);
            serde_json::from_str::<Prediction>(&text).unwrap().candidate()
        };
        assert_eq!(named("null"), "jemalloc");
        assert_eq!(named(r#"{"narenas":2,"dirty_decay_ms":"0"}"#), "jemalloc:dirty_decay_ms=0:narenas=2");
        assert_eq!(named(r#""narenas=2,dirty_decay_ms=0""#), "jemalloc:dirty_decay_ms=0:narenas=2");
    }

    #[test]
    fn something_else_is_refused() {
        assert!(read(b"no").unwrap_err().to_string().contains("JSON"));
        let other = br#"{"schema":"heapwise.replay/2","candidates":[]}"#;
        assert!(read(other).unwrap_err().to_string().contains("heapwise.replay/2"));
    }
}
