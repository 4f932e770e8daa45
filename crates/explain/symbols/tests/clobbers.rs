//! Whether a function writes all registers that it may: of functions whose instructions are given, and of the C library.

mod common;

use common::Bench;
use heapwise_symbols::code;
use heapwise_symbols::entry_points::clobbers;
use heapwise_symbols::entry_points::neighbours::Neighbours;
use std::path::{Path, PathBuf};

const ASSEMBLY: &str = r"
.text
.macro function name
.globl \name
.type \name, @function
\name:
.endm
.macro over name
.size \name, . - \name
.endm
function some
    xor %eax, %eax
    xor %ecx, %ecx
    xor %edx, %edx
    xor %esi, %esi
    ret
over some
# The others, on a way that is seldom taken.
function others
    test %rdi, %rdi
    je 1f
    ret
1:  mov $1, %r8b
    cmove %rax, %r9
    lea (%rax), %r10
    syscall
    mov %eax, %edi
    ret
over others
function both_by_calls
    push %rbx
    call some
    call others
    pop %rbx
    ret
over both_by_calls
function both_by_a_jump
    call some
    jmp others
over both_by_a_jump
# What saves registers is no proof.
function saves
    push %rdi
    call some
    pop %rdi
    jmp others
over saves
function by_calls_of_what_saves
    call some
    call saves
    ret
over by_calls_of_what_saves
# The call of what is not known says nothing.
function indirect
    call some
    call *%rbx
    ret
over indirect
# What does not return is followed by another function.
function does_not_return
    call some
    call round_and_round
over does_not_return
    call others
    ret
function round_and_round
    call round_and_round
    jmp round_and_round
over round_and_round
.globl main
main:
    ret
.section .note.GNU-stack
";

fn all(path: &Path, names: &[&str]) -> Vec<bool> {
    let found = code::read(path, |code| {
        let mut addresses = vec![None; names.len()];
        code.functions(|function| {
            if let Some(place) = names.iter().position(|&name| name == function.name) {
                addresses[place] = Some(function.address.0);
            }
        });
        let address = |(at, name): (&Option<u64>, &&str)| at.unwrap_or_else(|| panic!("no {name}"));
        let addresses: Vec<u64> = addresses.iter().zip(names).map(address).collect();
        let neighbours = Neighbours::of(code, |_| false);
        addresses.into_iter().map(|address| clobbers::all(code, &neighbours, address)).collect()
    });
    found.expect("it is read")
}

#[test]
fn all_counts_that_is_written_on_any_way_through_calls_and_jumps() {
    let bench = Bench::new();
    bench.write("functions.s", ASSEMBLY);
    bench.run("cc", &["functions.s", "-o", "functions"]);
    let names = [
        "some",
        "others",
        "both_by_calls",
        "both_by_a_jump",
        "saves",
        "by_calls_of_what_saves",
        "indirect",
        "round_and_round",
        "does_not_return",
    ];
    let expected = [false, false, true, true, false, false, false, false, false];
    assert_eq!(all(&bench.path("functions"), &names), expected);
}

#[test]
fn the_c_librarys_functions_write_all() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("our mappings");
    let libc =
        maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("/libc."));
    let libc = PathBuf::from(libc.expect("this program uses it"));
    assert_eq!(all(&libc, &["malloc", "free", "calloc", "realloc"]), [true; 4]);
}
