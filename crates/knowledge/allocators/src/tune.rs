//! Which candidates are worth a try for a program of which nothing is known.

use crate::registry;
use crate::spec::Candidate;

/// The baseline first, then each allocator of the registry: with its defaults, with each value that is worth trying for one
/// setting, and with settings that belong together. Allocators that are not available are included;
/// [`Libraries::prepare`](crate::Libraries::prepare) reports that.
pub fn tunings() -> Vec<Candidate> {
    let mut all = vec![Candidate::default()];
    for allocator in registry::all().iter().copied() {
        let plain = Candidate::of(allocator);
        let singles =
            allocator.settings().iter().flat_map(|s| s.worth_trying.iter().map(|v| vec![(s.name, *v)]));
        let together = allocator.combinations().iter().map(|c| c.to_vec());
        let tuned: Vec<_> = singles
            .chain(together)
            .filter_map(|pairs| {
                pairs.iter().try_fold(plain.clone(), |c, (name, value)| c.with(name, value).ok())
            })
            .collect();
        all.push(plain);
        all.extend(tuned);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_candidates_differ_and_none_got_lost() {
        let all = tunings();
        assert!(all[0].is_as_it_is() && all.len() > 25, "{}", all.len());
        let different: HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let rows = registry::all().iter().map(|a| {
            1 + a.settings().iter().map(|s| s.worth_trying.len()).sum::<usize>() + a.combinations().len()
        });
        assert_eq!(all.len(), 1 + rows.sum::<usize>());
        let labels: HashSet<String> = all.iter().map(ToString::to_string).collect();
        assert!(labels.contains("jemalloc:background_thread=true:dirty_decay_ms=1000"), "{labels:?}");
        for candidate in &all {
            assert_eq!(&Candidate::parse(&candidate.to_string()).expect("its own words"), candidate);
        }
    }
}
