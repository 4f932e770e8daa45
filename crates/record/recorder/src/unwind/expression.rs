//! The DWARF expressions that occur in unwind tables: signal frames, realigned stacks, PLT stubs, hand-written code.
//!
//! A stack machine without loops: expressions in unwind tables do not jump.

use super::memory::StackMemory;
use crate::arch::registers::Registers;
use gimli::Register;

const DEPTH: usize = 16;

/// Evaluates an expression. `initial` is on the stack when it begins, as the CFA is for a register's rule.
/// `None` for an operation that is not known, a register that is not known, or memory that cannot be read.
pub fn evaluate(
    code: &[u8],
    regs: &Registers,
    memory: &StackMemory,
    initial: Option<usize>,
) -> Option<usize> {
    let mut stack = [0usize; DEPTH];
    let mut depth = 0;
    let push = |stack: &mut [usize; DEPTH], depth: &mut usize, value: usize| {
        *stack.get_mut(*depth)? = value;
        *depth += 1;
        Some(())
    };
    if let Some(value) = initial {
        push(&mut stack, &mut depth, value)?;
    }
    let mut code = Code(code);
    while let Some(op) = code.byte() {
        let value = match op {
            // lit0 to lit31
            0x30..=0x4f => usize::from(op - 0x30),
            // breg0 to breg31: register plus offset
            0x70..=0x8f => {
                let offset = code.sleb()?;
                regs.get(Register(u16::from(op - 0x70)))?.wrapping_add_signed(offset)
            }
            // const1u const1s const2u const2s const4u const4s const8u const8s
            0x08 => code.fixed(1)? as usize,
            0x09 => code.fixed(1)? as i8 as isize as usize,
            0x0a => code.fixed(2)? as usize,
            0x0b => code.fixed(2)? as i16 as isize as usize,
            0x0c => code.fixed(4)? as usize,
            0x0d => code.fixed(4)? as i32 as isize as usize,
            0x0e | 0x0f => code.fixed(8)? as usize,
            // constu consts
            0x10 => code.uleb()?,
            0x11 => code.sleb()? as usize,
            // dup over
            0x12 => *stack.get(depth.checked_sub(1)?)?,
            0x14 => *stack.get(depth.checked_sub(2)?)?,
            // drop
            0x13 => {
                depth = depth.checked_sub(1)?;
                continue;
            }
            // nop
            0x96 => continue,
            // Operations on the value on top.
            0x06 | 0x1f | 0x20 | 0x23 => {
                depth = depth.checked_sub(1)?;
                let a = stack[depth];
                match op {
                    0x06 => memory.any_word(a)?,
                    0x1f => a.wrapping_neg(),
                    0x20 => !a,
                    _ => a.wrapping_add(code.uleb()?),
                }
            }
            // Operations on the two values on top.
            0x1a | 0x1c | 0x1e | 0x21 | 0x22 | 0x24..=0x27 | 0x29..=0x2e => {
                depth = depth.checked_sub(2)?;
                let (a, b) = (stack[depth], stack[depth + 1]);
                let shift = u32::try_from(b).unwrap_or(u32::MAX);
                let (sa, sb) = (a as isize, b as isize);
                match op {
                    0x1a => a & b,
                    0x1c => a.wrapping_sub(b),
                    0x1e => a.wrapping_mul(b),
                    0x21 => a | b,
                    0x22 => a.wrapping_add(b),
                    0x24 => a.checked_shl(shift).unwrap_or(0),
                    0x25 => a.checked_shr(shift).unwrap_or(0),
                    0x26 => sa.checked_shr(shift).unwrap_or(sa >> 63) as usize,
                    0x27 => a ^ b,
                    0x29 => usize::from(sa == sb),
                    0x2a => usize::from(sa >= sb),
                    0x2b => usize::from(sa > sb),
                    0x2c => usize::from(sa <= sb),
                    0x2d => usize::from(sa < sb),
                    _ => usize::from(sa != sb),
                }
            }
            _ => return None,
        };
        push(&mut stack, &mut depth, value)?;
    }
    stack.get(depth.checked_sub(1)?).copied()
}

struct Code<'a>(&'a [u8]);

impl Code<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn fixed(&mut self, len: usize) -> Option<u64> {
        let mut value = [0u8; 8];
        for byte in &mut value[..len] {
            *byte = self.byte()?;
        }
        Some(u64::from_le_bytes(value))
    }

    fn uleb(&mut self) -> Option<usize> {
        let (mut value, mut shift) = (0usize, 0);
        loop {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some(value);
            }
        }
    }

    fn sleb(&mut self) -> Option<isize> {
        let (mut value, mut shift) = (0isize, 0u32);
        loop {
            let byte = self.byte()?;
            value |= (isize::from((byte & 0x7f) as i8)).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                let negative = byte & 0x40 != 0 && shift < isize::BITS;
                return Some(if negative { value | -1isize << shift } else { value });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &[u8], initial: Option<usize>, expected: Option<usize>) {
        let words = [7usize, 8, 9, 10];
        let at = words.as_ptr() as usize;
        let regs = Registers { pc: 0x100b, sp: at, fp: at + 8, saved: [Some(5), None, None, None, None] };
        // SAFETY: the array lives until the end of the function.
        let memory = unsafe { StackMemory::new(at, at + 32) };
        assert_eq!(evaluate(code, &regs, &memory, initial), expected);
    }

    #[test]
    fn the_expressions_of_real_tables() {
        // A PLT stub: rsp + 8 + ((rip & 15) >= 11) << 3.
        let plt = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let regs = Registers { pc: 0x100b, sp: 0x1000, fp: 0, saved: [None; 5] };
        // SAFETY: an empty range.
        let nothing = unsafe { StackMemory::new(8, 8) };
        assert_eq!(evaluate(&plt, &regs, &nothing, None), Some(0x1000 + 8 + 8));
        assert_eq!(evaluate(&plt, &Registers { pc: 0x1006, ..regs }, &nothing, None), Some(0x1000 + 8));
        // A realigned stack: the word at rbp + 8.
        check(&[0x76, 8, 0x06], None, Some(9));
        // rsp + 16, dereferenced.
        check(&[0x77, 16, 0x06], None, Some(9));
        // rbx plus a negative offset.
        check(&[0x73, 0x7f], None, Some(4));
        // The CFA that a register rule begins with.
        check(&[0x23, 0x10], Some(16), Some(32));
    }

    #[test]
    fn what_is_not_known_is_none() {
        check(&[0x7c, 0], None, None); // r12 is not known.
        check(&[0x28, 0, 0], None, None); // A branch.
        check(&[0x22], Some(1), None); // Two operands are needed.
        check(&[0x76], None, None); // The offset is missing.
        check(&[], None, None);
        check(&[0x32; 20], None, None); // Deeper than any table needs.
    }
}
