//! The program's marks and spans, in all reports.

use crate::markdown::HOSTILE;
use crate::rendered::shape;
use crate::sample::{Sampled, analysis};
use crate::snapshot::compare;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::diagnose;
use heapwise_report::{
    HtmlOptions, JsonOptions, MarkdownOptions, Style, TextOptions, html, json, markdown, text,
};
use serde_json::Value;

fn marked(name: &'static str) -> Analysis {
    analysis(&Sampled { marks: Some(name), ..Sampled::default() })
}

fn in_text(analysis: &Analysis, width: usize, top: usize) -> String {
    let options = TextOptions { top, ..TextOptions::default() };
    let report = text(analysis, &diagnose(analysis), &options, Style { color: false, width });
    let from = report.find("MARKS").or_else(|| report.find("SPANS")).expect("the marks have a chapter");
    let to = report.find("RESIDENT MEMORY").expect("another chapter");
    report[from..to].to_owned()
}

fn in_json(analysis: &Analysis) -> Value {
    let report = json(analysis, &diagnose(analysis), &JsonOptions::default());
    serde_json::from_str(&report).expect("it is JSON")
}

#[test]
fn marks_and_spans_in_the_text() {
    let analysis = marked("contest \u{1b}[31m");
    let all = [
        in_text(&analysis, 80, 10),
        "at 120 columns\n\n".into(),
        in_text(&analysis, 120, 10),
        "the first one\n\n".into(),
        in_text(&analysis, 80, 1),
    ]
    .concat();
    compare(&all, "marks.txt", include_str!("marks.txt"));
    let with_room = in_text(&analysis, 80, 200);
    assert_eq!(with_room.matches("  round begins\n").count(), 49, "{with_room}");
    assert!(with_room.contains("    2.0 ms   65.0 KiB    196 KiB  round ends\n"), "{with_room}");
}

#[test]
fn lines_fit_whatever_the_width() {
    let long = "a name that is so long that no line has room for it, and that goes on and on and on, and on, and on, and on";
    for name in [long, ""] {
        for (width, top) in [(0, 3), (60, 300), (80, 10), (100, 2), (120, 300), (500, 1)] {
            for line in in_text(&marked(name), width, top).lines() {
                assert!(line.chars().count() <= width.clamp(60, 120), "{width}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn reports_of_programs_that_say_nothing_do_not_change() {
    let analysis = analysis(&Sampled::default());
    let diagnosis = diagnose(&analysis);
    let report = text(&analysis, &diagnosis, &TextOptions::default(), Style { color: false, width: 80 });
    assert!(!report.contains("MARKS") && !report.contains("SPANS"), "{report}");
    let report = markdown(&analysis, &diagnosis, &MarkdownOptions::default());
    assert!(!report.contains("Spans"), "{report}");
    let report = in_json(&analysis);
    assert_eq!(report["memory"]["marks"], Value::Array(Vec::new()));
    assert_eq!(
        (&report["memory"]["marks_not_listed"], &report["spans"]),
        (&0.into(), &Value::Array(Vec::new()))
    );
    assert!(html(&analysis, &diagnosis, &HtmlOptions::default()).contains("\"marks\":null"));
}

#[test]
fn marks_and_spans_for_machines() {
    let report = in_json(&marked("contest"));
    let marks = report["memory"]["marks"].as_array().expect("a list");
    assert_eq!(marks.len(), 1 + 2 * 49 + 1 + 1 + 1 + 1);
    assert!(marks.is_sorted_by_key(|mark| mark["time_ns"].as_u64()));
    let expected = serde_json::json!({
        "time_ns": 27_000_000, "process": 4711, "thread": 0, "kind": "point", "name": "half way",
        "live_bytes": (64 << 10) + 100 + 25 * 20 * 48, "rss_bytes": 213_000,
    });
    assert_eq!(marks.iter().find(|mark| mark["name"] == "half way"), Some(&expected));
    let spans = report["spans"].as_array().expect("a list");
    let round = spans.iter().find(|span| span["name"] == "round").expect("its span");
    let expected = serde_json::json!({
        "name": "round", "count": 49, "total_ns": 49 * 900_000 + 400_000, "shortest_ns": 900_000,
        "longest_ns": 1_300_000, "allocations": 49 * 40, "reallocations": 0, "deallocations": 49 * 20,
        "allocated_bytes": 49 * 20 * (24 + 48), "largest_growth_bytes": 20 * 48, "unended": 0, "unbegun": 0,
    });
    assert_eq!(round, &expected);
    let last = spans.iter().find(|span| span["name"] == "last round").expect("its span");
    assert_eq!((&last["count"], &last["unended"], &last["unbegun"]), (&0.into(), &1.into(), &1.into()));
}

#[test]
fn names_of_marks_stay_text() {
    let of = |name| {
        let analysis = marked(name);
        let diagnosis = diagnose(&analysis);
        (shape(&markdown(&analysis, &diagnosis, &MarkdownOptions::default())), analysis)
    };
    let (expected, _) = of("harmless");
    assert_eq!(expected.tables.iter().filter(|table| table.1 == 8).count(), 3, "two of places, one of spans");
    for name in HOSTILE {
        let (shape, analysis) = of(name);
        assert_eq!(shape, expected, "{name}");
        let bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2028}');
        let report = in_text(&analysis, 80, 300);
        assert!(!report.contains(bad), "{report}");
    }
}

#[test]
fn hostile_names_stay_within_the_data_of_the_page() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{2028}\u{202e}\"'`";
    let analysis = marked(hostile);
    let page = html(&analysis, &diagnose(&analysis), &HtmlOptions::default());
    for attack in ["<script>alert", "<img", "\u{2028}", "\u{202e}"] {
        assert!(!page.contains(attack), "{attack:?} is in the page");
    }
    let (_, rest) = page.split_once("id=\"data\">").expect("there are data");
    let (data, _) = rest.split_once("</script>").expect("they end");
    let data: Value = serde_json::from_str(data).expect("they are JSON");
    let marks = &data["marks"];
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\u{2028}\\u{202e}\"'`";
    let name = data["strings"].as_array().expect("a list").iter().position(|s| s == hostile);
    let name = name.expect("it is shown unchanged");
    // The outer span is the first bar.
    assert_eq!(marks["bars"][0], serde_json::json!([0, 101_000_000, name, 0]));
    assert_eq!(marks["bars"].as_array().map(Vec::len), Some(1 + 49 + 1));
    assert_eq!(marks["bars"][50][1], Value::Null, "the last one did not end");
    assert_eq!(marks["points"].as_array().map(Vec::len), Some(1));
    assert_eq!((marks["not_listed"].as_u64(), marks["spans"].as_array().map(Vec::len)), (Some(0), Some(3)));
}
