//! How much more is no regression, in percent of what the baseline has.

use super::compare::Measure;
use heapwise_report::escape::terminal::escape;

/// One for each measure, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thresholds {
    percent: [f64; 3],
}

impl Default for Thresholds {
    /// Counts are exact. Sizes follow from lengths, of paths and numbers for instance, which differ from machine to machine.
    fn default() -> Self {
        Self { percent: [0.0, 1.0, 1.0] }
    }
}

impl Thresholds {
    pub(crate) fn of(&self, measure: Measure) -> f64 {
        self.percent[measure as usize]
    }

    /// Reads `MEASURE=PERCENT%` and `PERCENT%`; later ones come before earlier ones.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let mut thresholds = Self::default();
        for text in texts {
            let (measures, percent) = match text.split_once('=') {
                Some((name, percent)) => (measures(name.trim()), percent),
                None => (Some(Measure::ALL.to_vec()), text.as_str()),
            };
            let percent = percent.trim();
            let number = percent.strip_suffix('%').unwrap_or(percent).trim_end();
            let number = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            let (Some(measures), Some(number)) = (measures, number) else {
                return Err(format!(
                    "{:?} is no threshold; write MEASURE=PERCENT%, such as bytes=5%, with requests, bytes or peak",
                    escape(text)
                ));
            };
            for measure in measures {
                thresholds.percent[measure as usize] = number;
            }
        }
        Ok(thresholds)
    }
}

fn measures(name: &str) -> Option<Vec<Measure>> {
    let found = Measure::ALL.into_iter().find(|measure| measure.title() == name || measure.field() == name);
    found.map(|measure| vec![measure])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Result<[f64; 3], String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        Thresholds::parse(&texts).map(|t| Measure::ALL.map(|measure| t.of(measure)))
    }

    #[test]
    fn thresholds_are_read() {
        assert_eq!(parse(&[]), Ok([0.0, 1.0, 1.0]));
        assert_eq!(parse(&["5%"]), Ok([5.0, 5.0, 5.0]));
        assert_eq!(parse(&["5", "requests=0%", "allocated_bytes = 2.5 %"]), Ok([0.0, 2.5, 5.0]));
        for text in
            ["", "x", "x=1%", "bytes=", "bytes=-1%", "bytes=nan", "bytes=inf", "bytes=1%%", "bytes>1", "=1"]
        {
            assert!(parse(&[text]).expect_err(text).contains("is no threshold"), "{text}");
        }
    }
}
