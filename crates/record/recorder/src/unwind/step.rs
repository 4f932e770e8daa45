//! The step from one frame to its caller.

use super::cache;
use super::frames::{FpUse, Fresh, UNPROVABLE};
use super::full::{self, FullFrame, Next};
use super::memory::{self, StackMemory};
use super::rule::{Kind, Rule, lookup_address};
use crate::arch::registers::Registers;
use heapwise_trace::live::node::{ADDRESS_MASK, EXACT_PC};

/// What is outside of a frame.
pub(super) enum Step {
    /// Its caller.
    To(Fresh),
    /// Nothing: it is the thread's first function.
    Outermost,
    /// Nothing that could be found.
    Lost,
    /// What looked like a frame was none.
    NotAFrame,
    /// A caller that only registers lead to which a walk does not follow.
    NeedsRegisters,
}

/// The caller of a frame by its cached rule. Notes in the frame what that does with its frame pointer.
#[inline(always)]
pub(super) fn step(frame: &mut Fresh, memory: &StackMemory) -> Step {
    let address = lookup_address(frame.pc(), frame.exact());
    let rule = match cache::get(address) {
        Some(rule) => rule,
        None => learn(address),
    };
    let (size, slot) = (rule.frame_size(), rule.slot());
    let (base, size, slot, fp_use) = match rule.kind() {
        Some(Kind::StackPointer) if slot != 0 => (frame.sp, size, slot, FpUse::Replaced),
        Some(Kind::StackPointer) => (frame.sp, size, slot, FpUse::Passed),
        Some(Kind::FramePointer) => (frame.fp, size, slot, FpUse::Needed),
        // The frame-pointer chain, as long as it leads outwards.
        Some(Kind::NoTable) if memory::is_process_start(frame.sp) => return Step::Outermost,
        Some(Kind::NoTable) if frame.fp < frame.sp => {
            return if memory::is_near_start(frame.sp) { Step::Outermost } else { Step::Lost };
        }
        Some(Kind::NoTable) => (frame.fp, 16, 16, FpUse::Needed),
        Some(Kind::Outermost) => {
            frame.fp_use = FpUse::Replaced;
            return Step::Outermost;
        }
        _ => return step_without_rule(frame, memory),
    };
    frame.fp_use = fp_use;
    let cfa = base.wrapping_add(size);
    if cfa <= frame.sp {
        return Step::Lost;
    }
    let Some(pc) = memory.word(cfa.wrapping_sub(8)) else { return Step::Lost };
    if pc == 0 {
        return Step::Outermost;
    }
    let (fp, fp_slot) = match slot {
        0 => (frame.fp, 0),
        slot => match memory.word(cfa.wrapping_sub(slot)) {
            Some(fp) => (fp, cfa - slot),
            None => (outside_of_the_stack(memory, cfa.wrapping_sub(slot)), UNPROVABLE),
        },
    };
    Step::To(Fresh { sp: cfa, key: pc as u64 & ADDRESS_MASK, fp, fp_slot, fp_use: FpUse::Needed })
}

/// A frame pointer that was saved where the stack has no frame any more, as the general unwinder has it: a signal may arrive
/// when a function has taken its caller's from the stack, of which tables say nothing. 0 is as good as lost.
#[cold]
#[inline(never)]
fn outside_of_the_stack(memory: &StackMemory, slot: usize) -> usize {
    memory.any_word(slot).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn learn(address: usize) -> Rule {
    match full::rule_now(address) {
        Some((rule, _)) => {
            cache::insert(address, rule);
            rule
        }
        None => Rule::plain(Kind::NotCode),
    }
}

#[cold]
#[inline(never)]
fn step_without_rule(frame: &Fresh, memory: &StackMemory) -> Step {
    let regs = Registers { pc: frame.pc(), sp: frame.sp, fp: frame.fp, saved: [None; 5] };
    match full::step(&FullFrame { regs, exact: frame.exact() }, memory) {
        Next::Caller(caller) => Step::To(from_full(&caller)),
        Next::Outermost => Step::Outermost,
        Next::Lost => Step::Lost,
        Next::NeedsRegisters => Step::NeedsRegisters,
        Next::NotAFrame => Step::NotAFrame,
    }
}

/// As a frame of a walk, one that the general unwinder found.
pub(super) fn from_full(frame: &FullFrame) -> Fresh {
    let flag = if frame.exact { EXACT_PC } else { 0 };
    let key = frame.regs.pc as u64 & ADDRESS_MASK | flag;
    Fresh { sp: frame.regs.sp, key, fp: frame.regs.fp, fp_slot: UNPROVABLE, fp_use: FpUse::Needed }
}
