//! From the names that linkers see to the names that people wrote.
//!
//! The scheme is recognised by the name itself and not by the language of the unit: one unit may hold functions of
//! several languages after link-time optimisation, and symbol tables know no languages at all.

use std::collections::HashMap;
use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// The longest name in bytes that is given out; what is longer is cut, and ends in an ellipsis.
pub const LONGEST_NAME: usize = 4096;

/// A mangled name longer than this is not demangled. The longest ones seen in C++ programs full of expression
/// templates have some ten thousand bytes.
const LONGEST_MANGLED: usize = 32 * 1024;

/// How deep a C++ name may nest on the caller's stack. The parser takes 5 KiB of stack for each level, and 28 KiB when it
/// is compiled without optimisation (measured with cpp_demangle 0.5.1), so this fits every thread.
const SHALLOW: u32 = 48;

/// How deep a C++ name may nest at all, on a separate thread with [`DEEP_STACK`].
const DEEP: u32 = 256;

/// Twice what [`DEEP`] needs without optimisation. Memory that is not touched costs nothing.
const DEEP_STACK: usize = 16 << 20;

/// Demangles a name: Rust in both schemes (without the hash), C++ as Itanium has it. Any other name is not changed.
///
/// Time, stack and memory are bounded whatever the name is.
pub fn demangle(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let mut output = Bounded::default();
    let is_done = name.len() <= LONGEST_MANGLED && (rust(&name, &mut output) || cpp(&name, &mut output));
    if !is_done {
        output = Bounded::default();
        // An error only says that the name was cut.
        let _ = output.write_str(&name);
    }
    output.finish()
}

/// Whether a name holds more than the plain identifier, such as scopes and types.
pub(crate) fn is_mangled(name: &[u8]) -> bool {
    name.starts_with(b"_R") || name.starts_with(b"_Z")
}

fn rust(name: &str, output: &mut Bounded) -> bool {
    if !name.starts_with("_R") && !has_rust_hash(name) {
        return false;
    }
    let Ok(demangled) = rustc_demangle::try_demangle(name) else { return false };
    // The alternate form leaves out the hash.
    write!(output, "{demangled:#}").is_ok() || output.is_cut
}

/// The legacy scheme borrows the form of C++ names. They are distinguished by the last part, a hash: `17h` and sixteen
/// hexadecimal digits, then `E`.
fn has_rust_hash(name: &str) -> bool {
    name.starts_with("_ZN")
        && name.match_indices("17h").any(|(at, _)| {
            let rest = &name.as_bytes()[at + 3..];
            rest.len() > 16 && rest[..16].iter().all(u8::is_ascii_hexdigit) && rest[16] == b'E'
        })
}

fn cpp(name: &str, output: &mut Bounded) -> bool {
    if !name.starts_with("_Z") {
        return false;
    }
    match cpp_within(SHALLOW, name, output) {
        Outcome::Done => true,
        Outcome::NotMangled => false,
        Outcome::TooDeep => {
            let mut deep = Bounded::default();
            let outcome = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(DEEP_STACK);
                let running = thread.spawn_scoped(scope, || cpp_within(DEEP, name, &mut deep));
                running.ok().and_then(|running| running.join().ok())
            });
            *output = deep;
            matches!(outcome, Some(Outcome::Done))
        }
    }
}

enum Outcome {
    Done,
    NotMangled,
    TooDeep,
}

fn cpp_within(limit: u32, name: &str, output: &mut Bounded) -> Outcome {
    let parsing = ParseOptions::default().recursion_limit(limit);
    let printing = DemangleOptions::default().recursion_limit(limit);
    match Symbol::new_with_options(name, &parsing) {
        Ok(symbol) => match symbol.structured_demangle(output, &printing) {
            Ok(()) => Outcome::Done,
            Err(fmt::Error) if output.is_cut => Outcome::Done,
            Err(fmt::Error) => Outcome::TooDeep,
        },
        // The parser tries alternatives, and may report the failure of another one than the one that was too deep.
        Err(_) if limit < DEEP && name.len() > limit as usize => Outcome::TooDeep,
        Err(_) => Outcome::NotMangled,
    }
}

/// Text that refuses to grow beyond the limit. The refusal also ends the demangler early, which matters more: a short
/// mangled name may stand for a text of any length.
#[derive(Default)]
struct Bounded {
    text: String,
    is_cut: bool,
}

