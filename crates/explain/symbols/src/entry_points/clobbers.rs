//! Whether a function surely leaves no register as it was that its callers may change by the calling convention.
//!
//! A compiler that sees a function and its caller at once may know which registers the function leaves alone, and keep values of the
//! caller's there (`-fipa-ra` of GCC). What stands in front of the function would then have to leave them alone, too. What the compiler
//! knows of a function is what its own instructions write, and what it knows of the functions that it calls, or everything where it
//! knows nothing. So whatever is written on a way from the function's beginning, through calls as well, is known to be written: if that
//! is all of them, no caller relies on any.

use super::neighbours::Neighbours;
use crate::Svma;
use crate::code::Code;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};
use std::collections::BTreeSet;

/// The integer registers that a function may change.
pub(super) const SCRATCH: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];
/// Calls within calls that are followed.
const DEPTH: usize = 4;
/// Functions, and instructions of one, that are looked at.
const MOST_FUNCTIONS: usize = 200;
const MOST_INSTRUCTIONS: usize = 10_000;
/// Bytes that are decoded at once.
const WINDOW: u64 = 4096;

/// Whether the function at an address writes all of them on its ways.
pub fn all(code: &Code<'_>, neighbours: &Neighbours, address: u64) -> bool {
    let mut written = 0;
    let (mut level, mut seen) = (vec![address], BTreeSet::from([address]));
    for _ in 0..=DEPTH {
        let mut called = Vec::new();
        for function in level {
            let ways = Ways::of(code, neighbours, function);
            written |= ways.written;
            if written == (1 << SCRATCH.len()) - 1 {
                return true;
            }
            called.extend(ways.calls.into_iter().filter(|call| seen.insert(*call)));
        }
        if seen.len() > MOST_FUNCTIONS {
            break;
        }
        level = called;
    }
    false
}

/// What is found on the ways through one function.
#[derive(Debug, Default)]
struct Ways {
    /// A bit for each of [`SCRATCH`].
    written: u16,
    /// Where its calls go, as far as that can be seen.
    calls: Vec<u64>,
}

impl Ways {
    fn of(code: &Code<'_>, neighbours: &Neighbours, function: u64) -> Self {
        let mut ways = Self::default();
        let mut factory = InstructionInfoFactory::new();
        let (mut left, mut seen) = (vec![function], BTreeSet::new());
        let mut count = 0;
        while let Some(start) = left.pop() {
            let bytes = code.bytes(Svma(start), WINDOW);
            for instruction in Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
                count += 1;
                // Written by hand for callers of its own: it saves what others may change, and nothing of it counts.
                let is_own =
                    instruction.mnemonic() == Mnemonic::Pop && scratch(instruction.op0_register()) != 0;
                if instruction.is_invalid() || is_own || count > MOST_INSTRUCTIONS {
                    return Self::default();
                }
                if !seen.insert(instruction.ip()) {
                    break;
                }
                let target = target(&instruction);
                match instruction.flow_control() {
                    FlowControl::Call | FlowControl::IndirectCall => {
                        ways.calls.extend(target);
                        if !neighbours.are_of_one(instruction.ip(), instruction.next_ip()) {
                            break;
                        }
                    }
                    FlowControl::ConditionalBranch => left.extend(target),
                    FlowControl::UnconditionalBranch => {
                        left.extend(target);
                        break;
                    }
                    FlowControl::Next | FlowControl::XbeginXabortXend => {}
                    _ => break,
                }
                ways.written |= written(&mut factory, &instruction);
            }
        }
        ways
    }
}

pub(super) fn target(instruction: &Instruction) -> Option<u64> {
    let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch32 | OpKind::NearBranch64);
    is_near.then(|| instruction.near_branch_target())
}

fn written(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> u16 {
    let info = factory.info(instruction);
    let is_written = |access| {
        use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
        matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
    };
    let used = info.used_registers().iter().filter(|used| is_written(used.access()));
    used.fold(0, |sum, used| sum | scratch(used.register()))
}

/// The bit of a register, or of that which it is a part of.
pub(super) fn scratch(register: Register) -> u16 {
    let place = SCRATCH.iter().position(|&known| known == register.full_register());
    place.map_or(0, |place| 1 << place)
}
