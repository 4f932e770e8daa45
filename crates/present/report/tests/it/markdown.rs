//! What a comment on a pull request says.

use crate::rendered::shape;
use crate::sample::{Sampled, analysis};
use crate::snapshot::compare;
use heapwise_analysis::{Analysis, Breakdown, Bytes, Nanos, SiteId, Warning};
use heapwise_diagnosis::{Certainty, Diagnosis, Estimate, Finding, Severity, Verdict, VerdictKind, diagnose};
use heapwise_report::{MarkdownOptions, markdown};

/// Names that would be markup without escaping.
pub(crate) const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "</details><img src=x onerror=alert(1)>",
    "x` <b>bold</b> `y",
    "a|b|c",
    "back\\|slash\\",
    "@octocat and @org/team",
    "[click](http://evil.example)",
    "![pixel](http://evil.example/x.png)",
    "http://evil.example www.evil.example user@evil.example ftp://evil.example",
    "<http://evil.example>",
    "a\n\n# heading\n\n- item\n\n| a | b |\n|---|---|\n| c | d |\n",
    "```\n<b>out</b>\n```",
    "&lt;b&gt; &#60;b&#62; &copy;",
    "<!-- comment",
    "~~strike~~ **bold** *it* _it_ __b__ $x^2$ $`x`$",
    "#12 GH-12 org/repo#12",
    "[^1] [x] [a]: http://evil.example",
    "    indented\tcode",
    "- item",
    "1. item",
    "===\n---\n",
    "> [!NOTE]\n> quote",
    "````````````````````````````````````````````````````````````````````````````````````````````````````<b>",
    " ` ",
    "",
];

fn rendered(analysis: &Analysis, diagnosis: &Diagnosis) -> String {
    let options = MarkdownOptions { folder: Some("/home/user/contest".into()), ..MarkdownOptions::default() };
    markdown(analysis, diagnosis, &options)
}

/// Findings and accounts as they would be, with a text in all places.
fn diagnosed(sampled: &Sampled, text: &str) -> (Analysis, Diagnosis) {
    let mut analysis = analysis(sampled);
    let parts = |of: u64| Breakdown {
        time: Nanos(60_000_000),
        rss: Bytes(1000 * of),
        live: Bytes(300 * of),
        internal_fragmentation: Bytes(100 * of),
        external_fragmentation: Bytes(50 * of),
        free_pages: Bytes(400 * of),
        metadata: Bytes(20 * of),
        unrecorded: Bytes(40 * of),
        not_heap: Bytes(80 * of),
        unaccounted: Bytes(10 * of),
        ..Breakdown::default()
    };
    analysis.accounting.at_peak = Some(parts(1024));
    analysis.accounting.at_end = Some(parts(512));
    let finding = Finding {
        id: "clone-of-owned",
        severity: Severity::High,
        certainty: Certainty::Likely,
        title: format!("line clones a String each time (src/parse.rs:42) {text}"),
        site: Some(SiteId(2)),
        sites: vec![SiteId(2)],
        evidence: vec!["1,000 clones lived until the next allocation.".into(), text.into()],
        estimate: Estimate { allocations: 1000, allocated_bytes: Bytes(24_000), ..Estimate::default() },
        remedy: format!("borrow it: `HashMap<&str, u64>`\nor intern it {text}"),
    };
    let verdict = Verdict {
        kind: VerdictKind::FreePages,
        sentence: format!("40 % of resident memory is free pages. {text}"),
        remedy: "Ask the allocator to return it to the system: `malloc_trim(0)`.".into(),
    };
    (analysis, Diagnosis { findings: vec![finding], verdict: Some(verdict), ..Diagnosis::default() })
}

#[test]
fn with_findings_and_accounts() {
    let (analysis, diagnosis) = diagnosed(&Sampled { blind: true, ..Sampled::default() }, "");
    let actual = rendered(&analysis, &diagnosis);
    compare(&actual, "report.md", include_str!("report.md"));
    let shape = shape(&actual);
    assert_eq!(shape.tables.len(), 4, "{shape:?}");
}

#[test]
fn what_was_not_measured_has_no_chapter() {
    let analysis = analysis(&Sampled::default());
    let actual = rendered(&analysis, &Diagnosis::default());
    assert!(!actual.contains("What to change") && !actual.contains("Resident memory"), "{actual}");
    assert_eq!(shape(&actual).tables.len(), 3);
}

#[test]
fn names_of_the_program_stay_text() {
    let harmless = diagnosed(&Sampled { blind: true, ..Sampled::default() }, "text");
    let expected = shape(&rendered(&harmless.0, &harmless.1));
    for text in HOSTILE {
        let sampled = Sampled {
            command: text,
            function: text,
            thread: text,
            file: text,
            blind: true,
            ..Sampled::default()
        };
        let (analysis, diagnosis) = diagnosed(&sampled, text);
        let actual = shape(&rendered(&analysis, &diagnosis));
        assert_eq!(actual.headings, expected.headings, "{text}");
        // Each line of a remedy is a point, and no evidence is none.
        let more = diagnosis.findings[0].remedy.lines().filter(|line| !line.trim().is_empty()).count() - 2;
        let less = usize::from(text.is_empty());
        assert_eq!(actual.items, expected.items + more - less, "{text}");
        assert_eq!(actual.blocks, expected.blocks, "{text}");
        let columns = |tables: &[(usize, usize)]| tables.iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(columns(&actual.tables), columns(&expected.tables), "{text}");
    }
}

#[test]
fn a_recording_without_events_says_so() {
    let analysis = analysis(&Sampled { events: false, ..Sampled::default() });
    let actual = rendered(&analysis, &diagnose(&analysis));
    assert!(actual.contains("No allocation was seen"), "{actual}");
    shape(&actual);
    let mut cut = analysis;
    (cut.blind_spots, cut.warnings) = (Vec::new(), vec![Warning::Truncated]);
    let actual = rendered(&cut, &diagnose(&cut));
    assert!(actual.contains("See WARNINGS: a part of the recording is missing"), "{actual}");
    assert!(!actual.contains("Usual reasons"), "{actual}");
}
