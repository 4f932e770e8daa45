//! Where a program in Go makes its system calls. It uses no function of the C library for that.
//!
//! Names of functions are often stripped, and this one's has changed twice; what it consists of has not since Go 1.19.

use crate::Svma;
use crate::code::{Code, Function};
use memchr::memmem;

/// `mov r10, rsi; mov rdx, rdi; mov rsi, rcx; mov rdi, rbx; syscall`: `Syscall6(number, a, b, c, d, e, f)` of Go's runtime, which has its
/// arguments in other registers than C (`internal/runtime/syscall/linux/asm_linux_amd64.s`).
const BODY: [u8; 14] = [0x49, 0x89, 0xf2, 0x48, 0x89, 0xfa, 0x48, 0x89, 0xce, 0x48, 0x89, 0xdf, 0x0f, 0x05];
/// Go's linker has each function begin at a multiple of this.
const ALIGNMENT: u64 = 16;
/// Sections that Go's linker makes, of which each file has one: the first is left out without an id (`-buildid=`).
const SIGNS: [&str; 3] = [".note.go.buildid", ".go.buildinfo", ".gopclntab"];

/// The function that makes system calls; `None` where there is none, or more than one.
pub(super) fn system_call<'code>(code: &Code<'code>) -> Option<Function<'code>> {
    if !SIGNS.iter().any(|sign| code.has_section(sign)) {
        return None;
    }
    let mut found = code.segments().iter().flat_map(|segment| {
        let bytes = code.bytes(segment.address, segment.in_file.end - segment.in_file.start);
        let places = memmem::find_iter(bytes, &BODY).map(|at| segment.address.0 + at as u64);
        places.filter(|at| at % ALIGNMENT == 0).collect::<Vec<_>>()
    });
    let address = Svma(found.next().filter(|_| found.next().is_none())?);
    let size = BODY.len() as u64;
    Some(Function { name: "Syscall6", address, size, is_exported: false, is_static: false })
}
