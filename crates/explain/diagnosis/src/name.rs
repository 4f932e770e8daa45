//! Names of functions, as far as the rules have to understand them.
//!
//! An inlined frame has only its last part (`push_mut<usize, …>`), another one its whole path
//! (`alloc::raw_vec::RawVec<T,A>::grow_one`, `std::vector<int>::push_back(int const&)`). [`base`] brings all of them to the
//! same: the last part without generic and other arguments.

/// The last part of a function's name without what is in brackets: `clone` of
/// `<alloc::string::String as core::clone::Clone>::clone`.
pub(crate) fn base(name: &str) -> &str {
    let name = without_hash(name);
    let (mut start, mut end, mut depth, mut before) = (0, name.len(), 0_usize, ' ');
    let mut open_at = None;
    for (i, c) in name.char_indices() {
        match c {
            // `operator<`, `operator()` and their like are names themselves.
            '<' | '>' | '(' | '[' if depth == 0 && name[start..i].ends_with("operator") => {
                return name[start..].split_whitespace().next().unwrap_or(name);
            }
            '<' | '(' | '[' => {
                if depth == 0 && open_at.is_none() {
                    open_at = Some(i);
                }
                depth += 1;
            }
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && before == ':' => {
                let rest = &name[i + 1..];
                // What follows may be generic arguments.
                if !rest.is_empty() && !rest.starts_with('<') {
                    (start, open_at) = (i + 1, None);
                } else {
                    end = end.min(i - 1);
                }
            }
            // The result of a C++ template stands in front.
            ' ' if depth == 0 && open_at.is_none() && !name[start..i].ends_with("operator") => start = i + 1,
            ' ' if depth == 0 && open_at.is_some_and(|at| at > start) && name[i + 1..].contains("::") => {
                (start, open_at) = (i + 1, None);
            }
            _ => {}
        }
        before = c;
    }
    if let Some(at) = open_at.filter(|&at| at > start) {
        end = end.min(at);
    }
    let base = name.get(start..end).unwrap_or(name);
    // What compilers append: `.constprop.0`, `.cold`.
    let base = base.split('.').next().unwrap_or(base).trim();
    // What the C library calls itself by.
    let base = base.strip_prefix("__GI_").unwrap_or(base);
    if base.is_empty() { name } else { base }
}

/// A function's name without the hash that older symbols of Rust end in.
pub fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((head, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => head,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::base;

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
            ("Foo::operator()(int) const", "operator()(int)"),
            ("(anonymous namespace)::make(char const*)", "make"),
            ("leak.constprop.0", "leak"),
            ("strdup", "strdup"),
            ("__GI___strdup", "__strdup"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }
}
