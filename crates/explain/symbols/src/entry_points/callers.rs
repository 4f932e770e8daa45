//! Whether callers of a function rely on registers that it could change by the calling convention.
//!
//! A compiler that sees a function and its caller at once may keep values of the caller's in registers that the function leaves alone
//! (`-fipa-ra` of GCC, within one source file or with `-flto`). A caller that does so looks at a register after the call that nothing has
//! written since, whichever way is taken. What returns a value that was there before the call looks at nothing: its register was the last
//! thing that was written before.
//!
//! Calls by the function's address are seen, those through pointers and from other files are not: of these a compiler knows nothing,
//! either.

use super::clobbers::{self, SCRATCH};
use super::neighbours::Neighbours;
use crate::Svma;
use crate::code::Code;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use std::collections::BTreeMap;

/// The opcode of a call, with four bytes that say how far it goes.
const CALL: u8 = 0xe8;
const CALL_BYTES: usize = 5;
/// Calls of a function that are looked at, from the first one on. A compiler that knows what a function leaves alone makes use of that at
/// many calls: where there are so many, some of the first rely on it, or none does.
const MOST_CALLS: u32 = 1024;
/// Instructions behind a call that are looked at, on all ways together.
const MOST_INSTRUCTIONS: usize = 200;
/// Instructions of a function with any number of arguments before it looks whether some are in vector registers.
const MOST_BEFORE_VECTORS: usize = 24;
/// Bytes that are decoded at once.
const WINDOW: u64 = 1024;
/// Bytes of a caller that are looked at before a call.
const LONGEST: u64 = 64 << 10;
/// Bits of the integer registers; those of the vector registers follow.
const INTEGERS: u32 = (1 << SCRATCH.len()) - 1;
const RAX: u32 = 1;
const RDX: u32 = 1 << 2;
const XMM0: u32 = INTEGERS + 1;
const ALL: u32 = INTEGERS | 0xffff << SCRATCH.len();

/// Which kinds of registers callers rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relied {
    pub on_integers: bool,
    pub on_vectors: bool,
}

/// What the callers of functions rely on, by the functions' addresses. `functions` says of each whether it returns something.
pub fn relied_on(
    code: &Code<'_>,
    neighbours: &Neighbours,
    functions: &BTreeMap<u64, bool>,
) -> BTreeMap<u64, Relied> {
    let mut relied = BTreeMap::<u64, (Relied, u32)>::new();
    let (Some((&first, _)), Some((&last, _))) = (functions.first_key_value(), functions.last_key_value())
    else {
        return BTreeMap::new();
    };
    for segment in code.segments() {
        let bytes = code.bytes(segment.address, u64::MAX - segment.in_file.start);
        for at in memchr::memchr_iter(CALL, bytes) {
            let Some(&[_, a, b, c, d]) = bytes.get(at..at.saturating_add(CALL_BYTES)) else { break };
            let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
            let call = segment.address.0.wrapping_add(at as u64);
            let behind = call.wrapping_add(CALL_BYTES as u64);
            let target = behind.wrapping_add_signed(distance);
            if target < first || last < target {
                continue;
            }
            let Some(&returns) = functions.get(&target) else { continue };
            let (of, calls) = relied.entry(target).or_default();
            *calls += 1;
            if *calls > MOST_CALLS || of.on_integers && of.on_vectors {
                continue;
            }
            let registers = read_behind(code, neighbours, (call, behind), returns);
            of.on_integers |= registers & INTEGERS != 0;
            of.on_vectors |= registers & !INTEGERS != 0;
        }
    }
    relied.into_iter().map(|(function, (of, _))| (function, of)).collect()
}

/// The registers that are read behind a call before they are written.
fn read_behind(code: &Code<'_>, neighbours: &Neighbours, (call, behind): (u64, u64), returns: bool) -> u32 {
    // Where the function returns something, that is what is looked at.
    let kept = if returns { ALL & !(RAX | RDX) } else { ALL };
    let mut factory = InstructionInfoFactory::new();
    // Of each instruction: what was not written on a way that led there.
    let (mut left, mut seen, mut read) = (vec![(behind, kept)], BTreeMap::<u64, u32>::new(), 0);
    let mut count = 0;
    while let Some((start, mut kept)) = left.pop() {
        let bytes = code.bytes(Svma(start), WINDOW);
        for instruction in Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
            count += 1;
            let known = seen.entry(instruction.ip()).or_default();
            if instruction.is_invalid() || count > MOST_INSTRUCTIONS || kept & !*known == 0 {
                break;
            }
            *known |= kept;
            let (reads, writes) = accesses(&mut factory, &instruction);
            read |= reads & kept;
            kept &= !writes;
            if kept == 0 {
                break;
            }
            let target = clobbers::target(&instruction);
            match instruction.flow_control() {
                // What the next function is handed over may be in its registers already.
                FlowControl::Call | FlowControl::UnconditionalBranch => {
                    let own = neighbours.start_of(instruction.ip());
                    let goes_on = |target: &u64| {
                        own.is_some() && neighbours.start_of(*target) == own
                            || !is_variadic(&mut factory, code, *target)
                    };
                    left.extend(target.filter(goes_on).map(|target| (target, kept)));
                    break;
                }
                FlowControl::ConditionalBranch => left.extend(target.map(|target| (target, kept))),
                FlowControl::Return => {
                    let returned = kept & (RAX | XMM0);
                    if returned != 0 {
                        read |= returned & written_last(code, neighbours, call);
                    }
                    break;
                }
                FlowControl::Next => {}
                _ => break,
            }
        }
    }
    read
}

