//! Whether callers rely on registers that a function leaves alone: of callers whose instructions are given, and of what a compiler makes.

mod common;

use common::Bench;
use heapwise_symbols::code;
use heapwise_symbols::entry_points::callers::{Relied, relied_on};
use heapwise_symbols::entry_points::neighbours::Neighbours;
use std::collections::BTreeMap;
use std::path::Path;

/// One caller for each of these functions, all of which leave everything alone: names, instructions of the caller, and what is expected.
const CALLERS: &[(&str, &str, Relied)] = &[
    ("uses_what_is_returned", "call uses_what_is_returned; mov %rax, %rbx; ret", NOTHING),
    (
        "writes_before",
        "call writes_before; xor %ecx, %ecx; pxor %xmm0, %xmm0; add %rcx, %rax; movd %xmm0, %edx; ret",
        NOTHING,
    ),
    ("of_integers", "mov $3, %ecx; call of_integers; lea (%rax,%rcx), %rax; ret", INTEGERS),
    ("of_vectors", "movd %ebx, %xmm9; call of_vectors; movd %xmm9, %eax; ret", VECTORS),
    (
        "of_both",
        "call of_both; movd %r10d, %xmm0; addss %xmm3, %xmm0; ret",
        Relied { on_integers: true, on_vectors: true },
    ),
    ("on_one_way", "call on_one_way; test %rax, %rax; je 1f; ret; 1: mov %rsi, %rax; ret", INTEGERS),
    ("behind_a_jump", "call behind_a_jump; jmp 1f; nop; 1: mov %r8, %rax; ret", INTEGERS),
    (
        "where_ways_meet",
        "call where_ways_meet; test %rax, %rax; je 1f; xor %ecx, %ecx; 1: add %rcx, %rax; ret",
        INTEGERS,
    ),
    (
        "behind_a_jump_to_a_test",
        "call behind_a_jump_to_a_test; jmp 1f; nop; 1: test %al, %al; mov %r8, %rax; ret",
        INTEGERS,
    ),
    ("in_a_function_that_tests", "call in_a_function_that_tests; call tests; ret", INTEGERS),
    ("in_the_next_function", "call in_the_next_function; call takes_one; ret", INTEGERS),
    ("in_a_variadic_function", "call in_a_variadic_function; xor %eax, %eax; call takes_many; ret", NOTHING),
    ("saves", "call saves; push %rcx; sbb %ecx, %ecx; or $-1, %rdx; pop %rcx; ret", NOTHING),
    ("frees_before_zero", "mov %rax, %rdi; xor %eax, %eax; call frees_before_zero; ret", INTEGERS),
    ("frees_what_was_read", "mov (%rdi), %rax; mov 8(%rax), %rdi; call frees_what_was_read; ret", NOTHING),
    (
        "frees_what_is_returned",
        "call uses_what_is_returned; mov %rax, %rdi; call frees_what_is_returned; ret",
        NOTHING,
    ),
    ("converts", "call converts; vzeroupper; cvtsi2sd %eax, %xmm0; ret", NOTHING),
    ("by_a_pointer", "lea by_a_pointer(%rip), %r11; call *%r11; add %r11, %rax; ret", NOTHING),
];
const NOTHING: Relied = Relied { on_integers: false, on_vectors: false };
const INTEGERS: Relied = Relied { on_integers: true, on_vectors: false };
const VECTORS: Relied = Relied { on_integers: false, on_vectors: true };

/// What callers rely on of the functions of these names. One that frees returns nothing.
fn relied(path: &Path, names: &[&str]) -> Vec<Relied> {
    let found = code::read(path, |code| {
        let (mut addresses, mut functions) = (vec![None; names.len()], BTreeMap::new());
        code.functions(|function| {
            if let Some(place) = names.iter().position(|&name| name == function.name) {
                addresses[place] = Some(function.address.0);
                functions.insert(function.address.0, !function.name.contains("free"));
            }
        });
        let relied = relied_on(code, &Neighbours::of(code, |_| false), &functions);
        let of = |address: &Option<u64>| address.and_then(|at| relied.get(&at).copied()).unwrap_or_default();
        assert!(addresses.iter().all(Option::is_some), "{names:?} are in {path:?}: {addresses:?}");
        addresses.iter().map(of).collect()
    });
    found.expect("it is read")
}

#[test]
fn a_register_that_is_read_behind_the_call_and_not_written_is_relied_on() {
    let bench = Bench::new();
    let mut text = ".text\n".to_owned();
    let mut add = |name: &str, body: &str| {
        text +=
            &format!(".globl {name}\n.type {name}, @function\n{name}:\n{body}\n.size {name}, . - {name}\n");
    };
    // What is called lies before its callers, and behind them.
    add(
        "takes_many",
        "mov %rsi, -8(%rsp); mov %r9, -16(%rsp); test %al, %al; je 1f; movaps %xmm0, -32(%rsp); 1: ret",
    );
    for (name, caller, _) in CALLERS {
        add(name, "ret");
        add(&format!("calls_{name}"), caller);
    }
    add("takes_one", "mov (%rdi), %eax; ret");
    add("tests", "mov (%rdi), %eax; test %al, %al; je 1f; mov %esi, %eax; 1: ret");
    add("main", "ret");
    bench.write("callers.s", &(text + ".section .note.GNU-stack\n"));
    bench.run("cc", &["callers.s", "-o", "callers"]);
    let names: Vec<&str> = CALLERS.iter().map(|(name, ..)| *name).collect();
    let found = relied(&bench.path("callers"), &names);
    for ((name, caller, expected), found) in CALLERS.iter().zip(found) {
        assert_eq!(found, *expected, "{name}: {caller}");
    }
}

/// With what GCC knows of a function it keeps values of the caller's in registers, and without it not.
#[test]
fn what_gcc_keeps_in_registers_is_seen() {
    const SOURCE: &str = "
        __attribute__((noinline)) void my_free(void *block) { *(volatile char *)block = 1; }
        __attribute__((noinline)) long work(long *at, long n) {
            long sum = at[0] * n;
            my_free(at);
            return sum + n;
        }
        int main(int n, char **names) { return work((long *)names, n) == 0; }";
    let bench = Bench::new();
    bench.write("work.c", SOURCE);
    for (flag, expected) in [("-fipa-ra", INTEGERS), ("-fno-ipa-ra", NOTHING)] {
        bench.run("gcc", &["-O2", flag, "work.c", "-o", "work"]);
        assert_eq!(relied(&bench.path("work"), &["my_free"]), [expected], "{flag}");
    }
}
