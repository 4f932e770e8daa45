//! The page for a browser, as far as it can be tested without one: its data. `web/browser` has the tests in a browser.

use crate::sample::{Sampled, analysis};
use heapwise_analysis::{Analysis, Bytes, Nanos};
use heapwise_diagnosis::{Certainty, Diagnosis, Estimate, Finding, Severity, diagnose};
use heapwise_report::{
    Absence, Freed, HtmlOptions, SourceFile, Sources, Style, TextOptions, ThreadMatrix, html, text,
};
use heapwise_trace::file::records::Interception;
use serde_json::Value;

/// The page and its data.
fn page(analysis: &Analysis, diagnosis: &Diagnosis, options: &HtmlOptions<'_>) -> (String, Value) {
    let page = html(analysis, diagnosis, options);
    let (_, rest) = page.split_once("id=\"data\">").expect("there are data");
    let (json, _) = rest.split_once("</script>").expect("they end");
    let data = serde_json::from_str(json).expect("they are JSON");
    (page, data)
}

fn plain(sampled: &Sampled) -> (String, Value) {
    let analysis = analysis(sampled);
    page(&analysis, &diagnose(&analysis), &HtmlOptions::default())
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
}

/// The names of a site's frames from the innermost outwards, as the page finds them.
fn stack(data: &Value, site: usize) -> Vec<String> {
    let (up, frame) = (numbers(&data["nodes"]["up"]), numbers(&data["nodes"]["frame"]));
    let mut node = numbers(&data["sites"]["node"])[site] as usize;
    let mut names = Vec::new();
    while node != 0 {
        let name = numbers(&data["frames"]["name"])[frame[node] as usize] as usize;
        names.push(data["strings"][name].as_str().expect("a string").to_owned());
        node -= up[node] as usize;
    }
    names
}

