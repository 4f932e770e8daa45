//! Names by which the same function is found again in another build.
//!
//! A build changes what does not matter: hashes, suffixes of clones that the optimiser makes, versions in the names of
//! libraries. What is left is the *full* name. A function that the compiler inlined is often known by its last part
//! alone, with the types that it was instantiated with (`push<usize, Global>`), and by its path without these
//! (`alloc::vec::Vec<T,A>::push`) where it was not inlined. So there is a *bare* name, too
//! ([`base_with_closures`](crate::name::base_with_closures)).

use crate::name::{without_clone, without_hash};
use std::borrow::Cow;

/// A function's name without what differs from build to build.
pub fn full(name: &str) -> Cow<'_, str> {
    let name = without_clones(without_hash(name));
    if !name.contains('#') && !name.contains("{{") {
        return Cow::Borrowed(name);
    }
    // `{closure#1}` and `{lambda(int)#2}` count within a function: another one above moves the number. Rust's older
    // mangling has `{{closure}}` for all of them.
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('#') {
        let (before, number) = rest.split_at(at);
        let behind = number[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(before);
        if !behind.starts_with('}') || behind.len() + 1 == number.len() {
            out.push('#');
            rest = &number[1..];
        } else {
            rest = behind;
        }
    }
    out.push_str(rest);
    Cow::Owned(out.replace("{{", "{").replace("}}", "}"))
}

/// A module's file name without folder and version: `libpython3.11.so.1.0` is `libpython.so`.
pub fn module(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.strip_suffix(" (deleted)").unwrap_or(file);
    match file.find(".so") {
        Some(at) if matches!(file.as_bytes().get(at + 3), None | Some(b'.')) => {
            format!("{}.so", without_version(&file[..at]))
        }
        _ => program(file).to_owned(),
    }
}

/// A program's file name without folder and version, nor the hash that cargo gives to tests.
pub fn program(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => file,
    };
    without_version(file)
}

/// Whether a module is a program and not a library, nor what the kernel provides.
pub fn is_program(path: &str) -> bool {
    path.starts_with('/') && !path.contains(".so") && !path.starts_with("/memfd:")
}

fn without_version(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = if bare.len() < name.len() { bare.trim_end_matches(['-', '_']) } else { bare };
    if bare.is_empty() { name } else { bare }
}

/// Without what compilers append to copies of a function: `f.isra.0`, `f(int) [clone .cold]`.
fn without_clones(name: &str) -> &str {
    const SUFFIXES: [&str; 6] = [".isra.", ".part.", ".constprop.", ".cold", ".lto_priv.", ".llvm."];
    let name = without_clone(name);
    let first = SUFFIXES.iter().filter_map(|suffix| name.find(suffix)).min();
    match first {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::base_with_closures;

    #[test]
    fn names_of_a_recording_may_be_long() {
        for part in ["long", "operator+", "<", "::", "+", " const", "{::"] {
            let name = part.repeat(100_000);
            assert!(base_with_closures(&full(&name)).len() <= name.len());
        }
    }

    #[test]
    fn what_a_build_changes_is_left_out() {
        let cases = [
            ("app::parse::line::h0123456789abcdef", "app::parse::line"),
            ("app::parse::line", "app::parse::line"),
            ("app::run::{closure#3}", "app::run::{closure}"),
            ("app::run::{{closure}}", "app::run::{closure}"),
            ("app::run::{{closure}}::{{closure}}", "app::run::{closure}::{closure}"),
            ("main::{lambda(int)#1}::operator()", "main::{lambda(int)}::operator()"),
            ("do_work.isra.0", "do_work"),
            ("do_work.constprop.0.isra.3", "do_work"),
            ("Foo::bar(int) [clone .part.0]", "Foo::bar(int)"),
            ("#", "#"),
            ("a#b}", "a#b}"),
            ("a#}", "a#}"),
            (".cold", ".cold"),
        ];
        for (name, expected) in cases {
            assert_eq!(full(name), expected, "{name}");
        }
    }

    #[test]
    fn modules_have_neither_folder_nor_version() {
        let cases = [
            ("/lib/x86_64-linux-gnu/libc.so.6", "libc.so"),
            ("/lib/libc-2.31.so", "libc.so"),
            ("/usr/lib/libpython3.11.so.1.0", "libpython.so"),
            ("/usr/lib/libstdc++.so.6.0.30", "libstdc++.so"),
            ("/usr/bin/python3.11", "python"),
            ("/a/target/debug/deps/app-0123456789abcdef", "app"),
            ("/a/app (deleted)", "app"),
            ("/a/7", "7"),
            ("[vdso]", "[vdso]"),
            ("", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(module(path), expected, "{path}");
        }
        assert!(is_program("/usr/bin/ls") && !is_program("/lib/libc.so.6") && !is_program("[vdso]"));
    }
}
