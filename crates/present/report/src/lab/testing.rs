//! A made-up outcome.

use heapwise_environment::MachineDescription;
use heapwise_trial::lab::{Cell, Column, Growth, Outcome, Spread, Table};

pub(super) fn outcome() -> Outcome {
    let spread = |median, low, high| Spread { median, low, high };
    let growth = |exponent, plus_minus| Cell::Growth(Growth { exponent, plus_minus, points: 5 });
    let columns = [
        ("condition", "condition"),
        ("n", "entries"),
        ("time_ns", "time"),
        ("ratio", "times plain"),
        ("growth", "growth"),
    ];
    let columns: Vec<Column> = columns.iter().map(|(id, title)| Column::new(*id, *title)).collect();
    let n = Cell::Count(1_000_000);
    let rows = vec![
        vec![
            Cell::text("plain"),
            n.clone(),
            Cell::Time(spread(2e8, 1e8, 3e8)),
            Cell::Ratio(spread(1.0, 1.0, 1.0)),
            growth(1.95, 0.1),
        ],
        vec![
            Cell::text("tcmalloc-debug"),
            n.clone(),
            Cell::Time(spread(20.1e9, 19e9, 21e9)),
            Cell::Ratio(spread(105.7, 98.2, 112.0)),
            growth(1.042, 0.031),
        ],
        vec![Cell::text("fixed"), n, Cell::Nothing, Cell::Nothing, growth(1.0, f64::INFINITY)],
    ];
    let table = Table {
        id: "hash-map/drop".to_owned(),
        title: "hash-map: drop".to_owned(),
        aside: "a HashMap<String, String> is built, entry by entry, and dropped".to_owned(),
        labels: vec![("workload", "hash-map".to_owned()), ("phase", "drop".to_owned())],
        is_detail: false,
        columns,
        rows,
    };
    let detail = Table {
        id: "sizes".to_owned(),
        title: "Every size".to_owned(),
        is_detail: true,
        labels: Vec::new(),
        ..table.clone()
    };
    Outcome {
        experiment: "debug-heap",
        shows: "What it costs.",
        machine: MachineDescription { cores: 2, kernel: "Linux 6".into(), ..MachineDescription::default() },
        is_interrupted: false,
        setup: vec!["Three rounds, in each all conditions in turn.".to_owned()],
        tables: vec![table, detail],
        caveats: vec!["hostile \x1b[31m".to_owned()],
        conclusion: vec!["It is slow.".to_owned()],
    }
}

/// One of an experiment under allocators.
pub(super) fn by_allocator() -> Outcome {
    let columns = [("allocator", "allocator"), ("peak_bytes", "peak")];
    let columns = columns.iter().map(|(id, title)| Column::new(*id, *title)).collect();
    let peak = |mb: f64| Cell::Bytes(Spread { median: 2e6 * mb, low: 1e6 * mb, high: 3e6 * mb });
    let rows = vec![vec![Cell::text("default"), peak(1.0)], vec![Cell::text("jemalloc"), peak(1.0)]];
    let memory = Table {
        id: "threads-end".to_owned(),
        title: "threads end".to_owned(),
        aside: String::new(),
        labels: Vec::new(),
        is_detail: false,
        columns,
        rows,
    };
    let columns =
        [("claim", "the article says"), ("article", "its figures"), ("here", "here"), ("verdict", "verdict")];
    let article = Table {
        id: "article".to_owned(),
        title: "Beside the article".to_owned(),
        columns: columns.iter().map(|(id, title)| Column::new(*id, *title)).collect(),
        rows: vec![["glibc returns nearly all", "99 %", "97 %", "reproduces"].map(Cell::text).to_vec()],
        ..memory.clone()
    };
    Outcome {
        experiment: "shootout",
        shows: "What is returned.",
        tables: vec![memory, article],
        caveats: Vec::new(),
        conclusion: vec!["glibc returns nearly all: reproduces".to_owned()],
        ..outcome()
    }
}
