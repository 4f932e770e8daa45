//! Functions that only copy a value, most of which the compiler wrote: `#[derive(Clone)]`, the implicit copy constructor, and
//! those that make a string of a view in C++.
//!
//! Their line is that of a type, where nothing can be changed about a copy. It is made for whoever calls them.

/// Whether a function only makes a copy of a value, as far as its name has it and that of the function that it called for it.
pub fn makes_a_copy(function: &str, file: Option<&str>, called: Option<&str>) -> bool {
    is_clone(function, file)
        || is_copy_constructor(function)
        || is_conversion(function, file) && called.is_some_and(constructs_a_string)
}

/// `<app::Thing as core::clone::Clone>::clone`, and an inlined `clone` in a file of Rust.
fn is_clone(function: &str, file: Option<&str>) -> bool {
    const TRAITS: [&str; 2] = [" as core::clone::Clone>::", " as alloc::borrow::ToOwned>::"];
    let is_rust = file.is_some_and(|file| file.ends_with(".rs"));
    function.starts_with('<') && TRAITS.iter().any(|of| function.contains(of))
        || is_rust && matches!(function, "clone" | "clone_from")
}

/// `app::Thing::Thing(app::Thing const&)` and `app::Thing::operator=(app::Thing const&)`.
fn is_copy_constructor(function: &str) -> bool {
    let Some((path, arguments)) = function.split_once('(') else { return false };
    let Some(of) = arguments.strip_suffix(" const&)") else { return false };
    let Some(method) = path.strip_prefix(of).and_then(|rest| rest.strip_prefix("::")) else { return false };
    method == "operator=" || method == last_part(of)
}

/// `StringPiece::AsString() const`, `toString[abi:cxx11]`: a method of C++ without arguments that returns a string. Only what it calls
/// tells whether it copies one or puts it together.
fn is_conversion(function: &str, file: Option<&str>) -> bool {
    const NAMES: [&str; 7] =
        ["AsString", "as_string", "ToString", "toString", "to_string", "ToStdString", "toStdString"];
    let name = function.strip_suffix(" const").unwrap_or(function);
    let name = name.strip_suffix("()").unwrap_or(name);
    let name = name.strip_suffix("[abi:cxx11]").unwrap_or(name);
    let method = name.rsplit("::").next().unwrap_or(name);
    let is_cxx = name != function || file.is_some_and(|file| !file.ends_with(".rs"));
    is_cxx && NAMES.contains(&method) && (name.contains("::") || name != function)
}

/// A constructor of `std::string`, and what it is made of.
fn constructs_a_string(function: &str) -> bool {
    let name = last_part(function.split_once('(').map_or(function, |(path, _)| path));
    matches!(name, "basic_string" | "_M_construct" | "_M_create")
}

/// The name of a class or a function without what it is in and without the arguments of a template: `decode` of `app::Reader<T>::decode::<u8>`.
pub(super) fn last_part(class: &str) -> &str {
    let (mut depth, mut from, mut end) = (0_u32, 0, class.len());
    for (at, c) in class.char_indices() {
        match c {
            '<' if depth == 0 => (depth, end) = (1, at),
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && !class[at..].trim_start_matches(':').starts_with('<') => {
                (from, end) = (at + 1, class.len());
            }
            _ => {}
        }
    }
    class.get(from..end).unwrap_or(class).trim_end_matches(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_distinguished_from_other_functions() {
        let rust = Some("/u/src/thing.rs");
        for name in [
            "<app::Thing as core::clone::Clone>::clone",
            "<app::Thing<T> as core::clone::Clone>::clone_from",
            "clone",
        ] {
            assert!(makes_a_copy(name, rust, None), "{name}");
        }
        for name in [
            "Thing::Thing(Thing const&)",
            "a::Thing::operator=(a::Thing const&)",
            "a::Box<b::C>::Box(a::Box<b::C> const&)",
            "A<int>::B::B(A<int>::B const&)",
        ] {
            assert!(makes_a_copy(name, None, None), "{name}");
        }
        for name in
            ["StringPiece::AsString() const", "StringPiece::AsString[abi:cxx11]", "AsString[abi:cxx11]"]
        {
            let file = Some("/u/src/string_piece.h");
            for called in [
                "basic_string<std::allocator<char> >",
                "_M_construct<char const*>",
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*)",
                "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
            ] {
                assert!(makes_a_copy(name, file, Some(called)), "{name} {called}");
            }
            for called in [
                "reserve",
                "operator+=",
                "std::__cxx11::basic_string<char>::reserve(unsigned long)",
                "std::__cxx11::basic_string<char>::_M_append(char const*, unsigned long)",
            ] {
                assert!(!makes_a_copy(name, file, Some(called)), "{name} {called}");
            }
        }
        for name in [
            "app::clone_all",
            "app::Thing::to_string",
            "Thing::ToString(int) const",
            "toString",
            "<app::Thing as core::fmt::Debug>::fmt",
            "Thing::Thing(Other const&)",
            "Thing::merge(Thing const&)",
            "Thing::Thing(Thing&&)",
            "main",
            "",
        ] {
            assert!(!makes_a_copy(name, rust, Some("_M_construct<char const*>")), "{name}");
        }
        assert!(!makes_a_copy("clone", Some("/u/src/thing.c"), None));
        assert!(!makes_a_copy("app::Thing::to_string", None, Some("basic_string")), "of Rust, without lines");
    }
}
