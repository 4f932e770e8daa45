//! What to minimise.

use std::fmt;
use std::str::FromStr;

/// A measure that a goal can minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Objective {
    /// Highest resident memory.
    PeakRss,
    /// Resident memory after the load, when the program is idle.
    RssAfter,
    /// Processor time.
    Cpu,
    /// How long the slow calls take.
    Latency,
}

impl Objective {
    pub const ALL: [Self; 4] = [Self::PeakRss, Self::RssAfter, Self::Cpu, Self::Latency];

    /// As in a goal.
    pub fn name(self) -> &'static str {
        match self {
            Self::PeakRss => "rss",
            Self::RssAfter => "rss-after",
            Self::Cpu => "cpu",
            Self::Latency => "latency",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::PeakRss => "peak RSS",
            Self::RssAfter => "RSS after load",
            Self::Cpu => "CPU time",
            Self::Latency => "latency",
        }
    }
}

/// Weights of measures, which add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    name: String,
    weights: Vec<(Objective, f64)>,
}

/// An invalid goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid goal {text:?}: expected rss, rss-after, cpu, latency, batch, balanced, or weights such as rss=2,cpu=1"
)]
pub struct GoalError {
    text: String,
}

impl Goal {
    const BATCH: &'static str = "batch";

    /// Memory twice: what is held for good, and what has to be there at worst.
    fn balanced() -> Self {
        let weights = [(Objective::PeakRss, 1.0), (Objective::RssAfter, 1.0), (Objective::Cpu, 2.0)];
        Self::of("balanced", weights.to_vec())
    }

    /// When it has done its work it ends, and everything is returned.
    fn batch() -> Self {
        Self::of(Self::BATCH, vec![(Objective::PeakRss, 1.0), (Objective::Cpu, 1.0)])
    }

    /// The weights are put into proportion.
    fn of(name: &str, weights: Vec<(Objective, f64)>) -> Self {
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let weights = weights.into_iter().map(|(measure, weight)| (measure, weight / sum)).collect();
        Self { name: name.to_owned(), weights }
    }

    /// What counts of a program that nothing is known of but whether it goes on with memory that it no longer uses: of a service, or one
    /// that waits, what stays resident counts as much as the peak does; one that ends by itself returns it.
    pub fn of_program(goes_on: bool) -> Self {
        if goes_on { Self::balanced() } else { Self::batch() }
    }

    /// Whether it is that of a program that ends by itself.
    pub fn is_of_batch(&self) -> bool {
        self.name == Self::BATCH
    }

    /// The measures that count, with their weights.
    pub fn weights(&self) -> &[(Objective, f64)] {
        &self.weights
    }

    /// The weight of a measure.
    pub fn weight(&self, measure: Objective) -> f64 {
        self.weights.iter().find(|(m, _)| *m == measure).map_or(0.0, |(_, weight)| *weight)
    }

    /// Whether the measure counts at all.
    pub fn wants(&self, measure: Objective) -> bool {
        self.weight(measure) > 0.0
    }

    /// The measure that counts most.
    pub fn main(&self) -> Objective {
        let most = self.weights.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or(Objective::PeakRss, |(measure, _)| *measure)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let failed = || GoalError { text: text.to_owned() };
        let named = |name: &str| Objective::ALL.into_iter().find(|m| m.name() == name);
        match text {
            "balanced" => return Ok(Self::balanced()),
            Self::BATCH => return Ok(Self::batch()),
            _ => {}
        }
        let pairs: Vec<(Objective, f64)> = if let Some(measure) = named(text) {
            vec![(measure, 1.0)]
        } else {
            let pair = |part: &str| -> Option<(Objective, f64)> {
                let (name, weight) = part.split_once('=')?;
                let weight: f64 = weight.trim().parse().ok()?;
                (weight.is_finite() && weight > 0.0).then_some((named(name.trim())?, weight))
            };
            text.split(',').map(pair).collect::<Option<_>>().ok_or_else(failed)?
        };
        let mut seen = Vec::new();
        for (measure, _) in &pairs {
            if seen.contains(measure) {
                return Err(failed());
            }
            seen.push(*measure);
        }
        Ok(Self::of(text, pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_names_or_weights() {
        let goal: Goal = "rss-after".parse().expect("a name");
        assert_eq!((goal.weights(), goal.main()), (&[(Objective::RssAfter, 1.0)][..], Objective::RssAfter));
        let goal: Goal = "rss=1,cpu=3".parse().expect("weights");
        assert_eq!((goal.weight(Objective::PeakRss), goal.weight(Objective::Cpu)), (0.25, 0.75));
        assert!(!goal.wants(Objective::Latency) && goal.main() == Objective::Cpu);
        let batch = Goal::of_program(false);
        assert!(
            batch.is_of_batch() && !batch.wants(Objective::RssAfter) && batch.weight(Objective::Cpu) == 0.5
        );
        assert!(Goal::of_program(true).wants(Objective::RssAfter));
        let sum: f64 = "balanced".parse::<Goal>().expect("a name").weights().iter().map(|w| w.1).sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_goal_is_refused_with_those_that_are() {
        for wrong in ["", "memory", "rss=0", "rss=-1", "rss=nan", "rss=1,rss=2", "rss=1,", "cpu=inf"] {
            let error = wrong.parse::<Goal>().expect_err(wrong);
            assert!(error.to_string().contains("rss-after"), "{error}");
        }
    }
}
