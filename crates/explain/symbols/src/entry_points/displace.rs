//! The first instructions of a function, moved elsewhere to make way for a jump.
//!
//! A jump takes five bytes. The instructions in these bytes are moved to where the recorder has memory, behind them comes a jump to
//! the first one that has stayed, and the function's caller notices nothing: the moved code does what the original did, with the
//! same registers and the same stack.
//!
//! Most instructions do the same wherever they are. Those that say how far it is to somewhere get a *fixup*: the distance is
//! written when it is known where the code lies. A call would leave a return address in the moved code, where no unwinder finds its
//! way: it becomes a jump, and the address that the call would have left is put there before. What is called returns into the function,
//! behind the bytes that have made way. A few cannot be moved, and a branch from further behind into the displaced bytes would land in
//! the jump.

use heapwise_trace::live::hooks::{Fixup, Hook, JUMP_BYTES, MOST_DISPLACED, MOST_FIXUPS, MOST_MOVED};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

/// Why a function cannot be entered through the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It is shorter than a jump, and other code follows.
    TooShort,
    /// Among its first instructions is a call that cannot be moved.
    Call,
    /// One of its first instructions cannot be moved.
    Immovable,
    /// It branches back into its first instructions.
    BranchBack,
    /// Another function branches into its first instructions.
    BranchInto,
    /// What is there is no code that can be decoded.
    NoCode,
    /// It is longer than any function of an allocator.
    TooLong,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooShort => "it is shorter than a jump",
            Self::Call => "it begins with a call that cannot be moved",
            Self::Immovable => "one of its first instructions cannot be moved",
            Self::BranchBack => "it branches back into its first instructions",
            Self::BranchInto => "another function branches into its first instructions",
            Self::NoCode => "it has no code that can be decoded",
            Self::TooLong => "it is longer than functions are",
        })
    }
}

/// Bytes of the longest function that is decoded: a file may say that one has gigabytes.
const LONGEST: usize = 1 << 20;
const JUMP: u8 = 0xe9;
/// Bytes of the long form of a conditional branch.
const CONDITIONAL_BYTES: usize = 6;
/// Bytes of what a call becomes.
const CALL_BYTES: usize = 14;
/// Free at a function's beginning: what is called may use it, and no argument is in it.
const SCRATCH: Register = Register::R11;
/// What linkers and compilers fill the room between functions with, besides long forms of `nop`.
const BREAKPOINT: u8 = 0xcc;

/// Plans to move the beginning of a function at `address`. `code` is what is there, `size` how much of it is the function's. The
/// hook's addresses are those of the file.
pub fn displace(code: &[u8], size: usize, address: u64) -> Result<Hook, Refusal> {
    let size = size.min(code.len());
    if size > LONGEST {
        return Err(Refusal::TooLong);
    }
    // What a file says of its addresses may be anything.
    if address.checked_add(code.len() as u64).is_none_or(|end| end > i64::MAX as u64) {
        return Err(Refusal::NoCode);
    }
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut moved = Moved::default();
    let mut start = 0;
    let mut outside = None;
    while moved.displaced < JUMP_BYTES {
        let at = decoder.position();
        if moved.is_over || at >= size {
            // The function is over. What is behind it may make way if it is never executed.
            let padding = padding_at(&mut decoder, code, JUMP_BYTES - moved.displaced)?;
            moved.displaced += padding;
            moved.is_over = true;
            break;
        }
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(Refusal::NoCode);
        }
        if at == 0 && matches!(instruction.code(), Code::Endbr64) {
            // An indirect call has to arrive at this mark: it stays.
            start = instruction.len();
            continue;
        }
        // The one before may leave the function, and may come back behind itself.
        if outside.is_some_and(|target| !(address..address + size as u64).contains(&target)) {
            return Err(Refusal::BranchBack);
        }
        outside = conditional_target(&instruction);
        let bytes = &code[at..at + instruction.len()];
        moved.add(&instruction, bytes, decoder.get_constant_offsets(&instruction).displacement_offset())?;
    }
    let begin = address + start as u64;
    let end = begin + moved.displaced as u64;
    if branches_into(code, size, address, begin + 1..end) {
        return Err(Refusal::BranchBack);
    }
    if !moved.is_over {
        moved.jump(end)?;
    }
    moved.hook(begin, &code[start..])
}

