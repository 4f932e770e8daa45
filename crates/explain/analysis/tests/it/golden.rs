//! The analysis of recordings that earlier versions of heapwise made, whole and damaged.

use heapwise_analysis::{Analysis, Bytes, Options, Warning, analyze};
use heapwise_trace::file::{HEADER_BYTES, Reader};

/// Format 1.0; the program is in `v1.0.c` beside it.
const V1_0: &[u8] = include_bytes!("../../../../record/trace/tests/golden/v1.0.hw");
/// The same program with snapshots of its pages.
const V2_0: &[u8] = include_bytes!("../../../../record/trace/tests/golden/v2.0.hw");
/// A program that says what it is doing, `v3.0.c` beside it.
const V3_0: &[u8] = include_bytes!("../../../../record/trace/tests/golden/v3.0.hw");

fn analysis(file: &[u8]) -> Analysis {
    let reader = Reader::new(file).expect("the header is sound");
    analyze(reader, &Options::default(), |_| {}).expect("memory can be read")
}

/// The user's function and the allocated bytes of each site.
fn sites(analysis: &Analysis) -> Vec<(String, u64)> {
    let sites = analysis.sites().iter().map(|site| {
        let stack = analysis.stack(site);
        let frame = site.user_frame.and_then(|i| stack.get(i));
        (frame.and_then(|f| f.function).unwrap_or_default().to_owned(), site.allocated_bytes.0)
    });
    sites.collect()
}

#[test]
fn the_tables_say_what_the_program_does() {
    let analysis = analysis(V1_0);
    let totals = &analysis.totals;
    assert_eq!((totals.allocations, totals.reallocations, totals.deallocations), (10, 9, 7));
    assert_eq!(totals.allocated_bytes, Bytes(54_000 + 1_000 + 130 + 124 + 21 + 288 + 640));
    assert_eq!((totals.failed_allocations, totals.temporary_allocations, totals.lost_events), (1, 5, 0));
    assert_eq!((analysis.processes.len(), analysis.threads.len()), (2, 3));
    assert_eq!(analysis.warnings, []);
    let sites = sites(&analysis);
    let of = |function: &str| sites.iter().filter(|s| s.0 == function).map(|s| s.1).sum::<u64>();
    assert_eq!([of("main"), of("name"), of("work")], [55_000 + 288 + 640, 130 + 124, 21]);
}

#[test]
fn a_file_cut_anywhere_is_analysed_as_far_as_it_goes() {
    for file in [V1_0, V2_0, V3_0] {
        a_file_cut_anywhere_is_analysed_as_far_as_it_goes_of(file);
    }
}

fn a_file_cut_anywhere_is_analysed_as_far_as_it_goes_of(whole_file: &[u8]) {
    let whole = analysis(whole_file);
    let mut before = 0;
    for len in HEADER_BYTES..whole_file.len() {
        let part = analysis(&whole_file[..len]);
        assert!(part.n_events >= before, "cut to {len} bytes");
        assert!(part.n_events <= whole.n_events && part.totals.allocations <= whole.totals.allocations);
        // Only the symbols come behind the record of the end.
        let warned = part.warnings.iter().any(|w| matches!(w, Warning::Truncated | Warning::NoEnd));
        assert!(warned || part.end.is_some(), "cut to {len} bytes");
        before = part.n_events;
    }
    assert_eq!(before, whole.n_events);
}

#[test]
fn a_byte_changed_anywhere_is_reported_and_costs_nothing_before_it() {
    for file in [V1_0, V2_0, V3_0] {
        a_byte_changed_anywhere_is_reported_and_costs_nothing_before_it_of(file);
    }
}

fn a_byte_changed_anywhere_is_reported_and_costs_nothing_before_it_of(whole_file: &[u8]) {
    let whole = analysis(whole_file);
    for at in HEADER_BYTES..whole_file.len() {
        let mut file = whole_file.to_vec();
        file[at] ^= 0xff;
        let damaged = analysis(&file);
        let cut = analysis(&whole_file[..at]);
        assert_eq!(damaged.n_events, cut.n_events, "byte {at} changed");
        assert_eq!(damaged.totals, cut.totals, "byte {at} changed");
        assert!(damaged.n_events <= whole.n_events);
        let warned =
            damaged.warnings.iter().any(|w| matches!(w, Warning::Truncated | Warning::Damaged { .. }));
        assert!(warned, "byte {at} changed: {:?}", damaged.warnings);
    }
}

#[test]
fn spans_say_what_their_thread_requested() {
    let marks = analysis(V3_0).marks;
    let facts = |name: &str| {
        let span = marks.spans.iter().find(|span| &*span.name == name).expect("a span of that name");
        (span.count, span.allocations, span.reallocations, span.allocated_bytes.0, span.unended, span.unbegun)
    };
    // The C library's block for the second thread is the main one's.
    assert_eq!(facts("main"), (1, 2, 1, 288 + 10 + 1000, 0, 1));
    assert_eq!(facts("item"), (6, 6, 0, 5 * 100 + 10 + 150, 0, 0));
    assert_eq!(facts("work"), (1, 5, 0, 510, 0, 0));
    assert_eq!(facts("child"), (1, 1, 0, 150, 0, 0));
    assert_eq!(facts("handed over"), (0, 0, 0, 0, 1, 1));
    assert_eq!((marks.total, marks.not_listed(), marks.spans.len()), (23, 0, 5));
}
