//! Which tunables of the C library are in force: only the loader lists them.

use super::{Identity, IdentityError, PATIENCE, ProbeOutput, Run};
use crate::libraries::Prepared;
use std::collections::BTreeMap;
use std::process::Command;

/// Compares what the loader lists with what was chosen. Loaders before glibc 2.33 list nothing; then nothing is proven.
pub(super) fn prove(
    prepared: &Prepared,
    identity: &mut Identity,
    loader: &str,
    run: Run<'_>,
) -> Result<(), IdentityError> {
    let chosen = prepared.candidate().settings();
    if chosen.is_empty() || loader.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(loader);
    command.arg("--list-tunables").envs(prepared.variables().iter().map(|(name, value)| (name, value)));
    let Ok(Some(probe)) = run(&mut command, PATIENCE) else { return Ok(()) };
    let probe = ProbeOutput::from(probe);
    let listed = parse(&probe.output);
    if !probe.status.success() || listed.is_empty() {
        return Ok(());
    }
    for (name, value) in chosen.iter() {
        let found = listed.get(name);
        if found.map(u64::to_string).as_deref() != Some(value) {
            let message = match found {
                Some(found) => format!("{name} is {found} in the program instead of {value}"),
                None => format!("this C library has no {name} (it has {})", names(&listed)),
            };
            return Err(IdentityError::Settings { candidate: prepared.candidate().to_string(), message });
        }
        identity.settings.insert(name.to_owned(), Some(value.to_owned()));
    }
    Ok(())
}

fn names(listed: &BTreeMap<String, u64>) -> String {
    listed.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Reads lines like `glibc.malloc.arena_max: 0x2 (min: 0x1, max: 0xffffffffffffffff)`.
fn parse(list: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, rest) = line.strip_prefix("glibc.malloc.")?.split_once(": ")?;
        let value = rest.split(' ').next()?;
        let number = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        Some((name.to_owned(), number.ok()?))
    };
    list.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaders_list_is_read() {
        let list = "glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)\n\
                    glibc.malloc.arena_max: 0x10 (min: 0x1, max: 0xffffffffffffffff)\n\
                    glibc.malloc.mmap_max: 7 (min: 0, max: 2147483647)\n";
        let listed = parse(list);
        assert_eq!(listed, [("arena_max".to_owned(), 16), ("mmap_max".to_owned(), 7)].into());
        assert!(parse("no such option").is_empty());
    }
}
