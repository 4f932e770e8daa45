//! What is moved computes the same: generated functions are called as they are, and with their beginning moved away.

#![expect(unsafe_code, reason = "executes code that the test has made")]

use heapwise_recorder::arch::jump::{self, Way};
use heapwise_symbols::entry_points::displace::displace;
use heapwise_trace::live::stub;
use heapwise_trace::sampling::noted::{CLASSES, may_have};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU8, Ordering};

/// Of a copy of a function, and of its constant.
const CODE_BYTES: usize = 4096;
/// Where the constant is that functions load.
const CONSTANT_AT: usize = 2048;
const CONSTANT: u64 = 0x1234_5678_9abc_def1;
/// Where what functions call is, and its code: lea rax, [rax + rsi + 3]; ret
const CALLED_AT: usize = 3072;
const CALLED: &[u8] = &[0x48, 0x8d, 0x44, 0x30, 0x03, 0xc3];
/// Where the moved code is, behind both copies.
const MOVED_AT: usize = 2 * CODE_BYTES;

/// Memory whose code can be executed and changed.
struct Memory(*mut u8);

impl Memory {
    fn new() -> Self {
        let (read_write_execute, private_anonymous) = (7, 0x22);
        // SAFETY: the kernel chooses free addresses.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), 3 * CODE_BYTES, read_write_execute, private_anonymous, -1, 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        Self(at.cast())
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= 3 * CODE_BYTES);
        // SAFETY: within the mapping, which nothing executes meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.add(at), bytes.len()) };
    }

    fn address(&self, at: usize) -> usize {
        self.0 as usize + at
    }

    fn call(&self, at: usize, a: u64, b: u64) -> u64 {
        // SAFETY: a function of two integers, made below, that only uses registers that a callee may use, and its stack.
        let function =
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(u64, u64) -> u64>(self.address(at)) };
        // SAFETY: as above.
        unsafe { function(a, b) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped above, and not used any more.
        unsafe { libc::munmap(self.0.cast(), 3 * CODE_BYTES) };
    }
}

/// A piece of a function.
#[derive(Clone, Debug)]
enum Piece {
    /// Bytes that mean the same everywhere.
    Plain(&'static [u8]),
    /// An instruction with a distance to the constant in its last four bytes.
    Load(&'static [u8]),
    /// A branch over the next so many pieces, with one byte of distance: its operation code.
    Over(u8, usize),
    /// The same with four bytes: `0f` and the second byte, or `e9` alone.
    FarOver(u8, usize),
    /// A call of what lies behind the function.
    Call,
}

fn piece() -> impl Strategy<Value = Piece> {
    let plain: &'static [&'static [u8]] = &[
        &[0x48, 0x01, 0xf8],                   // add rax, rdi
        &[0x48, 0x31, 0xf0],                   // xor rax, rsi
        &[0x48, 0x0f, 0xaf, 0xc7],             // imul rax, rdi
        &[0x48, 0x83, 0xc0, 0x11],             // add rax, 17
        &[0x48, 0x05, 0x78, 0x56, 0x34, 0x12], // add rax, 0x12345678
        &[0x50, 0x58],                         // push rax; pop rax
        &[0x48, 0x85, 0xff],                   // test rdi, rdi
        &[0x48, 0x39, 0xf7],                   // cmp rdi, rsi
        &[0x90],                               // nop
        &[0x48, 0xc1, 0xc0, 0x07],             // rol rax, 7
        &[0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8], // mov rcx, 0x0807060504030201
        &[0x48, 0x8d, 0x04, 0x07],             // lea rax, [rdi + rax]
        &[0xf3, 0x0f, 0x1e, 0xfa],             // endbr64
    ];
    let load: &'static [&'static [u8]] = &[
        &[0x48, 0x8b, 0x0d, 0, 0, 0, 0], // mov rcx, [rip + …]
        &[0x48, 0x03, 0x05, 0, 0, 0, 0], // add rax, [rip + …]
        &[0x48, 0x33, 0x05, 0, 0, 0, 0], // xor rax, [rip + …]
    ];
    prop_oneof![
        6 => proptest::sample::select(plain).prop_map(Piece::Plain),
        2 => proptest::sample::select(load).prop_map(Piece::Load),
        // Conditions that depend on the flags, and the jump without one.
        2 => (0x70_u8..0x80, 0_usize..4).prop_map(|(code, over)| Piece::Over(code, over)),
        1 => (0_usize..4).prop_map(|over| Piece::Over(0xeb, over)),
        1 => (0x80_u8..0x90, 0_usize..4).prop_map(|(code, over)| Piece::FarOver(code, over)),
        1 => (0_usize..4).prop_map(|over| Piece::FarOver(0xe9, over)),
        1 => Just(Piece::Call),
    ]
}

