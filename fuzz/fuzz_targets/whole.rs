//! Whole files with right checksums around changed sections, through everything that reads a recording: analysis, diagnosis,
//! every report, every export, a comparison, and the script of a replay.

#![no_main]

use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_diagnosis::{compare, diagnose};
use heapwise_fuzz::drain::drain;
use heapwise_fuzz::whole::Whole;
use heapwise_report::export::FORMATS;
use heapwise_report::{
    HtmlOptions, JsonOptions, MarkdownOptions, Style, TextOptions, html, json, markdown, text,
};
use heapwise_trace::file::Reader;
use heapwise_trial::replay::compile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|whole: Whole| {
    let Some(file) = whole.write() else { return };
    drain(&file);
    let Some(analysis) = analysis_of(&file) else { return };
    let diagnosis = diagnose(&analysis);
    let style = Style { color: false, width: 100 };
    let shown = text(&analysis, &diagnosis, &TextOptions::default(), style);
    let control = shown.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "what a recording says must not control the terminal");
    assert!(
        json(&analysis, &diagnosis, &JsonOptions::default()).len() > 2,
        "a report that could not be written"
    );
    assert!(!markdown(&analysis, &diagnosis, &MarkdownOptions::default()).is_empty());
    let page = HtmlOptions { folder: None, sources: None, thread_matrix: None, allocator_time: None };
    assert!(!html(&analysis, &diagnosis, &page).is_empty());
    for format in FORMATS {
        let _ = format.write(&analysis, &heapwise_report::export::Options::default(), &mut std::io::sink());
    }
    let other = analysis_of(&file).expect("it was read before");
    assert_eq!(analysis.totals, other.totals, "the same file gives the same tables");
    let compared = compare(&analysis, &other);
    assert!(compared.sites.is_empty() || !analysis.sites().is_empty());
    for process in 0..analysis.processes.len().min(2) {
        let Ok(reader) = Reader::new(file.as_slice()) else { return };
        if let Ok(script) = compile(reader, &analysis, process, |_| {}) {
            assert!(script.memory().0 > 0, "a replay needs something for itself");
        }
    }
});

fn analysis_of(file: &[u8]) -> Option<Analysis> {
    let reader = Reader::new(file).ok()?;
    Some(analyze(reader, &Options::default(), |_| {}).expect("memory cannot fail to be read"))
}
