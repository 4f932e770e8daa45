//! Names of functions, as far as rules and comparisons have to understand them.
//!
//! An inlined frame has only its last part (`push_mut<usize, …>`), another one its whole path
//! (`alloc::raw_vec::RawVec<T,A>::grow_one`, `std::vector<int>::push_back(int const&)`). [`base`] brings all of them to the
//! same: the last part without generic and other arguments. It survives another decision about inlining, and a function that
//! moves to another module.

use std::ops::Range;

/// The last part of a function's name without what is in brackets: `clone` of
/// `<alloc::string::String as core::clone::Clone>::clone`.
pub(crate) fn base(name: &str) -> &str {
    let name = without_hash(without_clone(name));
    if let Some(plain) = of_mangled(name) {
        return plain;
    }
    let mut last = 0..name.len();
    parts(name, |part| last = part);
    // What compilers append: `.constprop.0`, `.cold`.
    let base = name[last].split('.').next().unwrap_or_default().trim();
    let base = of_callers(base);
    if base.is_empty() { name } else { base }
}

/// The plain name of a function outside of classes that could not be demangled: `make_shared` of `_ZSt11make_sharedI…`.
/// Results that depend on conditions are more than the demangler understands.
fn of_mangled(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("_Z")?;
    let rest = rest.strip_prefix("St").unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest.get(..digits)?.parse().ok()?;
    rest.get(digits..)?.get(..length)
}

/// The last part with the type that it is a function of, where the name has one: `Pool::get` of
/// `regex_automata::util::pool::Pool<T,F>::get`.
pub(crate) fn with_type(name: &str) -> String {
    let name = without_hash(without_clone(name));
    let mut before = None;
    let mut last = None;
    parts(name, |part| before = last.replace(part));
    let of_type = before.map(|part| &name[part]).map(|part| match part.strip_prefix('<') {
        // `<alloc::string::String as core::clone::Clone>`
        Some(inner) => base(inner.split(" as ").next().unwrap_or(inner).trim_end_matches('>')),
        None => base(part),
    });
    // Types begin with capital letters, modules do not.
    match of_type.filter(|part| part.starts_with(|c: char| c.is_uppercase())) {
        Some(of) => format!("{of}::{}", base(name)),
        None => base(name).to_owned(),
    }
}

/// The same of a name without hash and clones, but that a closure keeps the function that it is in: `run::{closure}`.
pub(crate) fn base_with_closures(name: &str) -> String {
    let mut kept = Vec::new();
    parts(name, |part| {
        let part = name[part].trim();
        if !part.starts_with('{') {
            kept.clear();
        }
        // A type is no function that a closure could be in.
        if !part.starts_with('<') {
            kept.push(part);
        }
    });
    if kept.is_empty() { name.to_owned() } else { kept.join("::") }
}

/// Without what demanglers say of copies that a compiler has made: ` [clone .cold]`.
pub fn without_clone(name: &str) -> &str {
    name.split(" [clone ").next().unwrap_or(name)
}

