//! Fills `heapwise.bench-diff/1` (docs/cargo.md).

use super::compare::{Comparison, Pair, Row};
use super::measure::BenchMeasure;
use heapwise_report::schema::bench_diff::{BenchDiff, Benchmark, Change, Iterations, Measures, SCHEMA};
use heapwise_report::schema::pretty;

/// All of it, as one object.
pub(crate) fn render(comparison: &Comparison<'_>) -> String {
    let [requests, allocated_bytes, peak_bytes] =
        BenchMeasure::ALL.map(|measure| comparison.thresholds.of(measure).as_percent());
    pretty(&BenchDiff {
        baseline: comparison.baseline.map(str::to_owned),
        benchmarks: comparison.rows.iter().map(benchmark).collect(),
        heapwise: env!("CARGO_PKG_VERSION").to_owned(),
        n_worse: comparison.worse(),
        schema: SCHEMA.to_owned(),
        threshold_percent: Measures { allocated_bytes, peak_bytes, requests },
    })
}

fn benchmark(row: &Row<'_>) -> Benchmark {
    let [old, new] = row.iterations;
    // In the order of `BenchMeasure::ALL`.
    let [requests, allocated_bytes, peak_bytes] = row.pairs.each_ref().map(change);
    Benchmark {
        allocated_bytes,
        id: row.id.to_owned(),
        iterations: Iterations { new, old },
        peak_bytes,
        requests,
        target: row.target.to_owned(),
        verdict: row.verdict,
    }
}

fn change(pair: &Pair) -> Change {
    Change { change: pair.change(), new: pair.new, old: pair.old, share: pair.share(), verdict: pair.verdict }
}

#[cfg(test)]
mod tests {
    use super::super::compare::testing::sides;
    use super::super::threshold::Thresholds;
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn rendered() -> Value {
        let [old, new] = sides();
        let text = render(&Comparison::new(Some("main"), Some(&old), &new, Thresholds::default()));
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn zero_has_no_share() {
        let value = rendered();
        let grown = &value["benchmarks"][0];
        assert_eq!((&grown["id"], &grown["verdict"]), (&"grown".into(), &"worse".into()));
        let expected = json!({
            "verdict": "worse",
            "old": {"first": 0, "mean": 0.0, "min": 0, "max": 0},
            "new": {"first": 1, "mean": 1.0, "min": 1, "max": 1},
            "change": 1.0,
            "share": null,
        });
        assert_eq!(grown["requests"], expected);
        assert_eq!(value["n_worse"], 1);
        assert_eq!(
            value["threshold_percent"],
            json!({"requests": 0.0, "allocated_bytes": 1.0, "peak_bytes": 1.0})
        );
    }

    fn names(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(list) => list.iter().for_each(|value| names(value, found)),
            Value::Object(object) => object.iter().for_each(|(name, value)| {
                found.insert(name.clone());
                names(value, found);
            }),
            _ => {}
        }
    }

    #[test]
    fn fields_are_documented_and_documented_fields_are_there() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/cargo.md");
        let document = std::fs::read_to_string(path).expect("a document");
        let chapter = document.split("## JSON: `heapwise.bench-diff/1`").nth(1).expect("a chapter");
        let chapter = chapter.split("\n## ").next().expect("a chapter");
        let rows: Vec<_> =
            chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next()).collect();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let documented: BTreeSet<String> = rows
            .iter()
            .flat_map(|cell| cell.split(|c: char| !is_of_name(c)))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let mut real = BTreeSet::new();
        names(&rendered(), &mut real);
        assert_eq!(documented, real);
    }
}
