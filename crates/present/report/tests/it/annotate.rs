//! What files and lines allocate, for people and for machines.

use crate::sample::{Sampled, analysis};
use crate::snapshot::compare;
use heapwise_diagnosis::diagnose;
use heapwise_report::annotate::{AnnotateOptions, Annotation, Choice, View, choose};
use heapwise_report::schema::annotate::Annotated;
use heapwise_report::{Absence, SourceFile, Style};

const NARROW: Style = Style { color: false, width: 80 };
const WIDE: Style = Style { color: false, width: 120 };

fn options(full: bool) -> AnnotateOptions {
    AnnotateOptions { full, folder: Some("/home/user/contest".into()) }
}

/// A file whose line 42 clones.
fn source() -> SourceFile {
    let line = |n| match n {
        42 => "    /* \u{1b}[2J\u{202e} */ line.name.clone()\n".to_owned(),
        n => format!("    // line {n} {}\n", "of a long comment ".repeat(n % 7)),
    };
    SourceFile { text: (1..=60).map(line).collect(), changed: false }
}

/// The view of a file by the end of its path, in some way.
fn of<T>(
    path: &str,
    source: Result<SourceFile, Absence>,
    show: impl Fn(&Annotation<'_>, &View<'_, '_>) -> T,
) -> T {
    let analysis = analysis(&Sampled::default());
    let diagnosis = diagnose(&analysis);
    let annotation = Annotation::new(&analysis, &diagnosis);
    let Choice::One(file) = choose(annotation.files(), path, None) else { panic!("{path} is one file") };
    show(&annotation, &View::Lines(file, source))
}

#[test]
fn files_are_listed() {
    let analysis = analysis(&Sampled::default());
    let diagnosis = diagnose(&analysis);
    let annotation = Annotation::new(&analysis, &diagnosis);
    let actual = annotation.text(&View::Files, &options(false), NARROW);
    compare(&actual, "annotate_files.txt", include_str!("annotate_files.txt"));
    let full = annotation.text(&View::Files, &options(true), WIDE);
    assert!(full.contains("STANDARD LIBRARIES AND THE SYSTEM") && full.contains("string.rs"), "{full}");
    let found: Annotated = serde_json::from_str(&annotation.json(&View::Files)).expect("the schema");
    assert_eq!((found.files.len(), found.n_files, found.lines), (3, 3, None));
    assert_eq!(found.files[2].owner, "library");
}

#[test]
fn what_was_not_recorded_is_said_here_too() {
    let listing = |sampled: &Sampled| {
        let analysis = analysis(sampled);
        let diagnosis = diagnose(&analysis);
        Annotation::new(&analysis, &diagnosis).text(&View::Files, &options(false), NARROW)
    };
    let nothing = listing(&Sampled { events: false, ..Sampled::default() });
    assert!(nothing.contains("No allocation was seen"), "{nothing}");
    assert!(!nothing.contains("line tables"), "{nothing}");
    let partial = listing(&Sampled { blind: true, ..Sampled::default() });
    assert!(partial.contains("NOT SEEN"), "{partial}");
}

#[test]
fn a_file_is_shown_around_its_lines_that_allocate() {
    let text = |style| {
        of("parse.rs", Ok(source()), |annotation, view| annotation.text(view, &options(false), style))
    };
    compare(&text(NARROW), "annotate_narrow.txt", include_str!("annotate_narrow.txt"));
    compare(&text(WIDE), "annotate_wide.txt", include_str!("annotate_wide.txt"));
    let full = of("parse.rs", Ok(source()), |annotation, view| annotation.text(view, &options(true), NARROW));
    assert!(full.contains(" 1 │     // line 1") && full.contains("60 │"), "{full}");
    let page = of("parse.rs", Ok(source()), |annotation, view| annotation.markdown(view, &options(false)));
    assert!(
        page.contains("```text\n") && page.contains("/* \\u{1b}[2J\\u{202e} */ line.name.clone()"),
        "{page}"
    );
}

#[test]
fn without_a_text_lines_are_numbers_with_functions() {
    for why in [Absence::Changed, Absence::Remapped, Absence::NotFound, Absence::Unwanted] {
        let text = of("main.rs", Err(why), |annotation, view| annotation.text(view, &options(false), NARROW));
        assert!(text.contains(" 17 │ contest::main\n") && text.contains(" 21 │ contest::main\n"), "{text}");
        assert!(text.contains("no text is shown: "), "{text}");
        let found = of("main.rs", Err(why), |annotation, view| annotation.json(view));
        let found: Annotated = serde_json::from_str(&found).expect("the schema");
        assert_eq!(found.source.and_then(|source| source.absence).as_deref(), Some(why.id()));
        let lines: Vec<_> =
            found.lines.expect("lines").iter().map(|line| (line.line, line.text.clone())).collect();
        assert_eq!(lines, [(17, None), (21, None)]);
    }
    // The recording has a line that the file has not.
    let short = SourceFile { text: "one line\n".into(), changed: false };
    let text = of("main.rs", Ok(short), |annotation, view| annotation.text(view, &options(true), NARROW));
    assert!(text.contains("fewer lines") && !text.contains("one line"), "{text}");
    let changed = SourceFile { changed: true, ..source() };
    let text = of("main.rs", Ok(changed), |annotation, view| annotation.text(view, &options(true), NARROW));
    assert!(text.contains("was changed") && !text.contains("// line"), "{text}");
}

#[test]
fn paths_are_text_on_a_terminal_and_in_markdown() {
    let file = "/home/user/\u{1b}[2J<b>`|\u{202e}.rs";
    let analysis = analysis(&Sampled { file, ..Sampled::default() });
    let diagnosis = diagnose(&analysis);
    let annotation = Annotation::new(&analysis, &diagnosis);
    let Choice::One(found) = choose(annotation.files(), file, None) else { panic!("it is one file") };
    for view in [View::Files, View::Lines(found, Err(Absence::NotFound))] {
        let page = annotation.markdown(&view, &options(true));
        let text = annotation.text(&view, &options(true), WIDE);
        for shown in [&text, &page, &annotation.json(&view)] {
            assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        }
        assert!(text.contains("\\u{1b}[2J<b>`|\\u{202e}.rs"), "{text}");
    }
}
