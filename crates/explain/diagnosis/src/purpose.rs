//! What the user's line called for an allocation: the table of names behind most findings.
//!
//! A rule about clones has to know a clone when it sees one. What it sees are the frames between the allocator and the
//! user's nearest frame: functions of the standard libraries, of serde, of the C library. Their names are the only thing
//! here that depends on versions of these libraries, and nothing else knows them. A name that is not known makes an
//! allocation [`Purpose::Other`], and the rules silent.

mod names;
mod serde;

pub(crate) use names::ONE_OBJECT;

use crate::name::base;
use heapwise_analysis::Frame;
use heapwise_analysis::owner::{Owner, WrapperKind, makes_a_copy, wrapper_kind};
use names::{
    ARRAY, BOXES, CASES, COLLECTS, COPIES, DIRECT, FORMATS, GROWS, MAP_GROWS, NODES, PATHS, READS, RESERVES,
    STREAMS,
};
use serde::{Direction, direction};

/// What is allocated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// A copy of something that exists: `clone`, `to_owned`, `to_string`, `strdup`, the copy of a `std::string`.
    Copy,
    /// Text that is put together: `format!`, `to_string` of a number, `asprintf`, `a + b` of strings.
    Format,
    /// Text in other letters: `to_uppercase`, `to_ascii_lowercase`.
    Cased,
    /// A path that is put together: `Path::join`, `DirEntry::path`.
    Path,
    /// The buffer of a stream that writes text, or the text that it was given or hands out: `std::ostringstream`.
    Stream,
    /// A buffer that grows as it is filled: `Vec::push`, `String::push_str`, `std::vector::push_back`.
    Grow,
    /// A hash map that grows as it is filled.
    MapGrow,
    /// A node of a tree or list: `BTreeMap`, `std::map`, `std::list`.
    Node,
    /// The vector of a `collect`.
    Collect,
    /// The string of a `collect`.
    CollectText,
    /// One value: `Box`, `Rc`, `Arc`, `std::make_unique`, `new T`.
    Boxed,
    /// A buffer of a requested size: `with_capacity`, `reserve`, `vec![0; n]`.
    Reserved,
    /// The contents of a file, or a line of it.
    Read,
    /// A string that serde makes of text that it was given.
    DeserializedString,
    /// The same where borrowing was allowed and the text had escapes.
    DeserializedEscapes,
    /// A buffer in which the parser unescapes text.
    DeserializerScratch,
    /// Something else that serde makes.
    Deserialized,
    /// The program's own call of `malloc`, `new[]` and so on.
    Direct,
    Other,
}

/// One allocation's stack between allocator and user.
pub(crate) struct Call<'a> {
    /// What it is for.
    pub(crate) what: Purpose,
    /// The function that the user's frame called, if it is known: `clone`, `push`.
    pub(crate) callee: &'a str,
    /// Whether a map with the standard library's default hash function is involved.
    pub(crate) sip_hash: bool,
    /// Whether serde was to fill a `Cow` and made it own its text all the same.
    pub(crate) owned_cow: bool,
}

