//! The services, the goal of each, and where its source is.

use crate::replay::workloads::{self, Workload};
use anyhow::{Context, Result, bail};
use serde::Serialize;

/// What to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Goal {
    RssAfter,
    Cpu,
}

impl Goal {
    /// In the words of `heapwise tune`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::RssAfter => "rss-after",
            Self::Cpu => "cpu",
        }
    }

    /// What a win is, as a factor: half of the memory, or nine tenths of the processor time.
    pub(super) fn aim(self) -> f64 {
        match self {
            Self::RssAfter => 0.5,
            Self::Cpu => 0.9,
        }
    }

    /// A measurement, in bytes or nanoseconds, for people.
    pub(super) fn shown(self, needed: f64) -> String {
        match self {
            Self::RssAfter => format!("{:.1} MiB", needed / 1024.0 / 1024.0),
            Self::Cpu => format!("{:.2} s", needed / 1e9),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// Also that of its workload.
    pub(super) name: &'static str,
    pub(super) goal: Goal,
    /// Its package in `examples`, which also is the name of its program.
    pub(super) package: &'static str,
}

const ALL: [Service; 3] = [
    Service { name: "async_server", goal: Goal::RssAfter, package: "async-server" },
    Service { name: "service", goal: Goal::RssAfter, package: "fragmentation" },
    Service { name: "batch", goal: Goal::Cpu, package: "fragmentation" },
];

impl Service {
    /// How it is started and loaded.
    pub(super) fn workload(&self) -> Result<Workload> {
        let names = [self.name.to_owned()];
        let found = match self.goal {
            Goal::RssAfter => workloads::chosen_services(&names),
            Goal::Cpu => workloads::chosen(&names),
        }?;
        found.into_iter().next().with_context(|| format!("there is no workload {}", self.name))
    }
}

/// The services with these names, or all of them.
pub(super) fn chosen(names: &[String]) -> Result<Vec<Service>> {
    if let Some(name) = names.iter().find(|name| !ALL.iter().any(|service| service.name == *name)) {
        bail!("there is no service {name}, only {}", ALL.map(|service| service.name).join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(ALL.into_iter().filter(|service| wanted(service.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_has_a_workload_and_a_source() {
        for service in chosen(&[]).unwrap() {
            assert_eq!(service.workload().unwrap().name, service.name);
            assert!(super::super::project::source(&service).join("src/main.rs").is_file());
        }
        assert!(chosen(&["svn".into()]).is_err());
    }
}