/// Where each displaced instruction begins, and where it is in the moved code: a thread that has come so far goes on there.
pub fn steps(hook: &Hook) -> Vec<(u8, u8)> {
    let displaced = &hook.displaced[..usize::from(hook.displaced_len)];
    let mut decoder = Decoder::with_ip(64, displaced, hook.address, DecoderOptions::NONE);
    let (mut steps, mut moved) = (Vec::new(), 0);
    while decoder.can_decode() && moved < usize::from(hook.moved_len) {
        let at = decoder.position();
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        steps.push((at as u8, moved as u8));
        moved += match instruction.flow_control() {
            FlowControl::UnconditionalBranch => JUMP_BYTES,
            FlowControl::ConditionalBranch => CONDITIONAL_BYTES,
            FlowControl::Call => CALL_BYTES,
            _ => instruction.len(),
        };
    }
    steps
}

/// How many bytes from here on are never executed, at least `needed`.
fn padding_at(decoder: &mut Decoder<'_>, code: &[u8], needed: usize) -> Result<usize, Refusal> {
    let mut padding = 0;
    while padding < needed {
        let at = decoder.position();
        if code.get(at) == Some(&BREAKPOINT) {
            padding += 1;
            let _ = decoder.decode();
            continue;
        }
        let instruction = decoder.decode();
        let is_filler = matches!(
            instruction.code(),
            Code::Nopd | Code::Nopw | Code::Nopq | Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64
        ) || instruction.code() == Code::Xchg_rm16_r16
            && instruction.op0_register() == instruction.op1_register();
        if !is_filler {
            return Err(Refusal::TooShort);
        }
        padding += instruction.len();
    }
    Ok(needed)
}

/// Where a conditional branch goes.
fn conditional_target(instruction: &Instruction) -> Option<u64> {
    (instruction.flow_control() == FlowControl::ConditionalBranch).then(|| instruction.near_branch_target())
}

/// Whether an instruction of a function branches into a range.
fn branches_into(code: &[u8], size: usize, address: u64, range: std::ops::Range<u64>) -> bool {
    let decoder = Decoder::with_ip(64, &code[..size], address, DecoderOptions::NONE);
    decoder.into_iter().any(|instruction| {
        let is_near = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        );
        is_near && range.contains(&instruction.near_branch_target())
    })
}

/// Code that is moved.
#[derive(Default)]
struct Moved {
    /// Bytes that it comes from.
    displaced: usize,
    bytes: Vec<u8>,
    fixups: Vec<Fixup>,
    /// Whether nothing that comes behind is executed.
    is_over: bool,
    /// Whether it ends with a call.
    puts_return: bool,
    /// Whether something in it has to do with the register that a call needs.
    uses_scratch: bool,
}

impl Moved {
    fn add(&mut self, instruction: &Instruction, bytes: &[u8], displacement: usize) -> Result<(), Refusal> {
        self.displaced += bytes.len();
        let start = self.bytes.len();
        self.uses_scratch |= (0..instruction.op_count()).any(|at| {
            let of_memory = [instruction.memory_base(), instruction.memory_index()];
            of_memory.into_iter().chain([instruction.op_register(at)]).any(|it| it.full_register() == SCRATCH)
        });
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::UnconditionalBranch => {
                self.is_over = true;
                return self.jump(instruction.near_branch_target());
            }
            FlowControl::ConditionalBranch => {
                // Those that count or look at a register reach 127 bytes, in any form.
                if instruction.is_loop() || instruction.is_loopcc() || instruction.is_jcx_short() {
                    return Err(Refusal::Immovable);
                }
                self.bytes.extend([0x0f, 0x80 | condition(bytes).ok_or(Refusal::Immovable)?, 0, 0, 0, 0]);
                return self.fix(self.bytes.len() - 4, self.bytes.len(), instruction.near_branch_target());
            }
            FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => self.is_over = true,
            FlowControl::Call => return self.call(instruction),
            FlowControl::IndirectCall => return Err(Refusal::Call),
            FlowControl::Interrupt | FlowControl::XbeginXabortXend => return Err(Refusal::Immovable),
        }
        self.bytes.extend(bytes);
        if instruction.is_ip_rel_memory_operand() {
            let end = self.bytes.len();
            return self.fix(start + displacement, end, instruction.ip_rel_memory_address());
        }
        Ok(())
    }

    /// lea r11, [rip + …]; push r11; jmp …
    fn call(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        if self.uses_scratch || self.displaced < JUMP_BYTES || instruction.op0_kind() != OpKind::NearBranch64
        {
            return Err(Refusal::Call);
        }
        (self.is_over, self.puts_return) = (true, true);
        self.bytes.extend([0x4c, 0x8d, 0x1d, 0, 0, 0, 0]);
        self.fix(self.bytes.len() - 4, self.bytes.len(), instruction.next_ip())?;
        self.bytes.extend([0x41, 0x53]);
        self.jump(instruction.near_branch_target())
    }

    fn jump(&mut self, target: u64) -> Result<(), Refusal> {
        self.bytes.extend([JUMP, 0, 0, 0, 0]);
        self.fix(self.bytes.len() - 4, self.bytes.len(), target)
    }

    fn fix(&mut self, at: usize, end: usize, target: u64) -> Result<(), Refusal> {
        let small = |n: usize| u8::try_from(n).map_err(|_| Refusal::Immovable);
        self.fixups.push(Fixup { at: small(at)?, end: small(end)?, target });
        Ok(())
    }

    /// The hook, if all of it has room there.
    fn hook(self, address: u64, code: &[u8]) -> Result<Hook, Refusal> {
        if self.displaced > MOST_DISPLACED || self.bytes.len() > MOST_MOVED || self.fixups.len() > MOST_FIXUPS
        {
            return Err(Refusal::Immovable);
        }
        let mut hook = Hook {
            address,
            displaced_len: self.displaced as u8,
            moved_len: self.bytes.len() as u8,
            fixup_count: self.fixups.len() as u8,
            puts_return: self.puts_return,
            ..Hook::default()
        };
        hook.displaced[..self.displaced]
            .copy_from_slice(code.get(..self.displaced).ok_or(Refusal::TooShort)?);
        hook.moved[..self.bytes.len()].copy_from_slice(&self.bytes);
        hook.fixups[..self.fixups.len()].copy_from_slice(&self.fixups);
        Ok(hook)
    }
}