/// Looks at a stack from the innermost frame up to the user's.
pub(crate) fn call<'a>(stack: &[Frame<'a>], user: usize) -> Call<'a> {
    let inner = &stack[..user.min(stack.len())];
    let names: Vec<&'a str> = inner.iter().map(|f| base(f.function.unwrap_or_default())).collect();
    let has = |list: &[&str]| names.iter().any(|name| list.contains(name));
    let wraps = |kind| {
        let mut wrappers = inner.iter().filter(|f| f.owner == Owner::Wrapper);
        wrappers.any(|f| f.function.and_then(wrapper_kind) == Some(kind))
    };
    let in_file = |name: &str, file: &str| {
        inner.iter().zip(&names).any(|(f, n)| *n == name && f.file.is_some_and(|path| path.ends_with(file)))
    };
    let part = |text: &str| inner.iter().any(|f| f.function.is_some_and(|name| name.contains(text)));
    let callee = inner.iter().zip(&names).rev().find(|(f, n)| f.owner != Owner::Recorder && !n.is_empty());
    let mut call = Call {
        what: Purpose::Other,
        callee: callee.map_or("", |(_, n)| *n),
        sip_hash: part("std::hash::random::RandomState"),
        owned_cow: false,
    };
    let strings = ["visit_str", "visit_string", "visit_borrowed_str"];
    call.what = if inner.iter().find_map(direction) == Some(Direction::Reads) {
        match () {
            () if has(&["parse_str_bytes"]) => Purpose::DeserializerScratch,
            () if has(&["borrow_cow_str"]) => Purpose::DeserializedEscapes,
            () if has(&strings) || is_visit_without_a_name(inner, &names) => {
                call.owned_cow = part("borrow::Cow<");
                Purpose::DeserializedString
            }
            () => Purpose::Deserialized,
        }
    } else if has(MAP_GROWS) {
        Purpose::MapGrow
    } else if part("collections::btree") || has(NODES) {
        Purpose::Node
    } else if ["read_to_string", "read"].iter().any(|name| in_file(name, "std/src/fs.rs"))
        || in_file("next", "std/src/io/mod.rs")
        || has(READS)
    {
        Purpose::Read
    } else if has(CASES) {
        Purpose::Cased
    } else if PATHS.iter().any(|name| in_file(name, "std/src/path.rs") || in_file(name, "std/src/fs.rs")) {
        Purpose::Path
    } else if inner.iter().any(is_of_stream) {
        Purpose::Stream
    } else if wraps(WrapperKind::Text)
        || inner.iter().zip(&names).any(|(f, name)| FORMATS.contains(name) && !is_sum_of_others(f, name))
            && !has(&["clone", "to_owned"])
            && !is_str_to_string(inner, &names)
    {
        Purpose::Format
    } else if wraps(WrapperKind::Copy)
        || (0..inner.len()).any(|at| is_own_copy(inner, at))
        || has(COPIES)
        || is_str_to_string(inner, &names)
        || is_string_from(inner, &names)
    {
        Purpose::Copy
    } else if ["from_iter", "extend"].iter().any(|name| in_file(name, "alloc/src/string.rs")) && has(COLLECTS)
    {
        Purpose::CollectText
    } else if has(COLLECTS) {
        Purpose::Collect
    } else if RESERVES.contains(&call.callee) {
        Purpose::Reserved
    } else if has(GROWS) {
        Purpose::Grow
    } else if has(BOXES) || ["boxed.rs", "rc.rs", "sync.rs"].iter().any(|file| in_file("new", file)) {
        Purpose::Boxed
    } else if has(RESERVES) {
        Purpose::Reserved
    } else if inner
        .iter()
        .zip(&names)
        .all(|(f, n)| n.is_empty() || f.owner == Owner::Wrapper || DIRECT.contains(n))
    {
        // A wrapper of the allocator is the program's own `malloc`.
        // Without lines nothing is known of inlined functions in between, those of a `std::vector` for one.
        let has_line = stack.get(user).is_none_or(|frame| frame.line.is_some());
        if call.callee == ONE_OBJECT && !part(ARRAY) && has_line { Purpose::Boxed } else { Purpose::Direct }
    } else {
        Purpose::Other
    };
    // What a call of the system needs inside, or copies out of it, is not the caller's to borrow or to reuse.
    let is_of_system = inner.iter().any(is_call_of_system)
        || call.what == Purpose::Copy
            && callee.is_some_and(|(f, name)| f.owner == Owner::System && !COPIES.contains(name));
    if is_of_system && !matches!(call.what, Purpose::Read | Purpose::Path) {
        call.what = Purpose::Other;
    }
    call
}

