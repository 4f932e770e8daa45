//! Which code allocated: names for stacks, from the user's point of view.
//!
//! Of a stack of thirty frames readers need the line of their own code that led to it. Frames of the standard library, of
//! packages and of heapwise itself are left out, except the function that this line calls.

use super::stacks::Table;
use crate::entry_frames::{is_the_allocators, is_the_entry_of_the_allocator};
use crate::tally::Ignore;
use heapwise_environment::harmless::escape;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Requests for memory with the same stack.
///
/// ```
/// # use heapwise_installed as _;
/// let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
/// let site = &exceeded.sites()[0];
/// assert_eq!((site.requests, site.bytes), (1, 100));
/// println!("{} at {:?}:{:?}", site.function(), site.stack[0].file, site.stack[0].line);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// Allocations and reallocations; an estimate if [`Exceeded::is_sampled`](super::Exceeded::is_sampled).
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// The function of the standard library, or of a package, that the innermost frame of the user's calls.
    pub calls: Option<String>,
    /// Frames of the user's, the innermost first; if there are none, all.
    pub stack: Vec<StackFrame>,
}

/// A function in a stack, and where in it.
///
/// ```
/// # use heapwise_installed as _;
/// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
/// for frame in &exceeded.sites()[0].stack {
///     println!("{frame}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StackFrame {
    /// Its name, with the modules that it is in.
    pub function: String,
    /// The source file, as the compiler knows it: below the folder of the workspace if it is there. `None` without debug
    /// information.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
}

impl Site {
    /// The innermost function of the user's.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| vec![0u8; 100]).unwrap_err();
    /// assert!(exceeded.sites()[0].function().contains("main"));
    /// ```
    #[must_use]
    pub fn function(&self) -> &str {
        self.stack.first().map_or("", |frame| &frame.function)
    }
}

impl std::fmt::Display for StackFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " at {file}:{line}"),
            (Some(file), None) => write!(f, " in {file}"),
            _ => Ok(()),
        }
    }
}

/// Names the stacks of a table. `caller` is a file of the user's as the compiler names it; paths are shown relative to the same
/// folder.
pub(super) fn named(table: &Table, caller: &str) -> Vec<Site> {
    // Debug information is read, and cached for the next time: these allocations are not the program's.
    let _ignore = Ignore::begin();
    let stacks: Vec<_> = table.stacks().map(|(addresses, sum)| (functions(addresses), sum)).collect();
    let users = stacks.iter().flat_map(|(functions, _)| functions).filter(|function| function.is_users());
    let root = root(caller, users.filter_map(|function| function.file.as_deref()));
    let mut sites: Vec<Site> = Vec::new();
    let mut known: HashMap<(Option<String>, Vec<StackFrame>), usize> = HashMap::new();
    for (functions, sum) in stacks {
        let frames = functions.into_iter().map(|function| function.frame_below(root.as_deref())).collect();
        let key = of_the_user(frames);
        let at = *known.entry(key).or_insert_with_key(|(calls, stack)| {
            sites.push(Site { requests: 0, bytes: 0, calls: calls.clone(), stack: stack.clone() });
            sites.len() - 1
        });
        sites[at].requests += sum.requests;
        sites[at].bytes = sites[at].bytes.saturating_add(sum.bytes);
    }
    sites
}

/// A function as the debug information has it.
struct Function {
    name: String,
    file: Option<PathBuf>,
    line: Option<u32>,
}

impl Function {
    fn is_users(&self) -> bool {
        !is_a_librarys(&self.name, self.file.as_deref())
    }

    /// The frame with its path below a folder, and whether it is the user's.
    fn frame_below(self, root: Option<&Path>) -> (StackFrame, bool) {
        let is_users = self.is_users();
        let shown = |path: &Path| {
            let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
            escape(&below.to_string_lossy()).into_owned()
        };
        let file = self.file.as_deref().map(shown);
        (StackFrame { function: escape(&self.name).into_owned(), file, line: self.line }, is_users)
    }
}

