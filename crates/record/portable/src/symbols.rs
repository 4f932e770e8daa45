//! Names of addresses: found in this process. What was compiled into another function keeps its place in that.

/// Where heapwise's own functions are, as far as they are below an allocation.
const OWN: &[&str] = &[
    "heapwise_portable::",
    "heapwise::record::",
    "heapwise::sampled::",
    "heapwise::allocator::",
    "backtrace::backtrace::",
];

/// A function that an address is in, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, with its modules as far as the debug information has them.
    pub function: Option<String>,
    /// The source file, as the compiler names it.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
}

/// What is known of a return address: the functions that are there, innermost first, each compiled into the next one.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Without heapwise's own.
    pub frames: Vec<Function>,
    /// Nothing but heapwise's own functions is there.
    pub is_own: bool,
}

fn is_own(name: &str) -> bool {
    // As it begins, or as the type of which it is a method: `<heapwise::allocator::Allocator as …>::alloc`.
    let name = name.trim_start_matches('<');
    OWN.iter().any(|own| name.starts_with(own))
}

/// Asks the debug information of the file, or its symbols. `address` is a return address.
pub fn look_up(address: u64) -> Found {
    let mut frames = Vec::new();
    backtrace::resolve(address as usize as *mut _, |symbol| {
        let file = symbol.filename().map(|path| path.to_string_lossy().into_owned());
        frames.push(Function {
            // Without the hash at its end.
            function: symbol.name().map(|name| format!("{name:#}")),
            // As everywhere else; Windows' files may have both.
            file: if cfg!(windows) { file.map(|file| file.replace('\\', "/")) } else { file },
            line: symbol.lineno(),
        });
    });
    let own = |named: &Function| named.function.as_deref().is_some_and(is_own);
    let all_own = !frames.is_empty() && frames.iter().all(own);
    if !all_own {
        frames.retain(|named| !own(named));
    }
    frames.retain(|named| named.function.is_some() || named.file.is_some());
    Found { frames, is_own: all_own }
}

/// Frees what the debug information of files was kept in memory for: the next address takes longer.
pub fn forget_debug_information() {
    backtrace::clear_symbol_cache();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_are_distinguished_from_those_of_users() {
        let own = [
            "heapwise_portable::events::allocated",
            "<heapwise::allocator::Allocator<A> as core::alloc::global::GlobalAlloc>::alloc",
            "heapwise::allocator::Allocator<A>::alloc_watched::{{closure}}",
        ];
        assert!(own.iter().all(|name| is_own(name)));
        let users =
            ["heapwise_tests::main", "my::heapwise::allocator::x", "heapwise::bench::measure", "main"];
        assert!(!users.iter().any(|name| is_own(name)));
    }
}