impl Bounded {
    fn finish(mut self) -> String {
        if self.is_cut {
            self.text.push('…');
        }
        // Names are kept for a whole module, room for growth would be kept with them.
        self.text.shrink_to_fit();
        self.text
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_NAME - self.text.len();
        if text.len() <= room && !self.is_cut {
            self.text.push_str(text);
            return Ok(());
        }
        if !self.is_cut {
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
            self.is_cut = true;
        }
        Err(fmt::Error)
    }
}

/// Names repeat: inlined library functions appear at thousands of addresses. This remembers what was demangled last.
#[derive(Default)]
pub(crate) struct Cache {
    names: HashMap<Vec<u8>, String>,
    n_bytes: usize,
}

impl Cache {
    /// Beyond this many bytes the cache starts afresh.
    const LARGEST: usize = 8 << 20;

    pub(crate) fn demangle(&mut self, name: &[u8]) -> String {
        if !is_mangled(name) {
            return demangle(name);
        }
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let demangled = demangle(name);
        if self.n_bytes > Cache::LARGEST {
            self.names.clear();
            self.n_bytes = 0;
        }
        self.n_bytes += name.len() + demangled.len();
        self.names.insert(name.to_vec(), demangled.clone());
        demangled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mangled: &str, expected: &str) {
        assert_eq!(demangle(mangled.as_bytes()), expected);
    }

    #[test]
    fn every_scheme_is_recognised_by_the_name() {
        check("main", "main");
        check("_start", "_start");
        check("_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rustc::__rust_alloc");
        check(
            "_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h780f4d4026eb2d9fE",
            "std::sys::backtrace::__rust_begin_short_backtrace",
        );
        check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.42", "core::fmt::Formatter::pad");
        check("_ZN5space3fooEibc", "space::foo(int, bool, char)");
        check(
            "_ZNSt6vectorIiSaIiEE9push_backEOi",
            "std::vector<int, std::allocator<int> >::push_back(int&&)",
        );
        check(&format!("_Z1f{}i", "P".repeat(200)), &format!("f(int{})", "*".repeat(200)));
        check("_Zno", "_Zno");
        check("_R", "_R");
        check("", "");
    }

    #[test]
    fn a_long_plain_name_is_cut_at_a_character() {
        let cut = demangle("é".repeat(LONGEST_NAME).as_bytes());
        assert!(cut.len() <= LONGEST_NAME + '…'.len_utf8());
        assert!(cut.ends_with("é…"));
    }

    #[test]
    fn names_that_would_explode_are_cut_in_time() {
        // Each pair doubles: f(pair<T, T>), where T is the pair before.
        let mut doubling = "_Z1fSt4pairIiiE".to_owned();
        for i in 0..60 {
            let seq = if i == 0 { "S_".to_owned() } else { format!("S{}_", base36(i - 1)) };
            doubling.push_str(&format!("St4pairI{seq}{seq}E"));
        }
        let deep_pointer = format!("_Z1f{}i", "P".repeat(20_000));
        let deep_nesting = format!("_Z1f{}i{}", "St4pairI".repeat(3_000), "iE".repeat(3_000));
        let deep_expression = format!("_Z1fIXad{}E", "ad".repeat(10_000));
        let rust_nesting = format!("_RNvC1a{}", "INv".repeat(5_000));
        let started = std::time::Instant::now();
        for name in [doubling, deep_pointer, deep_nesting, deep_expression, rust_nesting] {
            assert!(demangle(name.as_bytes()).len() <= LONGEST_NAME + '…'.len_utf8());
        }
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
    }

    fn base36(mut n: u32) -> String {
        let mut digits = Vec::new();
        loop {
            digits.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(n % 36) as usize]);
            n /= 36;
            if n == 0 {
                break;
            }
        }
        digits.reverse();
        String::from_utf8(digits).unwrap()
    }

    #[test]
    fn the_cache_gives_the_same_names() {
        let mut cache = Cache::default();
        for _ in 0..2 {
            assert_eq!(cache.demangle(b"_ZN5space3fooEibc"), "space::foo(int, bool, char)");
            assert_eq!(cache.demangle(b"main"), "main");
        }
    }
}
