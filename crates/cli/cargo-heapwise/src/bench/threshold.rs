//! How much more is no regression.

use super::measure::BenchMeasure;
use heapwise_report::diff::{Limit, Threshold};

/// One limit for each measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thresholds([Limit; 3]);

impl Default for Thresholds {
    /// Counts are exact. Sizes follow from lengths, of paths and numbers for instance, which differ from machine to machine.
    fn default() -> Self {
        Self([0, 1, 1].map(Limit::percent))
    }
}

impl Thresholds {
    pub(crate) fn of(&self, measure: BenchMeasure) -> Limit {
        self.0[measure as usize]
    }

    /// Reads conditions as `heapwise diff` has them; later ones come before earlier ones.
    pub(crate) fn parse(expressions: &[String]) -> Result<Self, String> {
        let mut thresholds = Self::default();
        let is_bytes = |measure| measure != BenchMeasure::Requests;
        for expression in expressions {
            let one = Threshold::parse(expression, &BenchMeasure::ALL, BenchMeasure::name, is_bytes);
            let one = one.map_err(|error| error.to_string())?;
            thresholds.0[one.measure as usize] = one.limit;
        }
        Ok(thresholds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Result<[String; 3], String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        Thresholds::parse(&texts).map(|t| BenchMeasure::ALL.map(|measure| t.of(measure).to_string()))
    }

    #[test]
    fn thresholds_are_read() {
        let of = |texts: &[&str]| parse(texts).expect("thresholds");
        assert_eq!(of(&[]), ["0 %", "1 %", "1 %"]);
        assert_eq!(
            of(&["requests+5%", "requests+0%", "allocated_bytes + 2.5 %", "peak_bytes+5%"]),
            ["0 %", "2.5 %", "5 %"]
        );
        assert_eq!(of(&["requests>10", "peak_bytes+1KiB"]), ["up to 10", "1 %", "+1024"]);
        for text in [
            "",
            "x",
            "x+1%",
            "peak_bytes+",
            "peak_bytes+-1%",
            "peak_bytes+nan",
            "peak_bytes+inf",
            "peak_bytes+1%%",
            "bytes>1",
            "+1%",
            "5%",
        ] {
            let error = parse(&[text]).expect_err(text);
            assert!(error.starts_with("threshold ") && error.contains(text), "{error}");
        }
    }
}
