//! From the list on the command line to the candidates: each is prepared, and verified to be what its name says, before anything
//! is measured.

use crate::bundled::libraries;
use crate::{Failure, exit};
use heapwise_allocators::{Candidate, DEFAULT, Origin, Prepared, all, identify};
use heapwise_trial::compare::{self, Unavailable};
use heapwise_trial::supervise::output;
use std::process::Command;

/// Which candidates are available and which are not.
#[derive(Debug, Default)]
pub(crate) struct Field {
    /// The first one is the baseline: the program without changes.
    pub(crate) candidates: Vec<compare::Candidate>,
    pub(crate) unavailable: Vec<Unavailable>,
}

/// Those of a list, or all that are available.
pub(crate) fn field(list: Option<&str>) -> Result<Field, Failure> {
    let asked = match list {
        Some(list) => Candidate::parse_list(list).map_err(|error| Failure::new(exit::USAGE, error))?,
        None => usual()?,
    };
    let mut field = Field::default();
    let others = asked.into_iter().filter(|candidate| !candidate.is_as_it_is());
    for candidate in std::iter::once(Candidate::default()).chain(others) {
        match ready(&candidate) {
            Ok(candidate) => field.candidates.push(candidate),
            Err(reason) => field.unavailable.push(Unavailable {
                label: candidate.to_string(),
                allocator: candidate.name().to_owned(),
                reason,
            }),
        }
    }
    Ok(field)
}

/// The available allocators of the registry, without the C library's own: most programs use that already.
fn usual() -> Result<Vec<Candidate>, Failure> {
    let usual = all().iter().filter(|a| !matches!(a.origin(), Origin::CLibrary));
    // A bundled allocator that is missing is worth a note; one that would have to be installed, or is built on request only, is
    // not.
    let is_extra = |origin| matches!(origin, Origin::Installed { .. } | Origin::OnRequest { .. });
    let there = usual.filter(|a| !is_extra(a.origin()) || libraries().has(**a));
    there.map(|a| Candidate::parse(a.name()).map_err(|error| Failure::new(exit::UNEXPECTED, error))).collect()
}

/// A candidate for the comparison, prepared and verified to be what its name says; or why not.
pub(crate) fn ready(candidate: &Candidate) -> Result<compare::Candidate, String> {
    let prepared = libraries().prepare(candidate).map_err(|error| error.to_string())?;
    let mut version = Some(candidate.version()).filter(|version| !version.is_empty());
    if prepared.preload().is_some() {
        let identity = identify(&prepared, &output).map_err(|error| error.to_string())?;
        version = identity.version.or(version);
    }
    let settings = candidate.settings().iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = candidate.own_variables().map(|(name, value)| (format!("env.{name}"), value.to_owned()));
    Ok(compare::Candidate {
        label: if candidate.is_as_it_is() { DEFAULT.to_owned() } else { candidate.to_string() },
        allocator: candidate.name().to_owned(),
        version,
        settings: settings.chain(variables).collect(),
        environment: environment(&prepared),
        library: prepared.preload().map(ToOwned::to_owned),
    })
}

/// What a candidate changes in the environment of a command.
fn environment(prepared: &Prepared) -> Vec<(std::ffi::OsString, Option<std::ffi::OsString>)> {
    let mut command = Command::new("");
    prepared.apply(&mut command);
    command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_as_it_is_comes_first_and_once() {
        let field = field(Some("default:env.MALLOC_ARENA_MAX=1,default")).unwrap();
        let labels: Vec<&str> = field.candidates.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["default", "default:env.MALLOC_ARENA_MAX=1"]);
        let one = &field.candidates[1];
        assert_eq!(one.environment, [("MALLOC_ARENA_MAX".into(), Some("1".into()))]);
        assert_eq!((one.library.as_ref(), one.settings.len()), (None, 1));
    }

    #[test]
    fn what_is_not_there_is_said_and_what_is_not_known_is_refused() {
        let field = field(Some("/no/such/library.so")).unwrap();
        assert_eq!(field.candidates.len(), 1);
        assert!(field.unavailable[0].reason.contains("cannot read"), "{:?}", field.unavailable);
        assert_eq!(super::field(Some("jemaloc")).unwrap_err().code, exit::USAGE);
    }
}