/// The folder that paths of this compilation begin at, such as that of the workspace.
fn root<'a>(caller: &str, mut files: impl Iterator<Item = &'a Path>) -> Option<PathBuf> {
    let length = Path::new(caller).components().count();
    if let Some(of_the_caller) = files.find(|file| file.ends_with(caller)) {
        return of_the_caller.ancestors().nth(length).map(Path::to_owned);
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join(caller).is_file()).map(Path::to_owned)
}

/// All functions of a stack, inlined ones too.
fn functions(addresses: &[usize]) -> Vec<Function> {
    let mut functions = Vec::new();
    for &address in addresses {
        backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
            // Without the hash that the compiler adds.
            let Some(name) = symbol.name().map(|name| format!("{name:#}")) else { return };
            let file = symbol.filename().map(Path::to_owned);
            functions.push(Function { name, file, line: symbol.lineno() });
        });
    }
    functions
}

/// The function that the user calls, and the user's frames; all frames if none is.
fn of_the_user(frames: Vec<(StackFrame, bool)>) -> (Option<String>, Vec<StackFrame>) {
    let Some(first) = frames.iter().position(|(_, is_users)| *is_users) else {
        // Without what is inside of the allocator, which is the same always.
        let inside = frames.iter().rposition(|(frame, _)| is_the_allocators(&frame.function));
        let from = inside.map_or(0, |at| at + 1);
        return (None, frames.into_iter().skip(from).map(|(frame, _)| frame).collect());
    };
    let calls = first.checked_sub(1).map(|at| &frames[at].0);
    let calls = calls.filter(|f| !is_the_entry_of_the_allocator(&f.function, f.file.as_deref()));
    let calls = calls.map(|frame| without_long_parameters(frame.function.clone()));
    (calls, frames.into_iter().filter(|(_, is_users)| *is_users).map(|(frame, _)| frame).collect())
}

/// A name without its modules has the types of its parameters instead, which may go on for lines.
fn without_long_parameters(function: String) -> String {
    match function.split_once('<') {
        Some((name, _)) if !name.is_empty() && !name.contains("::") => name.to_owned(),
        _ => function,
    }
}

/// Crates whose functions the user of a budget did not write.
const LIBRARIES: &[&str] = &["std", "core", "alloc", "test", "hashbrown", "backtrace", "heapwise", "__rustc"];
/// How the paths of their files begin, which the compiler has from where it was built.
const STD_FOLDERS: &[&str] = &["/rustc/", "/rust/deps/"];
/// Parts of the paths of their files where std's sources are installed, and of those of packages.
const LIBRARY_FOLDERS: &[&str] = &["/lib/rustlib/src/", "/registry/src/", "cargo/git/checkouts/"];

/// Whether a function is not the user's: of the standard library, of a package, or of none that has a name in Rust.
///
/// The file decides if it is known: where only lines are in the debug information, names of inlined functions lack their
/// modules.
fn is_a_librarys(function: &str, file: Option<&Path>) -> bool {
    if is_the_allocators(function) {
        return true;
    }
    let Some(file) = file else {
        // A name without a module is one of C, or of the program's start.
        return !function.contains("::") || LIBRARIES.contains(&first_crate(function));
    };
    let file = file.to_string_lossy().replace('\\', "/");
    // This crate's sources, wherever they are.
    let own = file!().replace('\\', "/");
    let own = own.trim_end_matches("budget/sites.rs");
    // What is not written in Rust is the C library, which starts threads.
    !file.ends_with(".rs")
        || own.contains("heapwise") && file.contains(own)
        || STD_FOLDERS.iter().any(|folder| file.starts_with(folder))
        || LIBRARY_FOLDERS.iter().any(|folder| file.contains(folder))
}

