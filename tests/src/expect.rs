//! The lines `expect key=value …` that victims print: facts about their own allocations.

use crate::facts::Facts;
use crate::report::{Report, Sum};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    keys: BTreeMap<String, String>,
}

/// Which events a line is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Site(String),
    Under(String),
    Thread(String),
}

/// The distinct lines in a victim's output.
pub fn parse(output: &str) -> Vec<Expectation> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("expect "));
    let lines = lines.map(|line| Expectation {
        keys: line.split_whitespace().filter_map(|pair| pair.split_once('=')).map(own).collect(),
    });
    lines.collect::<BTreeSet<_>>().into_iter().collect()
}

fn own((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

impl Expectation {
    fn subject(&self) -> Option<Subject> {
        let text = |key: &str| self.keys.get(key).cloned();
        let site = text("site").map(Subject::Site);
        site.or_else(|| text("under").map(Subject::Under)).or_else(|| text("thread").map(Subject::Thread))
    }

    fn number(&self, key: &str) -> Option<u64> {
        let text = self.keys.get(key)?;
        Some(text.parse().unwrap_or_else(|e| panic!("{key}={text} is no number: {e}")))
    }

    /// Whether the victim declares that nothing of it can be recorded.
    pub fn says_invisible(&self) -> bool {
        self.keys.get("recordable").is_some_and(|r| r == "no")
    }
}

/// The expectations that a report does not meet, in a line each.
///
/// Lines about the same function in different processes are added up: the report has one site for the same stack in
/// all of them.
pub fn unmet(expectations: &[Expectation], report: &Report, facts: &Facts) -> Vec<String> {
    let mut subjects: BTreeMap<Subject, Vec<&Expectation>> = BTreeMap::new();
    for expectation in expectations {
        if let Some(subject) = expectation.subject() {
            subjects.entry(subject).or_default().push(expectation);
        }
    }
    let sites: Vec<&str> = subjects
        .keys()
        .filter_map(|s| if let Subject::Site(name) = s { Some(&**name) } else { None })
        .collect();
    let mut unmet = Vec::new();
    for (subject, lines) in &subjects {
        let found = match subject {
            Subject::Site(name) => {
                report.sum(|stack| stack.iter().find(|f| sites.contains(f)) == Some(&&**name))
            }
            Subject::Under(name) => report.sum(|stack| stack.contains(&&**name)),
            Subject::Thread(name) => of_threads(report, name),
        };
        let checks: [(&str, u64); 5] = [
            ("blocks", found.blocks),
            ("bytes", found.bytes),
            ("live", found.live),
            ("live_bytes", found.live_bytes),
            ("temporary", found.temporary),
        ];
        for (key, found) in checks {
            let promised: Option<u64> = lines
                .iter()
                .map(|line| {
                    let processes = line.keys.get("process").map_or(1, |process| facts.how_many(process));
                    line.number(key).map(|number| number * processes)
                })
                .sum();
            if let Some(promised) = promised.filter(|&promised| promised != found) {
                unmet.push(format!("{subject:?}: {key} is {found}, not {promised}"));
            }
        }
    }
    unmet
}

fn of_threads(report: &Report, name: &str) -> Sum {
    let mut sum = Sum::default();
    for thread in report.threads.iter().filter(|thread| thread.name == name) {
        sum.blocks += thread.totals.requests();
        sum.bytes += thread.totals.allocated_bytes;
        sum.live += thread.totals.live_at_exit_blocks;
        sum.live_bytes += thread.totals.live_at_exit_bytes;
        sum.temporary += thread.totals.temporary_allocations;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_among_other_output_are_found_once_each() {
        let found =
            parse("sum 3\nexpect site=a blocks=2\nexpected\nexpect site=a blocks=2\nexpect under=b live=0\n");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].subject(), Some(Subject::Site("a".into())));
        assert_eq!(found[0].number("blocks"), Some(2));
        assert_eq!(found[1].subject(), Some(Subject::Under("b".into())));
    }
}
