//! The report about two recordings.

use crate::markdown::HOSTILE;
use crate::rendered::shape;
use crate::sample::{Sampled, analysis};
use crate::snapshot::compare;
use heapwise_diagnosis::compare::{Exceeded, compare as compared};
use heapwise_diagnosis::{Comparison, Threshold};
use heapwise_report::diff::{DiffOptions, Recording};
use heapwise_report::{Diff, Style};
use serde_json::Value;

/// Fewer clones, and another line of the file by name only.
fn changed() -> Sampled {
    Sampled { clones: 2, ..Sampled::default() }
}

/// Compares two recordings and passes the result to `show`.
fn diff<T>(old: &Sampled, new: &Sampled, thresholds: &[&str], show: impl FnOnce(Diff<'_>) -> T) -> T {
    let (old, new) = (analysis(old), analysis(new));
    let comparison: Comparison = compared(&old, &new);
    let thresholds = thresholds.iter().map(|text| text.parse::<Threshold>().expect("a threshold"));
    let exceeded: Vec<Exceeded> = thresholds.filter_map(|t| t.exceeded(&comparison.totals)).collect();
    show(Diff {
        old: Recording { file: "old.hw", analysis: &old },
        new: Recording { file: "new.hw", analysis: &new },
        comparison: &comparison,
        exceeded: &exceeded,
    })
}

fn text(old: &Sampled, new: &Sampled, width: usize) -> String {
    let options = DiffOptions { folder: Some("/home/user/contest".into()), ..DiffOptions::default() };
    diff(old, new, &[], |diff| diff.text(&options, Style { color: false, width }))
}

fn json(old: &Sampled, new: &Sampled, thresholds: &[&str]) -> Value {
    let json = diff(old, new, thresholds, |diff| diff.json());
    serde_json::from_str(&json).expect("it is JSON")
}

#[test]
fn better() {
    let actual = text(&Sampled::default(), &changed(), 80);
    compare(&actual, "diff_better.txt", include_str!("diff_better.txt"));
}

#[test]
fn worse_with_a_moved_function() {
    let moved = Sampled {
        function: "contest::reader::line::h0123456789abcdef",
        file: "/home/user/contest/src/reader.rs",
        ..Sampled::default()
    };
    let actual = text(&changed(), &moved, 80);
    compare(&actual, "diff_worse.txt", include_str!("diff_worse.txt"));
}

#[test]
fn the_same() {
    let actual = text(&Sampled::default(), &Sampled::default(), 80);
    assert!(actual.contains("\nNo difference: "), "{actual}");
    assert!(!actual.contains("BETTER") && !actual.contains("WORSE"), "{actual}");
}

#[test]
fn lines_fit_whatever_the_width() {
    let long = Sampled {
        function: "contest::a_module_with_a_long_name::and_another_one_inside::a_function_of_a_long_name",
        command: "elsewhere/contest-of-another-name --with --many --options --that --fill --more --than --a --line",
        ..changed()
    };
    for width in [0, 60, 80, 99, 120, 500] {
        for (old, new) in [(&Sampled::default(), &long), (&long, &Sampled::default())] {
            let most = width.clamp(60, 120);
            for line in text(old, new, width).lines() {
                assert!(line.chars().count() <= most, "{} of {most}: {line}", line.chars().count());
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn names_of_the_program_cannot_reach_the_terminal() {
    let hostile = Sampled {
        command: "evil\x1b]0;title\x07 \u{202e}arg",
        function: "contest::\x1b[2Jparse\r\n::\u{9b}31mline",
        file: "/src/\x1b[31m.rs",
        ..changed()
    };
    for (old, new) in [(&Sampled::default(), &hostile), (&hostile, &Sampled::default())] {
        let report = text(old, new, 100);
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!report.contains(bad), "{:?}", report.lines().find(|l| l.contains(bad)));
    }
}

#[test]
fn the_promised_fields_are_there() {
    let report = json(&Sampled::default(), &changed(), &["allocations>1000", "allocated_bytes+5%"]);
    assert_eq!(report["schema"], "heapwise.diff/1");
    let fields: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "schema",
                "old",
                "new",
                "warnings",
                "same",
                "totals",
                "n_same_sites",
                "sites",
                "places",
                "failed",
            ],
        ),
        ("/old", &["file", "command", "duration_ns", "peak_rss_bytes", "totals"]),
        ("/totals/0", &["measure", "old", "new", "change", "share", "varies"]),
        (
            "/sites/0",
            &[
                "status",
                "function",
                "file",
                "line",
                "allocations",
                "reallocations",
                "allocated_bytes",
                "temporary_allocations",
                "peak_bytes",
                "live_at_exit_bytes",
                "live_at_exit_blocks",
                "stack",
            ],
        ),
        ("/frames/0", &["function", "file", "line", "inlined", "module"]),
        ("/places/0", &["status", "function", "file", "line", "allocations", "sites"]),
        ("/failed/0", &["expression", "measure", "old", "new", "limit"]),
    ];
    for (at, fields) in fields {
        let object =
            report.pointer(at).and_then(Value::as_object).unwrap_or_else(|| panic!("no object at {at}"));
        for field in *fields {
            assert!(object.contains_key(*field), "{field} is missing in {at}");
        }
    }
}

#[test]
fn the_numbers_are_those_of_the_recordings() {
    let report = json(&Sampled::default(), &changed(), &["allocations>1000", "allocated_bytes+5%"]);
    let total = &report["totals"][0];
    assert_eq!(
        (&total["measure"], &total["old"], &total["new"]),
        (&"allocations".into(), &2002.into(), &1102.into())
    );
    assert_eq!(total["change"], -900);
    assert!((total["share"].as_f64().expect("a number") + 900.0 / 2002.0).abs() < 1e-9);
    let [site] = &report["sites"].as_array().expect("a list")[..] else { panic!("{report}") };
    assert_eq!(site["status"], "changed");
    assert_eq!(site["function"], "contest::parse::line::h0123456789abcdef");
    assert_eq!((&site["allocations"]["old"], &site["allocations"]["new"]), (&1000.into(), &100.into()));
    assert_eq!(report["places"][0]["sites"], serde_json::json!([0]));
    let [failed] = &report["failed"].as_array().expect("a list")[..] else { panic!("{report}") };
    assert_eq!((&failed["expression"], &failed["limit"]), (&"allocations>1000".into(), &1000.into()));
}

#[test]
fn a_comment_on_a_pull_request() {
    let options = DiffOptions { folder: Some("/home/user/contest".into()), ..DiffOptions::default() };
    let thresholds = ["allocations>1000"];
    let actual = diff(&Sampled::default(), &changed(), &thresholds, |diff| diff.markdown(&options));
    compare(&actual, "diff.md", include_str!("diff.md"));
    assert_eq!(shape(&actual).tables.len(), 2);
}

#[test]
fn names_of_the_program_stay_text_in_a_comment() {
    for text in HOSTILE {
        let hostile = Sampled { command: text, function: text, thread: text, file: text, ..changed() };
        for (old, new) in [(&Sampled::default(), &hostile), (&hostile, &Sampled::default())] {
            let markdown = diff(old, new, &["allocations>0"], |diff| diff.markdown(&DiffOptions::default()));
            let columns: Vec<_> = shape(&markdown).tables.iter().map(|t| t.1).collect();
            assert!(columns == [6, 6] || columns == [6, 6, 6], "{markdown}");
        }
    }
}