/// The name by which programs know a function of glibc: `setlocale` of `__GI_setlocale`, which is what glibc itself calls it.
pub fn of_callers(name: &str) -> &str {
    name.strip_prefix("__GI_").filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// Without the hash of Rust's older symbols.
pub fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((head, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => head,
        _ => name,
    }
}

/// The parts of a path, one after the other, each up to its arguments. What stands in front of a part (the result of a C++
/// template) is none.
fn parts(name: &str, mut found: impl FnMut(Range<usize>)) {
    let (mut start, mut depth, mut before, mut passed) = (0, 0_usize, ' ', 0);
    // Where the part's own name ends, and whether it is that of an operator.
    let (mut own_end, mut has_operator) = (None, false);
    let end_of =
        |start: usize, own_end: Option<usize>, at: usize| own_end.filter(|end| *end > start).unwrap_or(at);
    for (at, c) in name.char_indices() {
        let (rest, came_before) = (&name[at..], std::mem::replace(&mut before, c));
        if at < passed {
            continue;
        }
        let is_behind_operator = depth == 0 && own_end.is_none() && is_operator(&name[start..at]);
        has_operator |= is_behind_operator;
        match c {
            _ if is_behind_operator && c != ' ' => {
                // `operator<` and `operator()` are names themselves; others have nothing that would be taken for brackets.
                let signs = OPERATORS.iter().find(|signs| rest.starts_with(**signs));
                passed = at + signs.map_or(c.len_utf8(), |signs| signs.len());
                own_end = signs.map(|_| passed);
            }
            '<' | '(' | '[' => {
                if depth == 0 && own_end.is_none() {
                    own_end = Some(at);
                }
                depth += 1;
            }
            '>' if came_before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && came_before == ':' => {
                let next = at + 1;
                let end = at - 1;
                if name[next..].starts_with('<') || next == name.len() {
                    // Generic arguments of this part.
                    own_end = own_end.or(Some(end));
                } else {
                    if start < end {
                        found(start..end_of(start, own_end, end));
                    }
                    (start, own_end, has_operator) = (next, None, false);
                }
            }
            // Behind the result, and not before what follows the arguments.
            ' ' if depth == 0 && !has_operator => {
                const BEHIND: [&str; 4] = ["const", "volatile", "&", "["];
                if !BEHIND.iter().any(|word| rest[1..].starts_with(word)) {
                    (start, own_end) = (at + 1, None);
                }
            }
            _ => {}
        }
    }
    let end = end_of(start, own_end, name.len());
    if start < end {
        found(start..end);
    }
}

/// The operators that begin like brackets or end like one, longer ones first.
const OPERATORS: [&str; 13] =
    ["<=>", "<<=", ">>=", "->*", "->", "()", "[]", "<<", ">>", "<=", ">=", "<", ">"];

/// Whether a part is `operator` so far.
fn is_operator(part: &str) -> bool {
    let before = part.strip_suffix("operator");
    before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::{base, base_with_closures, with_type};

    #[test]
    fn names_of_all_kinds_have_a_last_part() {
        for (name, expected) in [
            ("<alloc::string::String as core::clone::Clone>::clone", "clone"),
            ("alloc::raw_vec::RawVec<T,A>::grow_one", "grow_one"),
            ("<alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>>::grow_one", "grow_one"),
            ("push_mut<usize, alloc::alloc::Global>", "push_mut"),
            ("<[u8]>::to_vec_in::<alloc::alloc::Global>", "to_vec_in"),
            ("alloc::string::String::from::h0123456789abcdef", "from"),
            (
                "<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_str",
                "deserialize_str",
            ),
            ("app::run::{{closure}}", "{{closure}}"),
            ("{closure#2}", "{closure#2}"),
            ("a::Pool<A>::get(long, char**) [clone .lto_priv.0]", "get"),
            (
                "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
                "_M_realloc_insert",
            ),
            (
                "std::__cxx11::basic_string<char, std::char_traits<char> >::_M_create(unsigned long&, unsigned long)",
                "_M_create",
            ),
            ("std::vector<int>::push_back(int const&)", "push_back"),
            ("operator new(unsigned long)", "operator new"),
            ("Foo::operator()(int) const", "operator()"),
            ("(anonymous namespace)::make(char const*)", "make"),
            ("leak.constprop.0", "leak"),
            (
                "_ZSt11make_sharedI7RequestJS0_EESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E4typeEE",
                "make_shared",
            ),
            ("_Z99short", "_Z99short"),
            ("_Z", "_Z"),
            ("strdup", "strdup"),
            ("__GI___strdup", "__strdup"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_of_types_are_named_with_them() {
        for (name, expected) in [
            ("regex_automata::util::pool::Pool<T,F>::get", "Pool::get"),
            ("ignore::walk::Work::add_parents::h0123456789abcdef", "Work::add_parents"),
            ("<alloc::string::String as core::clone::Clone>::clone", "String::clone"),
            ("ignore::walk::check_symlink_loop", "check_symlink_loop"),
            ("push_mut<usize, alloc::alloc::Global>", "push_mut"),
            ("g_hash_table_insert", "g_hash_table_insert"),
            ("", ""),
        ] {
            assert_eq!(with_type(name), expected, "{name}");
        }
    }

    #[test]
    fn brackets_of_all_kinds_are_seen_through() {
        for (name, expected) in [
            ("app::Map::<K, V>::insert", "insert"),
            ("std::vector<int> make(int)", "make"),
            ("f(int)::Local::run() const", "run"),
            ("my_operator<u8>", "my_operator"),
            ("Foo::operator<=><int>(Foo const&)", "operator<=>"),
            ("Foo::operator->() const", "operator->"),
            ("Foo::operator+(Foo const&)", "operator+"),
            ("Foo::operator bool() const", "operator bool"),
            ("Foo::operator==(Foo const&) const", "operator=="),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }

    #[test]
    fn a_function_has_the_same_bare_name_inlined_or_not() {
        let cases = [
            ("push<usize, alloc::alloc::Global>", "push"),
            ("alloc::vec::Vec<T,A>::push", "push"),
            ("<alloc::vec::Vec<u8>>::push", "push"),
            ("<alloc::string::String as core::clone::Clone>::clone", "clone"),
            ("poetry::v01::solve_round", "solve_round"),
            ("solve_round", "solve_round"),
            ("app::run::{closure}", "run::{closure}"),
            (
                "std::panicking::catch_unwind::do_call::<&dyn core::ops::function::Fn<(), Output = i32>, i32>",
                "do_call",
            ),
            ("<F as core::ops::Fn(A) -> B>::call", "call"),
            (
                "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
                "_M_realloc_insert",
            ),
            ("void swap<int>(int&, int&)", "swap"),
            ("(anonymous namespace)::make(char const*)", "make"),
            ("operator new(unsigned long)", "operator new"),
            ("Foo::operator()(int) const", "operator()"),
            ("Foo::operator<(Foo const&)", "operator<"),
            ("Foo::operator[](int)", "operator[]"),
            ("std::operator<< <char>(std::ostream&)", "operator<<"),
            ("main", "main"),
            ("<", "<"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(base_with_closures(name), expected, "{name}");
        }
    }
}
