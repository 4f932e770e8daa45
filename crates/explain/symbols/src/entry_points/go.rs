//! Where a program in Go makes its system calls. It uses no function of the C library for that.
//!
//! Names of functions are often stripped. What these consist of has changed with Go 1.10, 1.11 and 1.19.

use crate::Svma;
use crate::code::{Code, Function};
use heapwise_trace::live::hooks::HookKind;
use memchr::memmem;

/// `mov r10, rsi; mov rdx, rdi; mov rsi, rcx; mov rdi, rbx; syscall`: `Syscall6(number, a, b, c, d, e, f)` of Go's runtime, which has its
/// arguments in other registers than C (`internal/runtime/syscall/linux/asm_linux_amd64.s`).
const IN_REGISTERS: [u8; 14] =
    [0x49, 0x89, 0xf2, 0x48, 0x89, 0xfa, 0x48, 0x89, 0xce, 0x48, 0x89, 0xdf, 0x0f, 0x05];

/// `mov rdi, [rsp + 16]; mov rsi, [rsp + 24]; mov rdx, [rsp + 32]`: the first arguments, which lie behind the number.
const THREE: &[u8] =
    &[0x48, 0x8b, 0x7c, 0x24, 0x10, 0x48, 0x8b, 0x74, 0x24, 0x18, 0x48, 0x8b, 0x54, 0x24, 0x20];
/// What comes then in functions of the package `syscall` (`asm_linux_amd64.s`): nothing; a zero in `r10`, `r8` and `r9` before Go 1.11, by
/// `xor` or by `mov`; three arguments more.
const OTHERS: [&[u8]; 4] = [
    &[],
    &[0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9],
    &[
        0x49, 0xc7, 0xc2, 0, 0, 0, 0, 0x49, 0xc7, 0xc0, 0, 0, 0, 0, 0x49, 0xc7, 0xc1, 0, 0, 0, 0, //
    ],
    &[0x4c, 0x8b, 0x54, 0x24, 0x28, 0x4c, 0x8b, 0x44, 0x24, 0x30, 0x4c, 0x8b, 0x4c, 0x24, 0x38],
];
/// `mov rax, [rsp + 8]; syscall`
const LAST: [u8; 7] = [0x48, 0x8b, 0x44, 0x24, 0x08, 0x0f, 0x05];
/// The call that is in front of it where the scheduler notes it first.
const CALL: u8 = 0xe8;
const CALL_BYTES: usize = 5;

/// Go's linker has each function begin at a multiple of this.
const ALIGNMENT: u64 = 16;
/// Sections that Go's linker makes, of which each file has one: the first is left out without an id (`-buildid=`).
const SIGNS: [&str; 3] = [".note.go.buildid", ".go.buildinfo", ".gopclntab"];
/// There are `Syscall`, `Syscall6`, `RawSyscall`, `RawSyscall6` and one that returns no error, and two of each copy of the package
/// `golang.org/x/sys/unix`. What has more is something else.
const MOST_ON_STACK: usize = 32;

/// The functions that make system calls, with any number.
pub(super) fn system_calls<'code>(code: &Code<'code>) -> Vec<(Function<'code>, HookKind)> {
    if !SIGNS.iter().any(|sign| code.has_section(sign)) {
        return Vec::new();
    }
    let (mut in_registers, mut on_stack) = (Vec::new(), Vec::new());
    for segment in code.segments() {
        let bytes = code.bytes(segment.address, segment.in_file.end - segment.in_file.start);
        let address = |at: usize| segment.address.0.wrapping_add(at as u64);
        let places = memmem::find_iter(bytes, &IN_REGISTERS).filter(|at| address(*at) % ALIGNMENT == 0);
        in_registers.extend(places.map(|at| (address(at), IN_REGISTERS.len())));
        let begins = |at: usize| address(at) % ALIGNMENT == 0;
        let places =
            memmem::find_iter(bytes, &LAST).filter_map(|at| begin(bytes, at, begins).map(|b| (b, at)));
        on_stack.extend(places.map(|(begin, at)| (address(begin), at + LAST.len() - begin)));
    }
    // With more than one it is not known which is the runtime's.
    if in_registers.len() > 1 {
        in_registers.clear();
    }
    if on_stack.len() > MOST_ON_STACK {
        on_stack.clear();
    }
    let in_registers = in_registers.into_iter().map(|place| (place, "Syscall6", HookKind::GoSystemCall));
    let on_stack = on_stack.into_iter().map(|place| (place, "RawSyscall", HookKind::GoSystemCallOnStack));
    let function = |((address, size), name, kind): ((u64, usize), _, _)| {
        let (address, size) = (Svma(address), size as u64);
        (Function { name, address, size, is_exported: false, is_static: false }, kind)
    };
    in_registers.chain(on_stack).map(function).collect()
}

/// Where the function begins that has the number of a system call in its hands at `last`.
fn begin(bytes: &[u8], last: usize, begins: impl Fn(usize) -> bool) -> Option<usize> {
    let before = OTHERS.iter().find_map(|others| {
        let before = bytes[..last].strip_suffix(*others)?.strip_suffix(THREE)?;
        Some(before.len())
    })?;
    let with_call = before.checked_sub(CALL_BYTES).filter(|at| bytes[*at] == CALL);
    [Some(before), with_call].into_iter().flatten().find(|at| begins(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_begin_in_front_of_their_arguments_or_of_a_call() {
        for others in OTHERS {
            let body = [THREE, others, &LAST[..]].concat();
            let last = body.len() - LAST.len();
            let raw = [&[0xcc; 16][..], &body].concat();
            assert_eq!(begin(&raw, 16 + last, |at| at % 16 == 0), Some(16));
            let call = [&[0xcc; 16][..], &[CALL, 1, 2, 3, 4], &body].concat();
            assert_eq!(begin(&call, 16 + 5 + last, |at| at % 16 == 0), Some(16));
            let another = [&[0xcc; 16][..], &[0x90, 1, 2, 3, 4], &body].concat();
            assert_eq!(begin(&another, 16 + 5 + last, |at| at % 16 == 0), None);
        }
        assert_eq!(begin(&[&[0xcc; 64][..], &LAST].concat(), 64, |_| true), None);
        assert_eq!(begin(&LAST, 0, |_| true), None);
    }
}
