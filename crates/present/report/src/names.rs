//! Names of functions and files, short enough for a table.

use heapwise_diagnosis::name::{of_callers, without_clone, without_hash};
use unicode_width::UnicodeWidthChar;

/// A function's name without what is rarely needed: hash, generic parameters, argument types, the trait in
/// `<Type as Trait>::method`.
pub fn function(name: &str) -> String {
    let name = of_callers(without_hash(without_clone(name)));
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let after_operator = out.ends_with("operator");
        match c {
            '<' if out.is_empty() || out.ends_with("::") => {
                let (inner, behind) = bracketed(rest);
                if out.is_empty() {
                    out.push_str(&self_type(inner));
                }
                rest = behind;
                // What is left of `Type::<…>::method` is `Type::` followed by `::method`.
                if out.ends_with("::") {
                    rest = rest.strip_prefix("::").unwrap_or(rest);
                }
                continue;
            }
            '<' if !after_operator => {
                rest = bracketed(rest).1;
                continue;
            }
            '(' if rest.starts_with("(anonymous namespace)") => {
                out.push_str("(anonymous namespace)");
                rest = &rest["(anonymous namespace)".len()..];
                continue;
            }
            '(' if after_operator => {
                out.push_str("()");
                rest = rest.strip_prefix("()").unwrap_or(&rest[1..]);
                continue;
            }
            '(' => {
                rest = bracketed(rest).1;
                continue;
            }
            _ => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    // Generic arguments at the end leave a `::` behind.
    let out = out.trim_end_matches(" const").trim().trim_end_matches("::");
    // A C++ template has its return type in front.
    let out = match out.rfind(' ') {
        Some(at) if !out.contains("operator") && !out.contains('(') && !out.contains('{') => &out[at + 1..],
        _ => out,
    };
    if out.is_empty() { name.to_owned() } else { out.to_owned() }
}

/// The last two parts of a function's short name: `String::clone`.
pub fn callee(name: &str) -> String {
    let short = function(name);
    let parts: Vec<&str> = short.split("::").filter(|p| !p.is_empty()).collect();
    // `{closure}` is meaningless without the function around it.
    let closures = parts.iter().rev().take_while(|p| p.starts_with('{')).count();
    parts[parts.len().saturating_sub(2 + closures)..].join("::")
}

/// What is between the bracket at the start and the one that closes it, and what follows.
fn bracketed(text: &str) -> (&str, &str) {
    let mut depth = 0usize;
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (&text[1..i], &text[i + c.len_utf8()..]);
        }
        before = c;
    }
    (&text[1..], "")
}

/// `alloc::string::String as core::clone::Clone` → `String`; `impl Debug for app::Thing` → `Thing`.
fn self_type(inner: &str) -> String {
    let inner = split_outside(inner, " as ").map_or(inner, |(before, _)| before);
    let inner = inner.strip_prefix("impl ").and_then(|i| split_outside(i, " for ")).map_or(inner, |(_, t)| t);
    let short = function(inner);
    let (sigils, path) = short.split_at(short.find(|c: char| c.is_alphanumeric() || c == '_').unwrap_or(0));
    format!("{sigils}{}", path.rsplit("::").next().unwrap_or(path))
}

/// Splits at the first occurrence that is in no brackets.
fn split_outside<'a>(text: &'a str, at: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && text[i..].starts_with(at) => return Some((&text[..i], &text[i + at.len()..])),
            _ => {}
        }
    }
    None
}

