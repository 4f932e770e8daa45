//! The jumps that a recorder has written into functions: found again by the plans of the files, and taken back.

use super::Refused;
use super::tracee::Tracee;
use crate::hooks::Placed;
use heapwise_trace::live::hooks::{Hook, JUMP_BYTES};
use heapwise_trace::live::stub::{CODE_BYTES, MOVED_AT, is_stub};
use std::ops::Range;

const JUMP: u8 = 0xe9;

/// Where a function's jump leads, if it is one of a recorder: the stub with the moved code.
fn stub_of(tracee: &Tracee, hook: &Hook) -> Option<Range<u64>> {
    let bytes = tracee.read(hook.address, JUMP_BYTES).ok()?;
    let (&first, distance) = bytes.split_first()?;
    if first != JUMP {
        return None;
    }
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    let at = hook.address.wrapping_add(JUMP_BYTES as u64).wrapping_add_signed(distance.into());
    let code = tracee.read(at, MOVED_AT).ok()?;
    is_stub(code.as_slice().try_into().ok()?).then_some(at..at + CODE_BYTES as u64)
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