/// A string that was made where serde reads one, of which the compiler has made one piece of code for borrowed text and for text with
/// escapes: that piece is a line of both, and names no function of either.
fn is_visit_without_a_name(inner: &[Frame<'_>], names: &[&str]) -> bool {
    let innermost = inner.iter().zip(names).find(|(f, n)| f.owner != Owner::Recorder && !DIRECT.contains(n));
    innermost.is_some_and(|(f, name)| {
        matches!(*name, "deserialize_string" | "deserialize_str")
            && f.function.is_some_and(|function| function.contains("StringVisitor"))
    })
}

/// Whether a frame's function only makes a copy of something.
pub(crate) fn is_copy(stack: &[Frame<'_>], at: usize) -> bool {
    let called = at.checked_sub(1).and_then(|before| stack[before].function);
    stack[at].function.is_some_and(|name| makes_a_copy(name, stack[at].file, called))
}

/// A `Clone::clone` or copy constructor of the program's or of a dependency's, of which the compiler writes most.
fn is_own_copy(inner: &[Frame<'_>], at: usize) -> bool {
    matches!(inner[at].owner, Owner::User | Owner::Dependency) && is_copy(inner, at)
}

/// A function of Rust's standard library that calls the system, known by its file or, without lines, by its name.
fn is_call_of_system(frame: &Frame<'_>) -> bool {
    const FILES: [&str; 7] = ["fs.rs", "process.rs", "env.rs", "net/", "thread/", "sys/", "os/"];
    const MODULES: [&str; 5] = ["std::fs::", "std::process::", "std::env::", "std::net::", "std::sys::"];
    // Its functions call what they are given.
    const OTHER: [&str; 3] = ["thread/local.rs", "thread/scoped.rs", "sys/thread_local/"];
    match frame.file.and_then(|file| file.split_once("std/src/")) {
        Some((_, rest)) => {
            let is_in = |parts: &[&str]| parts.iter().any(|part| rest.starts_with(part));
            is_in(&FILES) && !is_in(&OTHER)
        }
        None => {
            frame.file.is_none()
                && frame.function.is_some_and(|name| {
                    let name = name.trim_start_matches('<');
                    MODULES.iter().any(|module| name.starts_with(module))
                        && !name.starts_with("std::sys::thread_local")
                })
        }
    }
}

/// A function of a stream of text of C++.
fn is_of_stream(frame: &Frame<'_>) -> bool {
    let is_one = |name: &str| STREAMS.iter().any(|class| name.contains(class));
    frame.owner != Owner::User && frame.function.is_some_and(is_one)
}

/// `operator+` of something that is no string: a number of any length, a list.
fn is_sum_of_others(frame: &Frame<'_>, name: &str) -> bool {
    let is_of_text =
        |function: &str| function.contains("basic_string") || function.contains("operator+<char");
    name == "operator+" && !frame.function.is_some_and(is_of_text)
}

/// `to_string` of a `str`, which copies and formats nothing.
fn is_str_to_string(inner: &[Frame<'_>], names: &[&str]) -> bool {
    names.contains(&"spec_to_string")
        && !inner.iter().any(|f| f.file.is_some_and(|x| x.ends_with("fmt/mod.rs")))
        && names.iter().any(|n| ["from", "to_owned", "to_vec", "to_vec_in"].contains(n))
}

/// `String::from(&str)` and `.into()`.
fn is_string_from(inner: &[Frame<'_>], names: &[&str]) -> bool {
    inner
        .iter()
        .zip(names)
        .any(|(f, n)| *n == "from" && f.file.is_some_and(|x| x.ends_with("alloc/src/string.rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `function|file|module`
    fn frame(text: &str, line: Option<u32>) -> Frame<'_> {
        let mut parts = text.split('|').map(|part| (!part.is_empty()).then_some(part));
        let mut next = || parts.next().flatten();
        let (function, file, module) = (next(), next(), next());
        let facts = heapwise_analysis::owner::FrameFacts { function, file, module };
        let owner = heapwise_analysis::owner::owner_of(&facts);
        Frame { function, file, line, inlined: true, module: None, address: 0, owner }
    }

    /// `function|file|module` of the frames in front of the user's, innermost first.
    fn what(frames: &[&str]) -> Purpose {
        let frames: Vec<Frame<'_>> = frames.iter().map(|text| frame(text, None)).collect();
        call(&frames, frames.len()).what
    }

    #[test]
    fn one_object_is_only_spoken_of_where_lines_tell_what_was_inlined() {
        for (line, wanted) in [(Some(7), Purpose::Boxed), (None, Purpose::Direct)] {
            let stack = [frame("operator new(unsigned long)", None), frame("app::build()", line)];
            assert_eq!(call(&stack, 1).what, wanted, "{line:?}");
        }
    }

    #[test]
    fn calls_of_three_languages_are_known() {
        let std = "/rustc/5980/library/alloc/src/";
        let cases: &[(&[&str], Purpose)] = &[
            (
                &["alloc", "to_vec_in<u8>", "<alloc::string::String as core::clone::Clone>::clone"],
                Purpose::Copy,
            ),
            (&["to_vec<u8>", "to_owned", "spec_to_string"], Purpose::Copy),
            (&["with_capacity", &format!("from|{std}string.rs")], Purpose::Copy),
            (
                &[
                    "finish_grow",
                    "push_str",
                    "write_str",
                    "core::fmt::write",
                    "format_inner",
                    "alloc::fmt::format",
                ],
                Purpose::Format,
            ),
            (
                &[
                    "finish_grow",
                    "grow_amortized",
                    "alloc::raw_vec::RawVec<T,A>::grow_one",
                    "push_mut<u8>",
                    "push<u8>",
                ],
                Purpose::Grow,
            ),
            (
                &[
                    "do_alloc",
                    "resize_inner",
                    "hashbrown::raw::RawTable<T,A>::reserve_rehash",
                    "entry<u8, u8>",
                ],
                Purpose::MapGrow,
            ),
            (&["alloc", "with_capacity_in", "from_iter", "collect"], Purpose::Collect),
            (
                &["alloc", "reserve", &format!("from_iter<char>|{std}string.rs"), "collect"],
                Purpose::CollectText,
            ),
            (&["alloc", "reserve", &format!("extend<char>|{std}string.rs")], Purpose::Reserved),
            (&["exchange_malloc", "new<u64>"], Purpose::Boxed),
            (&["alloc", &format!("new<u64>|{std}sync.rs")], Purpose::Boxed),
            (&["try_allocate_in", "with_capacity_in", "with_capacity"], Purpose::Reserved),
            (
                &["finish_grow", "try_reserve_exact", "read_to_string|/rustc/1/library/std/src/fs.rs"],
                Purpose::Read,
            ),
            (&["finish_grow", "read_until", "next<X>|/rustc/1/library/std/src/io/mod.rs"], Purpose::Read),
            (
                &["to_owned", "visit_str|/c/registry/src/i/serde_core-1.0/src/de/impls.rs"],
                Purpose::DeserializedString,
            ),
            (
                &["visit_str|/registry/src/i/serde-1/a.rs", "borrow_cow_str|/registry/src/i/serde-1/a.rs"],
                Purpose::DeserializedEscapes,
            ),
            (
                &[
                    "deserialize_str<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>\
                     |/c/registry/src/i/serde_json-1.0.154/src/de.rs",
                    "deserialize_string<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>\
                     |/c/registry/src/i/serde_json-1.0.154/src/de.rs",
                ],
                Purpose::DeserializedString,
            ),
            (
                &[
                    "grow_amortized|/rustc/1/library/alloc/src/raw_vec/mod.rs",
                    "deserialize_str<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>\
                     |/c/registry/src/i/serde_json-1.0.154/src/de.rs",
                ],
                Purpose::Deserialized,
            ),
            (
                &["grow_one", "push", "visit_seq|/registry/src/i/serde_core-1/src/de/impls.rs"],
                Purpose::Deserialized,
            ),
            (
                &[
                    "finish_grow",
                    "push_str",
                    "spec_to_string",
                    "<quick_xml::se::element::Struct as serde_core::ser::SerializeStruct>::serialize_field\
                     |/c/registry/src/i/quick-xml-0.38.3/src/se/element.rs",
                ],
                Purpose::Format,
            ),
            (
                &[
                    "do_alloc",
                    "hashbrown::raw::RawTable<T,A>::with_capacity_in",
                    "with_capacity|/c/registry/src/i/serde_json-1.0.150/src/map.rs",
                    "serialize_map|/c/registry/src/i/serde_json-1.0.150/src/value/ser.rs",
                ],
                Purpose::Reserved,
            ),
            (
                &[
                    "to_vec<u8>",
                    "<serde_json::value::Value as core::clone::Clone>::clone\
                     |/c/registry/src/i/serde_json-1.0.150/src/value/mod.rs",
                ],
                Purpose::Copy,
            ),
            (
                &[
                    "to_vec_in",
                    "to_path_buf|/rustc/1/library/std/src/path.rs",
                    "read_dir|/rustc/1/library/std/src/fs.rs",
                ],
                Purpose::Other,
            ),
            // What a call of the system hands out is no copy of something that the caller has.
            (
                &[
                    "to_vec<u8>|/rustc/1/library/alloc/src/slice.rs",
                    "canonicalize|/rustc/1/library/std/src/sys/fs/unix.rs",
                    "canonicalize|/rustc/1/library/std/src/path.rs",
                ],
                Purpose::Other,
            ),
            (&["strdup||/lib/libc.so.6", "realpath||/lib/libc.so.6"], Purpose::Other),
            (&["strdup||/lib/libc.so.6"], Purpose::Copy),
            (&["<[u8]>::to_vec", "std::sys::env::unix::getenv", "std::env::var"], Purpose::Other),
            (&["to_vec<u8>", "to_owned", "with<T>|/rustc/1/library/std/src/thread/local.rs"], Purpose::Copy),
            (&["malloc", "strdup"], Purpose::Copy),
            (
                &[
                    "operator new(unsigned long)",
                    "limbs::grow(unsigned long)",
                    "operator+<char, std::allocator<char> >",
                ],
                Purpose::Format,
            ),
            (
                &[
                    "operator new(unsigned long)",
                    "grow|/usr/include/boost/multiprecision/cpp_int.hpp",
                    "operator+<cpp_int_backend>|/usr/include/boost/multiprecision/detail/number.hpp",
                ],
                Purpose::Other,
            ),
            (
                &[
                    "operator new(unsigned long)",
                    "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
                    "_M_construct<char const*>",
                ],
                Purpose::Copy,
            ),
            (
                &[
                    "operator new(unsigned long)",
                    "allocate",
                    "void std::vector<int>::_M_realloc_append<int>(int&&)",
                ],
                Purpose::Grow,
            ),
            (&["operator new(unsigned long)", "_M_get_node", "_M_create_node"], Purpose::Node),
            (&["operator new(unsigned long)"], Purpose::Boxed),
            (&["operator new(unsigned long)", "operator new[](unsigned long)"], Purpose::Direct),
            (
                &[
                    "operator new(unsigned long)",
                    "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
                    "std::__cxx11::basic_string<char>::reserve(unsigned long)",
                    "std::__cxx11::basic_string<char> std::operator+<char>(std::__cxx11::basic_string<char> const&)",
                ],
                Purpose::Format,
            ),
            (
                &[
                    "operator new(unsigned long)",
                    "_M_create",
                    "std::__cxx11::basic_stringbuf<char>::overflow(int)",
                    "std::basic_ostream<char>& std::operator<< <char>(std::basic_ostream<char>&, char const*)",
                ],
                Purpose::Stream,
            ),
            (
                &[
                    "operator new(unsigned long)",
                    "_M_mutate",
                    "std::basic_istream<char>& std::getline<char>(std::basic_istream<char>&)",
                ],
                Purpose::Read,
            ),
            (&["realloc", "_IO_getdelim", "getline"], Purpose::Read),
            (
                &["with_capacity", "convert_while_ascii", "alloc::str::<impl str>::to_uppercase"],
                Purpose::Cased,
            ),
            (&["with_capacity", "to_path_buf", "_join|/rustc/1/library/std/src/path.rs"], Purpose::Path),
            (&["operator new(unsigned long)", "allocate", "_M_create", "make_shared<Thing>"], Purpose::Boxed),
            (&["malloc"], Purpose::Direct),
            (&[], Purpose::Direct),
            (&["g_malloc"], Purpose::Direct),
            (&["malloc", "xmalloc", "xstrdup"], Purpose::Copy),
            (&["operator new(unsigned long)", "Thing::Thing(Thing const&)"], Purpose::Copy),
            (&["malloc", "xvasprintf", "xasprintf"], Purpose::Format),
            (&["malloc", "sprocket"], Purpose::Other),
        ];
        for (frames, expected) in cases {
            assert_eq!(what(frames), *expected, "{frames:?}");
        }
    }
}