/// The condition of a branch, as its operation code has it: the low four bits of its last byte. Prefixes, which are hints, may
/// come before.
fn condition(bytes: &[u8]) -> Option<u8> {
    let code = bytes.iter().position(|byte| !matches!(byte, 0x2e | 0x3e | 0x66 | 0xf2 | 0x40..=0x4f))?;
    match (bytes.get(code)?, bytes.get(code + 1)?) {
        (short @ 0x70..=0x7f, _) => Some(short & 0xf),
        (0x0f, near @ 0x80..=0x8f) => Some(near & 0xf),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(code: &[u8]) -> Result<(u8, Vec<u8>, Vec<Fixup>), Refusal> {
        let hook = displace(code, code.len(), 0x1000)?;
        let bytes = hook.moved[..usize::from(hook.moved_len)].to_vec();
        Ok((hook.displaced_len, bytes, hook.fixups[..usize::from(hook.fixup_count)].to_vec()))
    }

    fn fixup(at: u8, end: u8, target: u64) -> Fixup {
        Fixup { at, end, target }
    }

    #[test]
    fn plain_instructions_are_copied_and_followed_by_a_jump_back() {
        // push rbp; mov rbp, rsp; push r15; ret
        let code = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3];
        let expected = vec![0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xe9, 0, 0, 0, 0];
        assert_eq!(moved(&code), Ok((6, expected, vec![fixup(7, 11, 0x1006)])));
    }

    #[test]
    fn a_mark_for_indirect_branches_stays() {
        let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3];
        let hook = displace(&code, code.len(), 0x1000).expect("it can be moved");
        assert_eq!((hook.address, hook.displaced_len), (0x1004, 5));
        assert_eq!(hook.displaced[..5], code[4..9]);
        assert_eq!(hook.fixups[0].target, 0x1009);
    }

    #[test]
    fn distances_are_kept() {
        // mov rax, [rip + 0x10]; ret
        let code = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3];
        let (_, bytes, fixups) = moved(&code).expect("it can be moved");
        assert_eq!(bytes, [0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xe9, 0, 0, 0, 0]);
        assert_eq!(fixups, [fixup(3, 7, 0x1017), fixup(8, 12, 0x1007)]);
        // cmp dword [rip + 0x10], 7: the distance counts from behind the number.
        let code = [0x83, 0x3d, 0x10, 0, 0, 0, 0x07, 0xc3];
        assert_eq!(moved(&code).expect("it can be moved").2[0], fixup(2, 7, 0x1017));
    }

    #[test]
    fn branches_get_their_long_form() {
        // test edi, edi; je +0x20; mov eax, edi; … ; the target is inside
        let mut code = vec![0x85, 0xff, 0x74, 0x20, 0x89, 0xf8];
        code.resize(0x40, 0x90);
        let (displaced, bytes, fixups) = moved(&code).expect("it can be moved");
        assert_eq!((displaced, &bytes[2..8]), (6, &[0x0f, 0x84, 0, 0, 0, 0][..]));
        assert_eq!(fixups, [fixup(4, 8, 0x1024), fixup(11, 15, 0x1006)]);
        let hook = displace(&code, code.len(), 0x1000).expect("it can be moved");
        assert_eq!(steps(&hook), [(0, 0), (2, 2), (4, 8)]);
        // The whole function is a jump: nothing comes back.
        let code = [0xe9, 0x10, 0, 0, 0];
        assert_eq!(moved(&code), Ok((5, vec![0xe9, 0, 0, 0, 0], vec![fixup(1, 5, 0x1015)])));
        // xor edx, edx; jmp +0x10: seven bytes, as jemalloc has it.
        let code = [0x31, 0xd2, 0xe9, 0x10, 0, 0, 0];
        assert_eq!(moved(&code), Ok((7, vec![0x31, 0xd2, 0xe9, 0, 0, 0, 0], vec![fixup(3, 7, 0x1017)])));
    }

    #[test]
    fn a_call_returns_into_the_function() {
        // push rax; call +0x10; pop rax; ret
        let code = [0x50, 0xe8, 0x10, 0, 0, 0, 0x58, 0xc3];
        let hook = displace(&code, code.len(), 0x1000).expect("it can be moved");
        let expected = [0x50, 0x4c, 0x8d, 0x1d, 0, 0, 0, 0, 0x41, 0x53, 0xe9, 0, 0, 0, 0];
        assert_eq!(hook.moved[..usize::from(hook.moved_len)], expected);
        assert_eq!(hook.fixups[..2], [fixup(4, 8, 0x1006), fixup(11, 15, 0x1016)]);
        assert_eq!((hook.displaced_len, hook.fixup_count, hook.puts_return), (6, 2, true));
        assert_eq!(steps(&hook), [(0, 0), (1, 1)]);
        assert!(!displace(&[0x53; 6], 6, 0x1000).expect("it can be moved").puts_return);
    }

    #[test]
    fn a_short_function_may_use_the_room_behind_it() {
        // xor eax, eax; ret; and what fills the room up to the next function
        let code = [0x31, 0xc0, 0xc3, 0x0f, 0x1f, 0x40, 0x00, 0xcc];
        let hook = displace(&code, 3, 0x1000).expect("it can be moved");
        assert_eq!((hook.displaced_len, hook.moved_len), (5, 3));
        let filled = [0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc];
        assert!(displace(&filled, 3, 0x1000).is_ok());
        // Another function follows.
        assert_eq!(displace(&[0x31, 0xc0, 0xc3, 0x55, 0x53, 0xc3], 3, 0x1000), Err(Refusal::TooShort));
        assert_eq!(displace(&[0x31, 0xc0, 0xc3], 3, 0x1000), Err(Refusal::TooShort));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_refused_or_planned_within_bounds(
            code in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
            size in 0_usize..80,
            address in proptest::num::u64::ANY,
        ) {
            if let Ok(hook) = displace(&code, size, address) {
                proptest::prop_assert!(hook.is_sound());
                let start = (hook.address - address) as usize;
                let displaced = &hook.displaced[..usize::from(hook.displaced_len)];
                proptest::prop_assert_eq!(displaced, &code[start..start + displaced.len()]);
            }
        }
    }

    #[test]
    fn what_cannot_be_moved_is_refused() {
        // mov r11, rdi; call
        assert_eq!(moved(&[0x49, 0x89, 0xfb, 0xe8, 0, 0, 0, 0, 0x58, 0xc3]), Err(Refusal::Call));
        assert_eq!(moved(&[0x50, 0xff, 0xd0, 0x58, 0xc3, 0x90]), Err(Refusal::Call));
        assert_eq!(moved(&[0xe2, 0x10, 0x50, 0x50, 0x50, 0xc3]), Err(Refusal::Immovable));
        assert_eq!(moved(&[0x06, 0x06, 0x06, 0x06, 0x06]), Err(Refusal::NoCode));
        assert_eq!(moved(&[]), Err(Refusal::TooShort));
        // push rbx; push rax; pop rax; push rax; push rax; jmp back to the second one
        let code = [0x53, 0x50, 0x58, 0x50, 0x50, 0xeb, 0xfa];
        assert_eq!(moved(&code), Err(Refusal::BranchBack));
        // The same to its very beginning is a call of itself, and goes through the recorder.
        assert!(moved(&[0x53, 0x50, 0x58, 0x50, 0x50, 0xeb, 0xf9]).is_ok());
        // je to another function, which may come back behind it, where the jump is.
        let mut code = vec![0x75, 0x50, 0x53, 0x53, 0x53, 0xc3];
        assert_eq!(moved(&code), Err(Refusal::BranchBack));
        // As the last one it comes back to what has stayed.
        code = vec![0x53, 0x53, 0x53, 0x75, 0x50, 0xc3];
        assert!(moved(&code).is_ok());
    }
}
