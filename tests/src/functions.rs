//! Plain names of functions: without parameters, modules and what compilers append.

/// The plain name in a demangled one: `leak` of `(anonymous namespace)::leak(int)`, of `program::leak::<u8>` and of
/// `leak.constprop.0`.
pub fn plain(name: &str) -> &str {
    let mut start = 0;
    let mut depth = 0usize;
    let mut end = name.len();
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            // Parameters end the name, unless a namespace without a name is in the parentheses.
            b'(' if depth == 0 && !name[at..].starts_with("(anonymous namespace)") => {
                end = at;
                break;
            }
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && name[at..].starts_with("::") => {
                // Generic arguments, and the closures of a function, belong to the name before.
                if name[at + 2..].starts_with(['<', '{']) {
                    end = at;
                    break;
                }
                at += 1;
                start = at + 1;
            }
            // A C++ function template names its result first.
            b' ' if depth == 0 => start = at + 1,
            _ => {}
        }
        at += 1;
    }
    let name = &name[start..end];
    let name = name.split('<').next().unwrap_or(name);
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_of_three_languages_become_plain() {
        for (full, expected) in [
            ("leak", "leak"),
            ("leak.constprop.0", "leak"),
            ("leak(int, char const*)", "leak"),
            ("(anonymous namespace)::leak(int)", "leak"),
            ("space::Class<int>::leak()", "leak"),
            ("void* leak<int>(int)", "leak"),
            ("program::leak", "leak"),
            ("program::leak::<u8>", "leak"),
            ("program::leak::{closure#0}", "leak"),
            ("program::leak::{{closure}}", "leak"),
            ("<program::Tail as core::ops::drop::Drop>::drop", "drop"),
        ] {
            assert_eq!(plain(full), expected, "{full}");
        }
    }
}