/// A source file's path: relative to `folder` where it is below it, else from the package's folder on, else its last
/// three parts.
pub fn file(path: &str, folder: Option<&str>) -> String {
    if let Some(below) = folder.and_then(|f| path.strip_prefix(f.trim_end_matches('/')))
        && let Some(below) = below.strip_prefix('/')
    {
        return below.to_owned();
    }
    if let Some(at) = path.rfind("/src/") {
        let package = path[..at].rfind('/').map_or(0, |slash| slash + 1);
        return path[package..].to_owned();
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() <= 4 { path.to_owned() } else { format!("…/{}", parts[parts.len() - 3..].join("/")) }
}

/// How many columns of a terminal a text takes: two for each Chinese character, none for a combining accent.
pub fn width_of(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// At most `most` columns: the middle is left out, since the ends of a name distinguish it best.
pub fn fit(text: &str, most: usize) -> String {
    if width_of(text) <= most {
        return text.to_owned();
    }
    let keep = most.saturating_sub(1);
    let head: String = within(text.chars(), keep / 2).collect();
    let tail: Vec<char> = within(text.chars().rev(), keep - width_of(&head)).collect();
    head.chars().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// At most `most` columns: the end is left out, since code is read from its beginning.
pub fn cut(text: &str, most: usize) -> String {
    if width_of(text) <= most {
        return text.to_owned();
    }
    within(text.chars(), most.saturating_sub(1)).chain(['…']).collect()
}

/// As many characters as fit.
fn within(characters: impl Iterator<Item = char>, mut room: usize) -> impl Iterator<Item = char> {
    characters.take_while(move |c| {
        let left = room.checked_sub(columns_of(*c));
        room = left.unwrap_or(0);
        left.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_loses_its_middle_by_columns() {
        assert_eq!((fit("abcdefgh", 5).as_str(), fit("abcde", 5).as_str()), ("ab…gh", "abcde"));
        assert_eq!((width_of("堆分配"), width_of("e\u{301}")), (6, 1));
        assert_eq!((fit("堆分配", 6).as_str(), fit("堆分配器", 6).as_str()), ("堆分配", "堆…器"));
        for most in 1..12 {
            let text = fit("a堆b分c配d器e", most);
            assert!(width_of(&text) <= most && text.contains('…'), "{text}");
        }
    }

    #[test]
    fn code_loses_its_end() {
        assert_eq!((cut("abcdefgh", 5).as_str(), cut("abcde", 5).as_str()), ("abcd…", "abcde"));
        assert_eq!((cut("堆分配器", 6).as_str(), cut("ab", 0).as_str()), ("堆分…", "…"));
    }

    #[test]
    fn functions_lose_what_is_rarely_needed() {
        let cases = [
            ("app::parse::line::h0123456789abcdef", "app::parse::line"),
            ("<alloc::string::String as core::clone::Clone>::clone", "String::clone"),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            (
                "<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter",
                "Vec::from_iter",
            ),
            ("app::run::{{closure}}", "app::run::{{closure}}"),
            ("a::Pool<A>::get(long, char**) [clone .lto_priv.0]", "a::Pool::get"),
            ("<impl core::fmt::Debug for app::Thing<T>>::fmt", "Thing::fmt"),
            ("app::Map::<K, V>::insert", "app::Map::insert"),
            ("<&T as core::convert::Into<U>>::into", "&T::into"),
            ("<F as core::ops::Fn(A) -> B>::call", "F::call"),
            (
                "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
                "std::vector::_M_realloc_insert",
            ),
            ("std::vector<int>::push_back(int const&) const", "std::vector::push_back"),
            ("operator new(unsigned long)", "operator new"),
            ("Foo::operator()(int) const", "Foo::operator()"),
            ("(anonymous namespace)::make(char const*)", "(anonymous namespace)::make"),
            ("main", "main"),
            ("__GI_setlocale", "setlocale"),
            ("__GI___strdup", "__strdup"),
            ("<", "<"),
            ("", ""),
        ];
        for (name, short) in cases {
            assert_eq!(function(name), short, "{name}");
        }
    }

    #[test]
    fn callees_are_two_parts() {
        assert_eq!(callee("<alloc::string::String as core::clone::Clone>::clone"), "String::clone");
        assert_eq!(callee("alloc::vec::Vec<T,A>::push"), "Vec::push");
        assert_eq!(callee("a::b::c::{{closure}}"), "b::c::{{closure}}");
        assert_eq!(callee("malloc"), "malloc");
    }

    #[test]
    fn files_are_shown_from_the_package_on() {
        let cases = [
            ("/home/u/app/src/main.rs", Some("/home/u/app"), "src/main.rs"),
            ("/home/u/app/src/main.rs", None, "app/src/main.rs"),
            ("/home/u/application/src/main.rs", Some("/home/u/app"), "application/src/main.rs"),
            ("/r/.cargo/registry/src/index-1/serde-1.0.0/src/de/mod.rs", None, "serde-1.0.0/src/de/mod.rs"),
            ("/usr/include/c++/12/bits/stl_vector.h", None, "…/12/bits/stl_vector.h"),
            ("main.c", None, "main.c"),
        ];
        for (path, folder, short) in cases {
            assert_eq!(file(path, folder), short);
        }
    }

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(fit("abcdefgh", 8), "abcdefgh");
        assert_eq!(fit("abcdefgh", 5), "ab…gh");
        assert_eq!(fit("abc", 1), "…");
    }
}
