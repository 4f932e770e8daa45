//! The same answers as `addr2line` of binutils, for many addresses of several programs.

mod common;

use std::path::Path;

use common::{Bench, code_addresses, open, oracle, resolve};
use heapwise_symbols::Frame;

/// How much of a name both tools print alike.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    /// All of it, but for spaces.
    Whole,
    /// Without parameters and what stands in angle brackets. There cpp_demangle writes numbers as `(unsigned long)0`
    /// instead of `0ul`, and forgets the `&&` of parameter packs.
    Outside,
    /// Only the last part, and not for the innermost frame: if debug information holds short names only, binutils puts
    /// the name of the symbol there, and shows a short name where it belongs.
    OfCallers,
}

/// Compares all frames of every `step`-th code address. `allowed` is how many in a thousand may differ.
#[track_caller]
fn check(path: &Path, step: usize, names: Names, allowed: usize) {
    let module = open(path);
    let addresses = code_addresses(path, step);
    let expected = oracle(path, &addresses);
    let mut n_compared = 0;
    let mut different = Vec::new();
    for (address, expected) in addresses.iter().zip(expected) {
        let found = resolve(&module, *address);
        // Where binutils knows no line it guesses a function, and likewise for the padding after a function, which has
        // lines but no function.
        let is_guess = expected.iter().all(|frame| frame.line.is_none());
        if is_guess || found.iter().all(|frame| frame.function.is_none()) {
            continue;
        }
        n_compared += 1;
        if simplified(&found, names) != simplified(&expected, names) {
            different.push((address, found, expected));
        }
    }
    assert!(n_compared > 50, "only {n_compared} addresses have lines");
    for (address, found, expected) in different.iter().take(5) {
        eprintln!("{address:#x}\n  found    {:?}", simplified(found, names));
        eprintln!("  expected {:?}", simplified(expected, names));
    }
    assert!(different.len() * 1000 <= n_compared * allowed, "{} of {n_compared} differ", different.len());
}

/// What both tools agree on by intention: names, the last part of paths, lines, what is inlined into what.
fn simplified(frames: &[Frame], names: Names) -> Vec<(String, String, u32, bool)> {
    let one = |(depth, frame): (usize, &Frame)| {
        let function: String = frame.function.as_deref().unwrap_or("?").split_whitespace().collect();
        let function = match names {
            Names::Whole => function,
            Names::Outside => {
                let function = without_brackets(&function.replace("(anonymousnamespace)", "{anonymous}"));
                function.split('(').next().unwrap().to_owned()
            }
            Names::OfCallers if depth == 0 => String::new(),
            Names::OfCallers => without_brackets(&function).rsplit("::").next().unwrap().to_owned(),
        };
        let file = frame.file.as_deref().unwrap_or("?").rsplit('/').next().unwrap().to_owned();
        (function, file, frame.line.unwrap_or(0), frame.inlined)
    };
    frames.iter().enumerate().map(one).collect()
}

fn without_brackets(name: &str) -> String {
    let mut depth = 0;
    let mut rest = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            c if depth == 0 => rest.push(c),
            _ => {}
        }
    }
    rest
}

#[test]
fn c_without_optimisation() {
    let bench = Bench::new();
    check(&bench.c("c0", &["-g", "-O0"]), 1, Names::Whole, 0);
}

#[test]
fn c_with_optimisation() {
    let bench = Bench::new();
    check(&bench.c("c2", &["-g", "-O2"]), 1, Names::Whole, 0);
}

#[test]
fn c_in_an_older_dwarf() {
    let bench = Bench::new();
    check(&bench.c("c4", &["-gdwarf-4", "-O2"]), 1, Names::Whole, 0);
}

#[test]
fn cpp_without_optimisation() {
    let bench = Bench::new();
    // Binutils takes the file of one function of the standard library from the wrong table, and leaves out the type
    // of return of a constructor-like template where cpp_demangle prints it.
    check(&bench.cpp("cpp0", &["-g", "-O0"]), 3, Names::Outside, 10);
}

#[test]
fn cpp_with_optimisation() {
    let bench = Bench::new();
    // Binutils gives the name of the symbol to an inlined lambda.
    check(&bench.cpp("cpp2", &["-g", "-O2"]), 1, Names::Outside, 1);
}

#[test]
fn rust_without_optimisation() {
    let bench = Bench::new();
    check(&bench.rust("r0", &["-g", "-Csymbol-mangling-version=v0"]), 31, Names::Whole, 0);
}

#[test]
fn rust_with_optimisation() {
    let bench = Bench::new();
    check(&bench.rust("r2", &["-g", "-O", "-Csymbol-mangling-version=v0"]), 31, Names::Whole, 0);
}

#[test]
fn rust_with_lines_only() {
    let bench = Bench::new();
    // The same happens in the precompiled standard library.
    check(&bench.rust("rl", &["-Cdebuginfo=line-tables-only", "-O"]), 31, Names::OfCallers, 6);
}
