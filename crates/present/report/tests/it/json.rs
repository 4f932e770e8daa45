//! The field names that other programs rely on.

use crate::sample::{Sampled, analysis};
use heapwise_diagnosis::diagnose;
use heapwise_report::{JsonOptions, json};
use serde_json::Value;

/// Of the fields that the product promises, those that this report has so far.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "schema",
            "command",
            "exit",
            "duration_ns",
            "totals",
            "interception",
            "processes",
            "threads",
            "memory",
            "sites",
        ],
    ),
    ("/exit", &["code", "signal"]),
    ("/totals", TOTALS),
    ("/processes/0/totals", TOTALS),
    ("/threads/1/totals", TOTALS),
    ("/interception", &["mode", "allocator", "blind_spots"]),
    ("/processes/0", &["pid", "parent", "command", "totals"]),
    ("/threads/0", &["id", "name", "totals", "freed_elsewhere_blocks"]),
    ("/memory", &["peak_rss_bytes", "samples", "marks", "marks_not_listed"]),
    ("", &["spans"]),
    ("/memory/samples/0", &["time_ns", "rss_bytes", "live_bytes"]),
    (
        "/sites/0",
        &[
            "id",
            "stack",
            "allocations",
            "allocated_bytes",
            "reallocations",
            "temporary_allocations",
            "peak_bytes",
            "live_at_exit_bytes",
            "lifetime_ns",
            "freed_on_other_thread",
        ],
    ),
    ("/frames/0", &["function", "file", "line", "inlined"]),
    ("/sites/0/lifetime_ns", &["p50", "p99"]),
    ("", &["findings", "thread_matrix", "other_handovers"]),
    (
        "/findings/0",
        &["id", "severity", "certainty", "title", "site", "sites", "evidence", "estimate", "remedy"],
    ),
    ("/findings/0/estimate", &["allocations", "reallocations", "allocated_bytes", "peak_bytes", "time_ns"]),
    ("/thread_matrix/0", &["from", "to", "blocks", "bytes"]),
    ("/sites/0", &["most_blocks", "sizes", "growth", "shrinks", "copied_bytes", "handovers", "exit_births"]),
    ("/sites/0/sizes", &["smallest", "p50", "p99", "largest"]),
    ("/sites/0/growth", &["buffers", "steps", "final_bytes"]),
    // Beyond the promise, and used by this project's own tests.
    ("", &["order", "stacks", "warnings"]),
    ("/order", &["unknown_frees", "implicit_frees"]),
    ("/stacks", &["captures", "cut_captures", "cut_share"]),
    ("/sites/0", &["user_frame", "via", "samples"]),
    ("", &["sampling"]),
    ("/frames/0", &["module"]),
];

const TOTALS: &[&str] = &[
    "allocations",
    "reallocations",
    "deallocations",
    "allocated_bytes",
    "peak_live_bytes",
    "peak_live_blocks",
    "live_at_exit_bytes",
    "live_at_exit_blocks",
    "temporary_allocations",
    "lost_events",
];

fn report(options: &JsonOptions) -> Value {
    let analysis = analysis(&Sampled::default());
    serde_json::from_str(&json(&analysis, &diagnose(&analysis), options)).expect("it is JSON")
}

#[test]
fn the_promised_fields_are_there() {
    let report = report(&JsonOptions::default());
    for (at, fields) in FIELDS {
        let object =
            report.pointer(at).and_then(Value::as_object).unwrap_or_else(|| panic!("no object at {at}"));
        for field in *fields {
            assert!(object.contains_key(*field), "{field} is missing in {at}");
        }
    }
    assert_eq!(report["schema"], "heapwise.report/1");
}

#[test]
fn the_numbers_are_those_of_the_recording() {
    let report = report(&JsonOptions::default());
    let totals = &report["totals"];
    assert_eq!(totals["allocations"], 2002);
    assert_eq!(totals["reallocations"], 1);
    assert_eq!(totals["deallocations"], 2000);
    assert_eq!(totals["allocated_bytes"], (64 << 10) + 100 + 1000 * 24 + 1000 * 48 + (128 << 10));
    assert_eq!(totals["temporary_allocations"], 1000);
    assert_eq!(totals["live_at_exit_bytes"], (128 << 10) + 100);
    assert_eq!(totals["peak_live_bytes"], (128 << 10) + 100);
    assert_eq!(totals["failed_allocations"], 1);
    assert_eq!(report["threads"][0]["freed_elsewhere_blocks"], 1000);
    assert_eq!(report["order"]["unknown_frees"], 0);
    assert_eq!(report["exit"]["code"], 0);
    assert_eq!(report["memory"]["peak_rss_bytes"], 254_000);
    assert!(report["memory"]["samples"].as_array().is_some_and(|s| s.len() > 50 && s.len() <= 1000));
    assert_eq!(report["stacks"]["cut_captures"], 1);
    assert_eq!(report["thread_matrix"][0]["blocks"], 1000);
    assert_eq!(report["thread_matrix"][0]["bytes"], 48_000);
    let findings: Vec<_> =
        report["findings"].as_array().into_iter().flatten().map(|i| i["id"].clone()).collect();
    assert_eq!(findings, ["cross-thread-free", "clone-of-owned"]);
}

#[test]
fn sites_are_sorted_and_named() {
    let whole = report(&JsonOptions::default());
    let sites = whole["sites"].as_array().expect("a list");
    let bytes: Vec<u64> = sites.iter().filter_map(|s| s["allocated_bytes"].as_u64()).collect();
    assert!(bytes.is_sorted_by(|a, b| a >= b), "{bytes:?}");
    let parse = sites.iter().find(|s| s["temporary_allocations"] == 1000).expect("the temporary one");
    assert_eq!(parse["user_frame"], 1);
    let frame = |at: usize| &whole["frames"][parse["stack"][at].as_u64().expect("an index") as usize];
    assert_eq!(frame(0)["inlined"], true);
    assert_eq!(frame(1)["line"], 42);
    assert_eq!(frame(1)["module"], "/home/user/contest/target/release/contest");
    let few = report(&JsonOptions { top: Some(2) });
    assert_eq!(few["sites"].as_array().map(Vec::len), Some(2));
}