/// The code of a function that begins at `at` in its copy.
fn assemble(pieces: &[Piece]) -> Vec<u8> {
    let len = |piece: &Piece| match piece {
        Piece::Plain(bytes) | Piece::Load(bytes) => bytes.len(),
        Piece::Over(..) => 2,
        Piece::FarOver(0xe9, _) | Piece::Call => 5,
        Piece::FarOver(..) => 6,
    };
    // The result and the flags are known at the beginning: mov rax, rdi; xor ecx, ecx.
    let mut code = vec![0x48, 0x89, 0xf8, 0x31, 0xc9];
    for (at, piece) in pieces.iter().enumerate() {
        let distance = |over: usize| pieces[at + 1..].iter().take(over).map(len).sum::<usize>();
        match piece {
            Piece::Plain(bytes) => code.extend(*bytes),
            Piece::Load(bytes) => {
                code.extend(&bytes[..bytes.len() - 4]);
                let from = code.len() + 4;
                code.extend(((CONSTANT_AT - from) as i32).to_le_bytes());
            }
            Piece::Call => {
                code.push(0xe8);
                let from = code.len() + 4;
                code.extend(((CALLED_AT - from) as i32).to_le_bytes());
            }
            Piece::Over(operation, over) => code.extend([*operation, distance(*over) as u8]),
            Piece::FarOver(operation, over) => {
                if *operation != 0xe9 {
                    code.push(0x0f);
                }
                code.push(*operation);
                code.extend((distance(*over) as i32).to_le_bytes());
            }
        }
    }
    // add rax, rcx; ret
    code.extend([0x48, 0x01, 0xc8, 0xc3]);
    code
}

proptest! {
    /// The stub in front of a function that takes a block back: with the function where the block is none of the sample, and with the
    /// recorder where it may be one, also of another address of its class. What was handed over is as it was.
    #[test]
    fn a_block_that_is_none_of_the_sample_goes_past_the_recorder(
        noted in any::<u64>(), others in proptest::collection::vec(any::<u64>(), 1..50),
    ) {
        let mut memory = Memory::new();
        // lea rax, [rdi + rsi]; ret, and lea rax, [rdi + rsi + 1]; ret
        memory.write(stub::MOVED_AT, &[0x48, 0x8d, 0x04, 0x37, 0xc3]);
        memory.write(CALLED_AT, &[0x48, 0x8d, 0x44, 0x37, 0x01, 0xc3]);
        let classes = Box::new([const { AtomicU8::new(0) }; CLASSES]);
        let has_class = classes.iter().any(|class| {
            class.store(1, Ordering::Relaxed);
            let is_its = may_have(&classes, noted);
            class.store(u8::from(is_its), Ordering::Relaxed);
            is_its
        });
        prop_assert!(has_class);
        let other = (1..).map(|n| noted.wrapping_add(8 * n)).find(|&other| may_have(&classes, other));
        let hook = memory.address(CALLED_AT);
        memory.write(0, &jump::stub(0, Way::OfSample { classes: classes.as_ptr() as usize, hook }));
        for address in others.into_iter().chain([noted, 0]).chain(other) {
            let expected = address.wrapping_add(7).wrapping_add(u64::from(may_have(&classes, address)));
            prop_assert_eq!(memory.call(0, address, 7), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_function_whose_beginning_was_moved_returns_the_same(
        pieces in proptest::collection::vec(piece(), 0..24),
        from in 0_usize..6,
        arguments in proptest::collection::vec((proptest::num::u64::ANY, proptest::num::u64::ANY), 1..6),
    ) {
        let code = assemble(&pieces);
        let mut memory = Memory::new();
        for copy in 0..2 {
            memory.write(copy * CODE_BYTES, &code);
            memory.write(copy * CODE_BYTES + CONSTANT_AT, &CONSTANT.to_le_bytes());
            memory.write(copy * CODE_BYTES + CALLED_AT, CALLED);
        }
        // A jump goes to any instruction, and not only to a function's first one: what is behind `from` bytes of a known beginning.
        let skipped = [0, 3, 5, 0, 0, 0][from];
        let start = memory.address(CODE_BYTES) + skipped;
        let Ok(hook) = displace(&code[skipped..], code.len() - skipped, start as u64) else { return Ok(()) };
        let moved_at = memory.address(MOVED_AT);
        let mut moved = vec![0; usize::from(hook.moved_len)];
        jump::moved(&hook, moved_at, &mut moved).expect("all is near");
        memory.write(MOVED_AT, &moved);
        let at = hook.address as usize;
        memory.write(at - memory.address(0), &jump::jump(at, moved_at).expect("it is near"));
        for (a, b) in arguments {
            prop_assert_eq!(memory.call(0, a, b), memory.call(CODE_BYTES, a, b), "{:?}", pieces);
        }
    }
}
