//! The general unwinder: every callee-saved register, every kind of rule, no memory of earlier walks.
//!
//! It serves where no short rule does, and as the oracle against which the incremental walk is compared.

use super::cfi::{self, CfaRule, Row, Slot};
use super::memory::{self, StackMemory};
use super::module::Found;
use super::modules;
use super::rule::{Kind, Rule, lookup_address};
use crate::arch::registers::Registers;

/// A frame: its registers, and whether its pc is that of an interrupted instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullFrame {
    /// Registers in this frame.
    pub regs: Registers,
    /// Whether `regs.pc` is an instruction that was interrupted, rather than a return address.
    pub exact: bool,
}

/// What comes after a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Caller(FullFrame),
    /// Nothing: it is the thread's first function.
    Outermost,
    /// It has a caller, which cannot be found.
    Lost,
    /// A register is needed that this walk does not know: it has to be done from the innermost frame on.
    NeedsRegisters,
    /// This is not a frame: its pc is not code.
    NotAFrame,
}

/// The rule of an address, from the tables. Also classifies the memory of an address without tables.
pub fn rule_of(address: usize) -> (Rule, Option<Row>) {
    rule_now(address).unwrap_or((Rule::plain(Kind::NotCode), None))
}

/// The same, unless the answer would have to be sought at a better time.
pub fn rule_now(address: usize) -> Option<(Rule, Option<Row>)> {
    Some(match modules::find(address) {
        Found::Module(module) => match cfi::row(&module, address) {
            Some(row) => (Rule::from_row(&row), Some(row)),
            None if cfi::begins_function(&module, address + 1) => (Rule::plain(Kind::Outermost), None),
            None => (Rule::plain(Kind::NoTable), None),
        },
        Found::Made => (Rule::plain(Kind::NoTable), None),
        Found::Nothing => (Rule::plain(Kind::NotCode), None),
        Found::NotNow => return None,
    })
}

/// The caller of a frame.
pub fn step(frame: &FullFrame, memory: &StackMemory) -> Next {
    let (rule, row) = rule_of(lookup_address(frame.regs.pc, frame.exact));
    match (rule.kind(), row) {
        (Some(Kind::NotCode), _) => Next::NotAFrame,
        (Some(Kind::Outermost), _) => Next::Outermost,
        (_, Some(row)) => by_row(&row, frame, memory),
        (_, None) => by_frame_pointer(frame, memory),
    }
}

fn by_row(row: &Row, frame: &FullFrame, memory: &StackMemory) -> Next {
    let regs = &frame.regs;
    let cfa = match row.cfa {
        CfaRule::Register(register, offset) => match regs.get(register) {
            Some(value) => Some(value.wrapping_add_signed(offset as isize)),
            None => return Next::NeedsRegisters,
        },
        CfaRule::Expression(code) => super::expression::evaluate(code, regs, memory, None),
    };
    let Some(cfa) = cfa else {
        return if regs.saved.contains(&None) { Next::NeedsRegisters } else { Next::Lost };
    };
    let value = |slot: Slot, now: Option<usize>| match slot {
        Slot::Same => now,
        Slot::AtCfa(offset) => memory.any_word(cfa.wrapping_add_signed(offset as isize)),
        Slot::CfaPlus(offset) => Some(cfa.wrapping_add_signed(offset as isize)),
        Slot::In(register) => regs.get(register),
        Slot::Value(code) => super::expression::evaluate(code, regs, memory, Some(cfa)),
        Slot::AtExpression(code) => {
            super::expression::evaluate(code, regs, memory, Some(cfa)).and_then(|at| memory.any_word(at))
        }
        Slot::Unknown => None,
    };
    let Some(pc) = value(row.ra, None) else { return Next::Lost };
    let mut saved = regs.saved;
    for (now, &slot) in saved.iter_mut().zip(&row.saved) {
        *now = value(slot, *now);
    }
    // A lost frame pointer could not be distinguished from a wrong one later, so the walk ends if it is needed.
    let fp = value(row.fp, Some(regs.fp)).unwrap_or(0);
    caller(frame, Registers { pc, sp: cfa, fp, saved }, row.signal, memory)
}

fn by_frame_pointer(frame: &FullFrame, memory: &StackMemory) -> Next {
    let fp = frame.regs.fp;
    if memory::is_process_start(frame.regs.sp) {
        return Next::Outermost;
    }
    if fp < frame.regs.sp {
        return if memory::is_near_start(frame.regs.sp) { Next::Outermost } else { Next::Lost };
    }
    match (memory.word(fp), memory.word(fp.wrapping_add(8))) {
        (Some(caller_fp), Some(pc)) => {
            let regs = Registers { pc, sp: fp + 16, fp: caller_fp, saved: [None; 5] };
            caller(frame, regs, false, memory)
        }
        _ => Next::Lost,
    }
}

/// Checks a caller's frame: stacks grow in one direction, but for a signal handler's that runs on its own stack.
fn caller(frame: &FullFrame, regs: Registers, exact: bool, memory: &StackMemory) -> Next {
    if regs.pc == 0 {
        return Next::Outermost;
    }
    if !exact && (regs.sp <= frame.regs.sp || regs.sp > memory.high()) {
        return Next::Lost;
    }
    Next::Caller(FullFrame { regs, exact })
}
