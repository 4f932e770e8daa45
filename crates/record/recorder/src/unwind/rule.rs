//! What to do at one address, in 33 bits.
//!
//! ```text
//! 32  31                  16 15          3 2    0
//! ┌──┬──────────────────────┬─────────────┬──────┐
//! │  │ frame size / 8       │ slot / 8    │ kind │
//! └──┴──────────────────────┴─────────────┴──────┘
//! ```
//!
//! *Frame size* is the distance from the base register (by `kind` the stack or the frame pointer) to the canonical
//! frame address, the CFA; the return address lies right below the CFA. *Slot* is how far below the CFA the caller's
//! frame pointer is saved, 0 if the register still holds it.

use super::cfi::{CfaRule, Row, Slot};
use crate::arch::registers;

/// A packed rule. 0 is no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule(pub u64);

/// Bits of a rule.
pub const RULE_BITS: u32 = 33;

const KIND_MASK: u64 = 7;
const SLOT_SHIFT: u32 = 3;
const SLOT_MASK: u64 = (1 << 13) - 1;
const SIZE_SHIFT: u32 = 16;
const SIZE_MASK: u64 = (1 << 16) - 1;

/// Kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The CFA is the stack pointer plus the frame size.
    StackPointer = 1,
    /// The CFA is the frame pointer plus the frame size.
    FramePointer = 2,
    /// The thread's first function: it has no caller.
    Outermost = 3,
    /// No short rule: ask [`super::full`].
    Complex = 4,
    /// Executable memory without unwind tables: follow the frame-pointer chain as long as it is plausible.
    NoTable = 5,
    /// Not executable at all: a walk that gets here went wrong one step before.
    NotCode = 6,
}

/// The address whose rule applies: a return address belongs to the call before it.
#[inline(always)]
pub fn lookup_address(pc: usize, exact: bool) -> usize {
    if exact { pc } else { pc.wrapping_sub(1) }
}

impl Rule {
    /// A rule without operands.
    pub const fn plain(kind: Kind) -> Self {
        Self(kind as u64)
    }

    /// The short form of a table row, [`Kind::Complex`] if it has none.
    pub fn from_row(row: &Row) -> Self {
        if row.outermost {
            return Self::plain(Kind::Outermost);
        }
        let short = || {
            let CfaRule::Register(base, offset) = row.cfa else { return None };
            let kind = match base {
                registers::SP => Kind::StackPointer,
                registers::FP => Kind::FramePointer,
                _ => return None,
            };
            let size = eighths(offset, SIZE_MASK)?;
            let slot = match row.fp {
                Slot::Same => 0,
                Slot::AtCfa(offset) => eighths(-offset, SLOT_MASK).filter(|&slot| slot > 1)?,
                _ => return None,
            };
            (row.ra == Slot::AtCfa(-8) && !row.signal && size > 0)
                .then_some(Self(kind as u64 | slot << SLOT_SHIFT | size << SIZE_SHIFT))
        };
        short().unwrap_or(Self::plain(Kind::Complex))
    }

    /// The rule's kind; `None` for no rule.
    #[inline(always)]
    pub fn kind(self) -> Option<Kind> {
        match self.0 & KIND_MASK {
            1 => Some(Kind::StackPointer),
            2 => Some(Kind::FramePointer),
            3 => Some(Kind::Outermost),
            4 => Some(Kind::Complex),
            5 => Some(Kind::NoTable),
            6 => Some(Kind::NotCode),
            _ => None,
        }
    }

    /// Bytes from the base register to the CFA.
    #[inline(always)]
    pub fn frame_size(self) -> usize {
        ((self.0 >> SIZE_SHIFT & SIZE_MASK) * 8) as usize
    }

    /// Bytes from the saved frame pointer up to the CFA, 0 if it is not saved.
    #[inline(always)]
    pub fn slot(self) -> usize {
        ((self.0 >> SLOT_SHIFT & SLOT_MASK) * 8) as usize
    }
}

/// A non-negative multiple of eight as a number of words, if it fits a field.
fn eighths(offset: i64, mask: u64) -> Option<u64> {
    let words = u64::try_from(offset).ok()?;
    (words % 8 == 0 && words / 8 <= mask).then_some(words / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cfa: CfaRule, fp: Slot) -> Row {
        Row { cfa, ra: Slot::AtCfa(-8), fp, saved: [Slot::Same; 5], signal: false, outermost: false }
    }

    #[test]
    fn usual_rows_have_short_rules() {
        let rule = Rule::from_row(&row(CfaRule::Register(registers::SP, 64), Slot::AtCfa(-16)));
        assert_eq!((rule.kind(), rule.frame_size(), rule.slot()), (Some(Kind::StackPointer), 64, 16));
        let rule = Rule::from_row(&row(CfaRule::Register(registers::FP, 16), Slot::AtCfa(-16)));
        assert_eq!((rule.kind(), rule.frame_size(), rule.slot()), (Some(Kind::FramePointer), 16, 16));
        let rule = Rule::from_row(&row(CfaRule::Register(registers::SP, 8), Slot::Same));
        assert_eq!((rule.kind(), rule.frame_size(), rule.slot()), (Some(Kind::StackPointer), 8, 0));
        assert!(rule.0 >> RULE_BITS == 0);
    }

    #[test]
    fn unusual_rows_are_complex() {
        let complex = Rule::plain(Kind::Complex);
        for (cfa, fp) in [
            (CfaRule::Register(registers::SAVED[0], 16), Slot::Same),
            (CfaRule::Register(registers::SP, 1 << 20), Slot::Same),
            (CfaRule::Register(registers::SP, 12), Slot::Same),
            (CfaRule::Register(registers::SP, 64), Slot::AtCfa(-8)),
            (CfaRule::Register(registers::SP, 64), Slot::Unknown),
        ] {
            assert_eq!(Rule::from_row(&row(cfa, fp)), complex, "{cfa:?} {fp:?}");
        }
        let signal = Row { signal: true, ..row(CfaRule::Register(registers::SP, 64), Slot::Same) };
        assert_eq!(Rule::from_row(&signal), complex);
        let first = Row { outermost: true, ..row(CfaRule::Register(registers::SP, 64), Slot::Same) };
        assert_eq!(Rule::from_row(&first).kind(), Some(Kind::Outermost));
    }
}
