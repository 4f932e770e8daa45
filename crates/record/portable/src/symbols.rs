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

/// Files of the library that have such functions, below a folder `heapwise` or `heapwise-VERSION`.
const OWN_FILES: &[&str] = &["src/allocator.rs", "src/sampled.rs", "src/record/portable.rs"];

/// Whether a function is heapwise's own. Where only lines are in the debug information, names lack their modules, and the file decides.
fn is_own(function: &Function) -> bool {
    // As it begins, or as the type of which it is a method: `<heapwise::allocator::Allocator as …>::alloc`.
    let name = function.function.as_deref().unwrap_or_default().trim_start_matches('<');
    OWN.iter().any(|own| name.starts_with(own)) || function.file.as_deref().is_some_and(is_own_file)
}

fn is_own_file(file: &str) -> bool {
    let file = file.replace('\\', "/");
    // This crate's sources, wherever they are.
    let own = file!().replace('\\', "/");
    let own = own.trim_end_matches("symbols.rs");
    let is_the_librarys = |name: &str| {
        let folder = file.strip_suffix(name).and_then(|path| path.strip_suffix('/')).unwrap_or_default();
        let folder = folder.rsplit('/').next().unwrap_or_default();
        let is_version = |rest: &str| {
            rest.strip_prefix('-')
                .is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        };
        folder.strip_prefix("heapwise").is_some_and(|rest| rest.is_empty() || is_version(rest))
    };
    own.contains("portable") && file.contains(own)
        || OWN_FILES.iter().any(|name| is_the_librarys(name))
        || file.contains("/backtrace-0.3.") && file.contains("/src/backtrace/")
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
    // What is compiled into a function of heapwise's own is its own as well.
    let own = frames.iter().rposition(is_own).map_or(0, |at| at + 1);
    let is_own = own > 0 && own == frames.len();
    frames.drain(..own);
    frames.retain(|function| function.function.is_some() || function.file.is_some());
    Found { frames, is_own }
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
        let is_own =
            |name: &&str| is_own(&Function { function: Some((*name).to_owned()), file: None, line: None });
        assert!(own.iter().all(is_own));
        let users =
            ["heapwise_tests::main", "my::heapwise::allocator::x", "heapwise::bench::measure", "main"];
        assert!(!users.iter().any(is_own));
    }

    #[test]
    fn files_decide_where_names_are_short() {
        let own = [
            "/home/me/heapwise/crates/record/portable/src/events.rs",
            "/home/me/heapwise/crates/library/heapwise/src/allocator.rs",
            "/home/me/.cargo/registry/src/index-0/heapwise-0.1.0/src/sampled.rs",
            "/home/me/.cargo/registry/src/index-0/backtrace-0.3.77/src/backtrace/mod.rs",
        ];
        for file in own.into_iter().filter(|file| !file.contains("/portable/") || !file!().starts_with('/')) {
            assert!(is_own_file(file), "{file}");
        }
        assert!(is_own_file(&format!("/home/me/{}", file!())));
        let users = [
            "src/allocator.rs",
            "/home/me/my-heapwise/src/allocator.rs",
            "/home/me/heapwise-server/src/allocator.rs",
            "/home/me/heapwise/src/main.rs",
        ];
        assert!(!users.iter().any(|file| is_own_file(file)));
    }
}
