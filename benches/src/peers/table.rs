//! What was measured of peers, as Markdown.

use super::Found;
use super::peer::{Sees, not_here};
use super::series::{Known, One, Series, Shown};
use super::truth::{StackVerdict, Verdict};
use heapwise_trial::statistics::Spread;
use std::fmt::Write;

const MIB: f64 = 1024.0 * 1024.0;

/// A column of the table of costs: a number of a run and of the run alone in the same round. Less is better in all of them.
struct Column {
    title: &'static str,
    decimals: usize,
    number: fn(&One, &One) -> Option<f64>,
}

const COLUMNS: [Column; 6] = [
    Column {
        title: "time, × alone",
        decimals: 2,
        number: |one, alone| Some(one.program.wall_seconds() / alone.program.wall_seconds()),
    },
    Column {
        title: "processor time, × alone",
        decimals: 2,
        number: |one, alone| Some(one.whole.tree_cpu_us as f64 / alone.whole.tree_cpu_us.max(1) as f64),
    },
    Column {
        title: "peak RSS added, MiB",
        decimals: 1,
        number: |one, alone| {
            Some((one.program.peak_rss_kib as f64 - alone.program.peak_rss_kib as f64) / 1024.0)
        },
    },
    Column {
        title: "largest process, MiB",
        decimals: 0,
        number: |one, _| Some(one.whole.peak_rss_kib.max(one.program.peak_rss_kib) as f64 / 1024.0),
    },
    Column {
        title: "files, MiB",
        decimals: 2,
        number: |one, _| (one.bytes > 0).then(|| one.bytes as f64 / MIB),
    },
    Column { title: "text after, s", decimals: 2, number: |one, _| one.shown.seconds() },
];

/// All tables.
pub(super) fn tables(found: &[Found], all: &[Series], known: &[Known]) -> String {
    let rounds = all.first().map_or(0, |series| series.alone.len());
    let mut text = format!(
        "Medians of {rounds} interleaved rounds, with the least and the greatest. Bold: less than heapwise.\n\n"
    );
    let titles: Vec<_> = COLUMNS.iter().map(|column| column.title).collect();
    let _ = writeln!(text, "| program | tool | {} |", titles.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---:|".repeat(COLUMNS.len()));
    for series in all {
        text.push_str(&costs(series));
    }
    text.push('\n');
    text.push_str(&answers(found, known));
    text
}

fn costs(series: &Series) -> String {
    let seconds = Spread::of(series.alone.iter().map(|one| one.program.wall_seconds()));
    let seconds = seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}"));
    let mut text = format!(
        "| {} {} | alone: {seconds} s |{}\n",
        series.program,
        series.size,
        " |".repeat(COLUMNS.len())
    );
    // The first one is heapwise.
    let heapwise = series.peers.first().and_then(|(_, runs)| runs.as_deref().ok());
    for (at, (name, outcome)) in series.peers.iter().enumerate() {
        let cells: Vec<String> = match outcome {
            Ok(runs) => {
                let rival = if at > 0 { heapwise } else { None };
                COLUMNS.iter().map(|column| cell(column, runs, rival, &series.alone)).collect()
            }
            Err(why) => {
                let empty = std::iter::repeat_n(String::new(), COLUMNS.len() - 1);
                std::iter::once(why.clone()).chain(empty).collect()
            }
        };
        let _ = writeln!(text, "| | {name} | {} |", cells.join(" | "));
    }
    text
}

/// What is less than the figure of heapwise is bold: there it loses.
fn cell(column: &Column, runs: &[One], heapwise: Option<&[One]>, alone: &[One]) -> String {
    let spread = |runs: &[One]| {
        Spread::of(runs.iter().zip(alone).filter_map(|(one, alone)| (column.number)(one, alone)))
    };
    let shown = runs.first().map(|one| one.shown);
    let Some(own) = spread(runs) else {
        return if shown == Some(Shown::Page) { "a page in a browser" } else { "–" }.to_owned();
    };
    let is_reference = shown == Some(Shown::Nothing);
    let loses = heapwise.and_then(spread).is_some_and(|heapwise| own.median < heapwise.median);
    let bold = if loses && !is_reference { "**" } else { "" };
    format!("{bold}{own:.decimals$}{bold}", decimals = column.decimals)
}

