//! The planner over all functions of real libraries: no branch of any function ends in bytes that make way, and what is moved decodes to
//! as many instructions as it comes from.

use heapwise_symbols::Svma;
use heapwise_symbols::code;
use heapwise_symbols::entry_points::displace::{Refusal, displace};
use heapwise_symbols::entry_points::neighbours::Neighbours;
use iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// What is behind a function and may make way.
const BEHIND: u64 = 16;

/// Counts of functions.
#[derive(Debug, Default)]
struct Count {
    planned: usize,
    refused: HashMap<String, usize>,
}

fn check(path: &Path) -> Count {
    code::read(path, |code| {
        let mut functions = BTreeMap::new();
        code.functions(|function| {
            if function.size > 0 {
                functions.insert(function.address.0, function.size);
            }
        });
        let mut count = Count::default();
        let neighbours = Neighbours::of(code, |_| true);
        // The address behind each displaced range, by the first one in it that no branch may reach.
        let mut displaced = BTreeMap::new();
        for (&address, &size) in &functions {
            let bytes = code.bytes(Svma(address), size + BEHIND);
            let hook = displace(bytes, size as usize, address);
            match hook.and_then(|hook| match neighbours.branch_into(code, &hook) {
                true => Err(Refusal::BranchInto),
                false => Ok(hook),
            }) {
                Ok(hook) => {
                    count.planned += 1;
                    assert!(hook.is_sound(), "{address:#x}");
                    displaced.insert(hook.address + 1, hook.address + u64::from(hook.displaced_len));
                    let moved = &hook.moved[..usize::from(hook.moved_len)];
                    let decoded = Decoder::with_ip(64, moved, 0x1000, DecoderOptions::NONE);
                    assert!(decoded.into_iter().all(|instruction| !instruction.is_invalid()), "{address:#x}");
                }
                Err(why) => *count.refused.entry(why.to_string()).or_default() += 1,
            }
        }
        for (&address, &size) in &functions {
            let body = Decoder::with_ip(64, code.bytes(Svma(address), size), address, DecoderOptions::NONE);
            for instruction in body {
                let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch32 | OpKind::NearBranch64);
                // A call of what lies in the middle of a function is data that was taken for code.
                if !is_near || instruction.flow_control() == FlowControl::Call {
                    continue;
                }
                let target = instruction.near_branch_target();
                let before = displaced.range(..=target).next_back();
                assert!(
                    before.is_none_or(|(_, &end)| target >= end),
                    "{}: {:#x} branches to {target:#x}, which made way",
                    path.display(),
                    instruction.ip()
                );
            }
        }
        count
    })
    .expect("it is read")
}

/// Libraries that this program has loaded, and itself, whose symbols are not stripped.
fn files() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("our mappings");
    let paths = maps
        .lines()
        .filter(|line| line.contains("r-xp"))
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
    let others = ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3"];
    paths.extend(others.iter().map(PathBuf::from).filter(|path| path.exists()));
    paths
}

#[test]
fn no_branch_of_any_function_ends_in_what_made_way() {
    let mut planned = 0;
    for path in files() {
        let count = check(&path);
        println!("{}: {count:?}", path.display());
        planned += count.planned;
    }
    assert!(planned > 5_000, "{planned}");
}
