//! Paths of source files, in the one form in which they are compared and shown.

/// Removes `.`, empty parts, and `..` together with the part before it.
///
/// This only looks at the text, as the file may not exist on this machine. A path through a symbolic link may so come
/// out as another one, which is the lesser evil: `/home/u/build/../src/main.c` is unreadable, and two units that were
/// compiled in two directories would name one file in two ways.
pub(crate) fn normalise(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let mut normal = String::with_capacity(path.len());
    for part in parts {
        if is_absolute || !normal.is_empty() {
            normal.push('/');
        }
        normal.push_str(part);
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(normalise(path), expected);
    }

    #[test]
    fn paths_have_one_form() {
        check("/home/u/src/main.c", "/home/u/src/main.c");
        check("/home/u/./src//main.c", "/home/u/src/main.c");
        check("/home/u/build/../src/main.c", "/home/u/src/main.c");
        check("/../etc", "/etc");
        check("../a/../b.c", "../b.c");
        check("../../b.c", "../../b.c");
        check("main.c", "main.c");
        check("", "");
        check("/rustc/0123abcd/library/core/src/fmt/mod.rs", "/rustc/0123abcd/library/core/src/fmt/mod.rs");
    }
}