#[test]
fn the_data_are_those_of_the_recording() {
    let analysis = analysis(&Sampled::default());
    let (_, data) = page(&analysis, &diagnose(&analysis), &HtmlOptions::default());
    assert_eq!(data["totals"]["allocations"], analysis.totals.allocations);
    assert_eq!(data["totals"]["peak_bytes"], analysis.totals.peak_live_bytes.0);
    let sites = &data["sites"];
    for (column, whole) in [
        ("allocations", analysis.totals.allocations),
        ("bytes", analysis.totals.allocated_bytes.0),
        ("temporary", analysis.totals.temporary_allocations),
        ("exit_bytes", analysis.totals.live_at_exit_bytes.0),
    ] {
        assert_eq!(numbers(&sites[column]).iter().sum::<u64>(), whole, "{column}");
    }
    assert_eq!(
        (&data["verdict"], &data["thread_matrix"], &data["pages"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert!(numbers(&sites["time"]).is_empty() && numbers(&sites["pinned"]).is_empty(), "not measured");
}

/// What a page says of a program in which no rule finds anything: its first words, and each place with what it stands out with.
fn without_findings(analysis: &Analysis) -> (String, Vec<(String, Vec<String>)>) {
    let (_, data) = page(analysis, &Diagnosis::default(), &HtmlOptions::default());
    let standout = |standout: &Value| {
        let facts = standout["facts"].as_array().expect("a list").iter();
        let facts = facts.map(|fact| fact[1].as_str().expect("text").to_owned()).collect();
        (stack(&data, numbers(&standout["sites"])[0] as usize).remove(0), facts)
    };
    let standouts = data["standouts"].as_array().expect("a list").iter().map(standout).collect();
    (data["nothing"].as_str().expect("text").to_owned(), standouts)
}

#[test]
fn without_findings_the_page_says_what_the_text_says() {
    let bullets = |analysis: &Analysis| {
        let report = text(
            analysis,
            &Diagnosis::default(),
            &TextOptions::default(),
            Style { color: false, width: 200 },
        );
        report.lines().filter_map(|line| Some(line.strip_prefix("  - ")?.to_owned())).collect::<Vec<_>>()
    };
    let counted = analysis(&Sampled::default());
    let (nothing, standouts) = without_findings(&counted);
    assert_eq!(nothing, "");
    let facts = |standouts: &[(String, Vec<String>)]| {
        standouts.iter().map(|(_, facts)| facts.len()).collect::<Vec<_>>()
    };
    assert_eq!(facts(&standouts), [2, 1], "a place once, with all of it: {standouts:?}");
    let said = |standouts: &[(String, Vec<String>)], text: &[String]| {
        standouts.iter().flat_map(|(_, facts)| facts).all(|fact| text.iter().any(|line| line.ends_with(fact)))
    };
    assert!(said(&standouts, &bullets(&counted)), "{standouts:?} {:?}", bullets(&counted));
    // Where calls of the allocator take little of the run, it does not matter who calls it most.
    let timed = analysis(&Sampled { takes: Some(1), ..Sampled::default() });
    let (nothing, standouts) = without_findings(&timed);
    assert!(nothing.starts_with("there is little time to gain: calls of the allocator take"), "{nothing}");
    assert!(bullets(&timed).contains(&nothing), "{nothing} {:?}", bullets(&timed));
    assert_eq!(facts(&standouts), [1], "{standouts:?}");
    assert!(standouts[0].1[0].starts_with("holds ") && said(&standouts, &bullets(&timed)), "{standouts:?}");
    // Where blocks are next to nothing of what is resident, neither does what holds most of them.
    let mut tiny = timed;
    let held = tiny.totals.peak_live_bytes.0;
    for (rss, has_little) in [(held * 101, true), (held * 20, false)] {
        tiny.memory.peak_rss.0 = rss;
        let (nothing, standouts) = without_findings(&tiny);
        assert_eq!(nothing.contains("; there is little memory to gain: "), has_little, "{nothing}");
        assert_eq!(standouts.is_empty(), has_little, "{standouts:?}");
        // A line has an end.
        assert!(
            bullets(&tiny).iter().any(|line| nothing.starts_with(line)),
            "{nothing} {:?}",
            bullets(&tiny)
        );
    }
}

#[test]
fn a_stack_is_found_again_in_the_tree() {
    let analysis = analysis(&Sampled::default());
    let (_, data) = page(&analysis, &diagnose(&analysis), &HtmlOptions::default());
    for (i, site) in analysis.sites().iter().enumerate() {
        let expected: Vec<String> = analysis
            .stack(site)
            .iter()
            .map(|f| f.function.map_or_else(String::new, heapwise_report::names::function))
            .collect();
        let mut found = stack(&data, i);
        if site.cut {
            assert_eq!(found.pop().as_deref(), Some("(outer frames unknown)"));
        }
        // Frames without a name have an address in its place.
        found.iter_mut().zip(&expected).filter(|(_, e)| e.is_empty()).for_each(|(f, _)| f.clear());
        assert_eq!(found, expected);
    }
}

#[test]
fn what_comes_from_outside_is_reported() {
    #[derive(Debug)]
    struct Always;
    impl Sources for Always {
        fn find(&self, path: &str, _: Option<&str>) -> Result<SourceFile, Absence> {
            let text = (1..=100).map(|n| format!("{path} {n}\n")).collect();
            let is_there = path.starts_with("/home/user/");
            is_there.then_some(SourceFile { text, changed: true }).ok_or(Absence::Outside)
        }
    }
    let analysis = analysis(&Sampled::default());
    let n = analysis.sites().len();
    let matrix = ThreadMatrix { freed: vec![Freed { allocated_by: 0, freed_by: 1, blocks: 7 }] };
    let times: Vec<Nanos> = (0..n as u64).map(Nanos).collect();
    let finding = Finding {
        id: "growth",
        severity: Severity::High,
        certainty: Certainty::Likely,
        title: "a Vec grows".into(),
        site: Some(analysis.sites()[0].id),
        sites: vec![analysis.sites()[0].id],
        evidence: vec!["seen".into()],
        estimate: Estimate {
            allocations: 5,
            reallocations: 4,
            allocated_bytes: Bytes(6),
            peak_bytes: Bytes(7),
            time: Nanos(8),
        },
        remedy: "first line\nsecond\u{202e} line".into(),
    };
    let diagnosis = Diagnosis { findings: vec![finding], ..Diagnosis::default() };
    let options = HtmlOptions {
        folder: Some("/home/user/contest"),
        sources: Some(&Always),
        thread_matrix: Some(&matrix),
        allocator_time: Some(&times),
    };
    let (_, data) = page(&analysis, &diagnosis, &options);
    assert_eq!(data["thread_matrix"], serde_json::json!([[0, 1, 7]]));
    assert_eq!(numbers(&data["sites"]["time"]).len(), n);
    assert_eq!(data["findings"][0]["peak_bytes"], 7);
    assert_eq!(data["findings"][0]["remedy"], "first line\nsecond\\u{202e} line");
    let excerpts = data["sources"].as_array().expect("a list");
    let parse = excerpts.iter().find(|e| e["first"] == 39).expect("the lines around parse.rs:42");
    assert_eq!(parse["lines"][3], "/home/user/contest/src/parse.rs 42");
    assert_eq!(parse["changed"], true);
    let strings = data["strings"].as_array().expect("a list");
    assert!(strings.iter().any(|s| s == "src/parse.rs"), "paths are relative to the folder");
}

#[test]
fn hostile_names_stay_within_the_data() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{2028}\u{202e}\"'`";
    let (page, data) = plain(&Sampled {
        command: "</title><script>alert(3)</script>",
        function: hostile,
        thread: "<b>\n</b>",
        ..Sampled::default()
    });
    for attack in ["<script>alert", "<img", "<b>", "\u{2028}", "\u{202e}"] {
        assert!(!page.contains(attack), "{attack:?} is in the page");
    }
    assert_eq!(page.matches("</script>").count(), 2, "the data's end and the program's");
    let strings = data["strings"].as_array().expect("a list");
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\u{2028}\\u{202e}\"'`";
    assert!(strings.iter().any(|s| s == hostile), "and the name is shown unchanged");
    assert!(strings.iter().any(|s| s == "<b>\\n</b>"));
}

#[test]
fn a_recording_without_events_has_a_page() {
    let (_, data) = plain(&Sampled { events: false, ..Sampled::default() });
    assert_eq!(data["totals"]["allocations"], 0);
    assert!(numbers(&data["sites"]["node"]).is_empty());
}

#[test]
fn the_page_says_how_the_recording_ended() {
    let mut analysis = analysis(&Sampled::default());
    let ending = |analysis: &Analysis| {
        let (_, data) = page(analysis, &diagnose(analysis), &HtmlOptions::default());
        data["ending"].as_str().expect("a text").to_owned()
    };
    assert!(ending(&analysis).starts_with("exited with 0 after "));
    analysis.meta.interception = Interception::Attach;
    assert!(ending(&analysis).starts_with("recorded for "), "an attached process has no exit code");
    analysis.end = None;
    assert!(ending(&analysis).starts_with("no recorded end, at least "));
}