fn answers(found: &[Found], known: &[Known]) -> String {
    let mut text = String::from("| tool | version | records |");
    for program in known {
        let language = if program.is_python { "Python" } else { "Rust" };
        let _ = write!(
            text,
            " {language}: calls counted of {} | {language}: their stack |",
            grouped(program.calls as f64)
        );
    }
    let _ = write!(text, "\n|---|---|---|{}\n", "---:|---|".repeat(known.len()));
    for (at, Found { peer, version }) in found.iter().enumerate() {
        let sees = match peer.sees() {
            Sees::All => "every call",
            Sees::Sample => "a sample",
            Sees::Nothing => continue,
        };
        let version = match version {
            Ok(version) => version,
            Err(why) => {
                let _ = writeln!(
                    text,
                    "| {} | {} |{}",
                    peer.name(),
                    not_here(why),
                    " – |".repeat(1 + 2 * known.len())
                );
                continue;
            }
        };
        let _ = write!(text, "| {} | {version} | {sees} |", peer.name());
        for program in known {
            let _ = match program.peers.get(at).map(|(_, verdict)| verdict) {
                Some(Ok(verdict)) => {
                    let of = program.calls as f64;
                    write!(text, " {} | {} |", counted(verdict, of), verdict.stack)
                }
                Some(Err(why)) => write!(text, " – | {why} |"),
                None => write!(text, " – | – |"),
            };
        }
        text.push('\n');
    }
    text
}

fn counted(verdict: &Verdict, of: f64) -> String {
    match verdict.counted {
        // Without the function that allocates there is no place to count at.
        None if verdict.stack == StackVerdict::NotShown => "–".to_owned(),
        None => "none".to_owned(),
        Some(counted) if counted == of => "all".to_owned(),
        Some(counted) => format!("{} ({:+.1} %)", grouped(counted), 100.0 * (counted - of) / of),
    }
}

/// With commas between thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::Measured;

    fn one(seconds: f64, cpu_us: u64, shown: Shown) -> One {
        let end_ns = (seconds * 1e9) as u64;
        let program =
            Measured { start_ns: 0, end_ns, cpu_us, peak_rss_kib: 2048, tree_cpu_us: cpu_us, code: 0 };
        One { whole: program.clone(), program, bytes: 1 << 20, shown }
    }

    #[test]
    fn what_costs_less_than_heapwise_is_bold_and_what_is_missing_says_why() {
        let (text, page, nothing) = (Shown::After(0.5), Shown::Page, Shown::Nothing);
        let series = Series {
            program: "mt",
            size: 10,
            alone: vec![one(1.0, 100, nothing), one(2.0, 200, nothing)],
            peers: vec![
                ("heapwise", Ok(vec![one(1.5, 300, text), one(3.0, 300, text)])),
                ("sampler", Ok(vec![one(1.0, 400, page), one(2.0, 800, page)])),
                ("reference", Ok(vec![one(1.0, 100, nothing), one(2.0, 200, nothing)])),
                ("memray", Err("only Python".into())),
            ],
        };
        let text = costs(&series);
        let rows: Vec<_> = text.lines().collect();
        assert_eq!(rows.len(), 5, "{text}");
        assert_eq!(
            rows[1],
            "| | heapwise | 1.50 (1.50..1.50) | 2.25 (1.50..3.00) | 0.0 (0.0..0.0) | 2 (2..2) \
             | 1.00 (1.00..1.00) | 0.50 (0.50..0.50) |"
        );
        assert!(rows[2].starts_with("| | sampler | **1.00 (1.00..1.00)** | 4.00 (4.00..4.00) |"), "{text}");
        assert!(rows[2].ends_with("| a page in a browser |"), "{text}");
        assert!(rows[3].contains("| 1.00 (1.00..1.00) | 1.00 (1.00..1.00) |"), "{text}");
        assert!(rows[4].contains("| only Python |"), "{text}");
    }

    #[test]
    fn counts_are_compared_with_the_truth() {
        let verdict = |counted| Verdict { counted, stack: StackVerdict::Right };
        assert_eq!(counted(&verdict(Some(1000.0)), 1000.0), "all");
        assert_eq!(counted(&verdict(Some(1_234_567.0)), 1_000_000.0), "1,234,567 (+23.5 %)");
        let unseen = Verdict { counted: None, stack: StackVerdict::NotShown };
        assert_eq!(counted(&unseen, 10.0), "–");
    }
}