/// The crate of the type or module that a name begins with: `<alloc::vec::Vec<T> as …>::push` begins with `alloc`.
fn first_crate(function: &str) -> &str {
    let rest = function.trim_start_matches(['<', '&', '*', '(', '[', ' ']);
    let rest = ["mut ", "const ", "dyn "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_functions_are_distinguished_from_those_of_libraries() {
        let users = |function| !is_a_librarys(function, None);
        assert!(users("my_crate::parse"));
        assert!(users("<my_crate::Type as core::clone::Clone>::clone"));
        assert!(users("<&mut my_crate::Type>::grow"));
        assert!(!users("<alloc::vec::Vec<my_crate::Type> as core::clone::Clone>::clone"));
        assert!(!users("core::ops::function::FnOnce::call_once"));
        assert!(!users("__libc_start_main"));
        let package = Path::new("/home/me/.cargo/registry/src/index-0/serde_json-1.0.0/src/de.rs");
        assert!(is_a_librarys("serde_json::de::from_str", Some(package)));
        let windows = Path::new(r"C:\Users\me\.cargo\registry\src\index-0\serde_json-1.0.0\src\de.rs");
        assert!(is_a_librarys("serde_json::de::from_str", Some(windows)));
        assert!(is_a_librarys("start_thread", Some(Path::new("./nptl/pthread_create.c"))));
        // As they are called where only lines are known.
        assert!(!is_a_librarys("parse", Some(Path::new("src/parse.rs"))));
        assert!(!is_a_librarys("parse", Some(Path::new("/home/me/rustc/src/parse.rs"))));
        assert!(!is_a_librarys("{closure#0}", Some(Path::new("/home/me/crates/heapwise/tests/budget.rs"))));
        assert!(is_a_librarys("call<()>", Some(Path::new(file!()))));
        assert!(is_a_librarys("__rustc::__rust_alloc", Some(Path::new("src/main.rs"))));
        assert!(is_a_librarys("push<u8>", Some(Path::new("/rustc/0123/library/alloc/src/vec/mod.rs"))));
    }

    #[test]
    fn a_stack_without_frames_of_the_users_is_shown_whole() {
        let frame = |function: &str| StackFrame { function: function.to_owned(), file: None, line: None };
        let all = vec![(frame("alloc::vec::push"), false), (frame("std::x"), false)];
        assert_eq!(of_the_user(all.clone()).1.len(), 2);
        let inside = vec![(frame("heapwise::watched"), false), (frame("__rustc::__rust_alloc"), false)];
        assert_eq!(of_the_user([inside, all].concat()).1[0], frame("alloc::vec::push"));
        let mixed =
            vec![(frame("alloc::vec::push"), false), (frame("mine::f"), true), (frame("std::x"), false)];
        assert_eq!(of_the_user(mixed), (Some("alloc::vec::push".to_owned()), vec![frame("mine::f")]));
    }

    #[test]
    fn names_without_modules_are_shown_without_parameters() {
        let shown = |name: &str| without_long_parameters(name.to_owned());
        assert_eq!(shown("collect<core::iter::Map<Split<char>, fn(&str)>>"), "collect");
        assert_eq!(
            shown("<T as alloc::string::ToString>::to_string"),
            "<T as alloc::string::ToString>::to_string"
        );
        assert_eq!(shown("alloc::vec::Vec<T,A>::push"), "alloc::vec::Vec<T,A>::push");
    }

    #[test]
    fn paths_begin_where_those_of_the_compiler_do() {
        let files =
            ["/rustc/0/library/alloc/src/vec/mod.rs", "/home/me/work/crates/a/src/lib.rs"].map(Path::new);
        let root_of = |caller| root(caller, files.into_iter());
        assert_eq!(root_of("crates/a/src/lib.rs"), Some("/home/me/work".into()));
        assert_eq!(root_of("src/lib.rs"), Some("/home/me/work/crates/a".into()));
        assert_eq!(root_of("/home/me/work/crates/a/src/lib.rs"), None, "it is shown whole");
        // Neither in a stack nor anywhere on the disk.
        assert_eq!(root_of("crates/b/src/no_such_file.rs"), None);
    }
}
