//! The result for machines, `heapwise.bench-diff/1` (docs/cargo.md).

use super::compare::{Comparison, Level, Row};
use super::measure::BenchMeasure;
use heapwise_report::diff::Limit;
use serde_json::{Map, Value, json};

const SCHEMA: &str = "heapwise.bench-diff/1";

/// All of it, as one object.
pub(crate) fn render(comparison: &Comparison<'_>) -> serde_json::Result<String> {
    let thresholds: Map<_, _> = BenchMeasure::ALL
        .map(|measure| (measure.name().to_owned(), percent(comparison.thresholds.of(measure))))
        .into_iter()
        .collect();
    let value = json!({
        "schema": SCHEMA,
        "heapwise": env!("CARGO_PKG_VERSION"),
        "baseline": comparison.baseline,
        "threshold_percent": thresholds,
        "n_worse": comparison.worse(),
        "benchmarks": comparison.rows.iter().map(benchmark).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&value)
        .map(|text| heapwise_report::escape::terminal::json(&text).into_owned() + "\n")
}

/// Null for what is no percentage.
fn percent(limit: Limit) -> Value {
    limit.as_percent().into()
}

fn benchmark(row: &Row<'_>) -> Value {
    let [old, new] = row.iterations;
    let mut object = Map::new();
    object.insert("target".into(), row.target.into());
    object.insert("id".into(), row.id.into());
    object.insert("verdict".into(), row.verdict.name().into());
    object.insert("iterations".into(), json!({ "old": old, "new": new }));
    for pair in &row.pairs {
        let value = json!({
            "verdict": pair.verdict.name(),
            "old": pair.old.as_ref().map(level),
            "new": pair.new.as_ref().map(level),
            "change": pair.change(),
            "share": pair.share(),
        });
        object.insert(pair.measure.name().into(), value);
    }
    object.into()
}

fn level(level: &Level) -> Value {
    json!({ "first": level.first, "mean": level.mean, "min": level.min, "max": level.max })
}

#[cfg(test)]
mod tests {
    use super::super::compare::testing::sides;
    use super::super::threshold::Thresholds;
    use super::*;
    use std::collections::BTreeSet;

    fn rendered() -> Value {
        let [old, new] = sides();
        let text =
            render(&Comparison::new(Some("main"), Some(&old), &new, Thresholds::default())).expect("JSON");
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
