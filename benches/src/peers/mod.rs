//! `bench peers`: the same programs with each tool that says where a program allocates: what it costs, how long it takes until
//! there is an answer, and whether the answer is right.
//!
//! All tools take turns with the program alone, in rounds. Whether counts and stacks are right is found with two programs of
//! which both are known (`truth.rs`), in one run each.

mod bytehound;
mod commands;
mod dhat_rs;
mod formats;
mod heaptrack;
mod heapwise;
mod jemalloc;
mod memray;
mod peer;
mod series;
mod table;
mod truth;
mod valgrind_dhat;

use crate::launcher;
use crate::workloads::{self, Workload};
use anyhow::{Context, Result, bail};
use peer::{Peer, Place};
use std::path::Path;

/// All of them, in the order of the tables. What compares itself comes first.
const PEERS: [&dyn Peer; 8] = [
    &heapwise::Heapwise,
    &heaptrack::Heaptrack,
    &bytehound::Bytehound,
    &memray::Memray,
    &dhat_rs::DhatRs,
    &valgrind_dhat::ValgrindDhat,
    &jemalloc::Profiler,
    &jemalloc::Plain,
];

/// Programs that are measured, and their sizes: those at which the slowest tool takes seconds.
const PROGRAMS: [(&str, u64); 4] =
    [("contest", 20), ("hashmap", 200_000), ("mt", 4_000_000), ("python_json", 3_000)];

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    pub(crate) only: &'a [String],
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// A peer that is here with its version, or why it is not.
pub(crate) struct Found {
    peer: &'static dyn Peer,
    version: Result<String, String>,
}

/// Measures, and returns tables to be shown.
pub(crate) fn measure(plan: &Plan<'_>) -> Result<String> {
    let place = Place { target: plan.target.to_owned(), installed: plan.folder.join("peers") };
    let launcher = launcher::build(plan.folder)?;
    let found: Vec<Found> = PEERS
        .into_iter()
        .map(|peer| Found { peer, version: peer.version(&place).map_err(|problem| format!("{problem:#}")) })
        .collect();
    let run = series::Runner {
        place: &place,
        launcher: &launcher,
        scratch: &plan.folder.join("scratch"),
        found: &found,
    };
    let mut all = Vec::new();
    for (workload, size) in chosen(plan)? {
        let prepared = workload.prepare(plan.target, plan.folder)?;
        all.push(run.measure(&workload, &prepared, size, plan.rounds)?);
    }
    let mut known = Vec::new();
    for workload in workloads::KNOWN {
        let prepared = workload.prepare(plan.target, plan.folder)?;
        let size = if plan.quick { workload.size / 10 } else { workload.size };
        known.push(run.judge(&workload, &prepared, size)?);
    }
    let _ = std::fs::remove_dir_all(run.scratch);
    let raw = plan.folder.join("peers.json");
    let document = serde_json::json!({ "programs": all, "known": known });
    std::fs::write(&raw, serde_json::to_vec_pretty(&document)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    Ok(format!("{}\nAll runs, one by one: {}\n", table::tables(&found, &all, &known), raw.display()))
}

fn chosen(plan: &Plan<'_>) -> Result<Vec<(Workload, u64)>> {
    if let Some(name) = plan.only.iter().find(|name| !PROGRAMS.iter().any(|(known, _)| known == name)) {
        bail!("there is no program {name}, only {}", PROGRAMS.map(|(name, _)| name).join(", "));
    }
    let mut all = Vec::new();
    for (name, size) in PROGRAMS {
        if plan.only.is_empty() || plan.only.iter().any(|only| only == name) {
            let workload = workloads::chosen(&[name.to_owned()])?.remove(0);
            all.push((workload, if plan.quick { size / 10 } else { size }));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_chosen_by_name() {
        let only = |names: &'static [String]| Plan {
            rounds: 1,
            quick: true,
            only: names,
            target: Path::new("/t"),
            folder: Path::new("/f"),
        };
        let all = chosen(&only(&[])).unwrap();
        assert_eq!(all.iter().map(|(w, size)| (w.name, *size)).next(), Some(("contest", 2)));
        assert_eq!(all.len(), PROGRAMS.len());
        let names: &'static [String] = Box::leak(Box::new(["storm".to_owned()]));
        assert!(chosen(&only(names)).unwrap_err().to_string().contains("no program storm"));
    }

    #[test]
    fn names_of_peers_differ() {
        let names: std::collections::BTreeSet<_> = PEERS.iter().map(|peer| peer.name()).collect();
        assert_eq!(names.len(), PEERS.len());
    }
}
