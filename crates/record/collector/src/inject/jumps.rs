//! The jumps that a recorder has written into functions: found again by the plans of the files, and taken back.

use super::Refused;
use super::tracee::Tracee;
use crate::hooks::Placed;
use heapwise_trace::live::hooks::{Hook, JUMP_BYTES};
use std::ops::Range;

const JUMP: u8 = 0xe9;
/// How stubs of the recorder begin: what is done first, and a load of the slot's address.
const BEGINNINGS: [[u8; 8]; 3] = [
    [0x48, 0x89, 0xe1, 0x49, 0x89, 0xe8, 0x49, 0xb9],
    [0x66, 0x0f, 0x1f, 0x44, 0, 0, 0x49, 0xbb],
    [0x41, 0x53, 0x0f, 0x1f, 0x40, 0, 0x49, 0xbb],
];
const JUMP_ON: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const JUMP_ON_AT: usize = 16;
const STUB_BYTES: usize = 30;
/// A stub, and the moved code behind it.
const CODE_BYTES: u64 = 80;

/// Where a function's jump leads, if it is one of a recorder: the stub with the moved code.
fn stub_of(tracee: &Tracee, hook: &Hook) -> Option<Range<u64>> {
    let bytes = tracee.read(hook.address, JUMP_BYTES).ok()?;
    let (&first, distance) = bytes.split_first()?;
    if first != JUMP {
        return None;
    }
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    let at = hook.address.wrapping_add(JUMP_BYTES as u64).wrapping_add_signed(distance.into());
    let stub = tracee.read(at, STUB_BYTES).ok()?;
    let is_ours = BEGINNINGS.iter().any(|beginning| stub.starts_with(beginning))
        && stub[JUMP_ON_AT..].starts_with(&JUMP_ON);
    is_ours.then_some(at..at + CODE_BYTES)
}

/// Gives functions their own code again. Returns where their jumps have led.
pub(super) fn take_back(tracee: &Tracee, hooks: &[Placed]) -> Result<Vec<Range<u64>>, Refused> {
    let mut stubs = Vec::new();
    for Placed { hook, .. } in hooks {
        if let Some(stub) = stub_of(tracee, hook) {
            tracee.write(hook.address, &hook.displaced[..usize::from(hook.displaced_len)])?;
            stubs.push(stub);
        }
    }
    Ok(stubs)
}