/// Whether a function takes any number of arguments. It saves all registers that there may be some in, whether there are or not.
fn is_variadic(factory: &mut InstructionInfoFactory, code: &Code<'_>, function: u64) -> bool {
    let bytes = code.bytes(Svma(function), WINDOW);
    let decoder = Decoder::with_ip(64, bytes, function, DecoderOptions::NONE);
    // What says how many of them are in vector registers comes before the first branch.
    let first = decoder.into_iter().take(MOST_BEFORE_VECTORS);
    let is_straight = |instruction: &Instruction| instruction.flow_control() == FlowControl::Next;
    for instruction in first.take_while(|instruction| is_straight(instruction) && !instruction.is_invalid()) {
        let operands = [instruction.op0_register(), instruction.op1_register()];
        if instruction.mnemonic() == Mnemonic::Test && operands == [Register::AL; 2] {
            return true;
        }
        // A value of its own that is looked at is not that of its caller.
        if accesses(factory, &instruction).1 & RAX != 0 {
            return false;
        }
    }
    false
}

/// The registers that were written before a call, and not read since: what is in them is for later.
fn written_last(code: &Code<'_>, neighbours: &Neighbours, call: u64) -> u32 {
    let Some(start) = neighbours.start_of(call) else { return 0 };
    let mut factory = InstructionInfoFactory::new();
    let mut written = 0;
    let bytes = code.bytes(Svma(start), (call - start).min(LONGEST));
    for instruction in Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
        if instruction.flow_control() != FlowControl::Next {
            // Another way may lead behind it, and a function that is called writes what it returns.
            written = 0;
            continue;
        }
        let (reads, writes) = accesses(&mut factory, &instruction);
        written = written & !reads | writes;
    }
    written
}

/// The registers that an instruction reads, and those that it writes.
fn accesses(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> (u32, u32) {
    // What is saved, or makes room on the stack, need not be known; and no value is in the upper parts alone.
    if matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Vzeroupper) {
        return (0, 0);
    }
    let (mut reads, mut writes) = (0, 0);
    for used in factory.info(instruction).used_registers() {
        let bit = bit(used.register());
        match used.access() {
            OpAccess::Read | OpAccess::CondRead => reads |= bit,
            OpAccess::Write | OpAccess::CondWrite => writes |= bit,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (reads, writes) = (reads | bit, writes | bit),
            _ => {}
        }
    }
    if is_independent(instruction) {
        reads &= !bit(instruction.op0_register());
    }
    (reads, writes)
}

/// Whether the result does not depend on what was in the register that is written: only its upper part stays, or nothing.
fn is_independent(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cvtsd2ss, Cvtsi2sd, Cvtsi2ss, Cvtss2sd, Or, Pcmpeqb, Pcmpeqd, Pcmpeqq, Pcmpeqw, Roundsd, Roundss,
        Sbb, Sqrtsd, Sqrtss,
    };
    match instruction.mnemonic() {
        Cvtsi2sd | Cvtsi2ss | Cvtsd2ss | Cvtss2sd | Sqrtsd | Sqrtss | Roundsd | Roundss => true,
        Sbb | Pcmpeqb | Pcmpeqw | Pcmpeqd | Pcmpeqq => {
            instruction.op0_register() == instruction.op1_register()
        }
        Or => instruction.try_immediate(1).is_ok_and(|value| value == u64::MAX),
        _ => false,
    }
}

/// The bit of a register that functions may change, or of that which it is a part of; 0 for another.
fn bit(register: Register) -> u32 {
    if register.is_vector_register() {
        return 1u32.checked_shl((SCRATCH.len() + register.number()) as u32).unwrap_or(0) & ALL;
    }
    u32::from(clobbers::scratch(register))
}
