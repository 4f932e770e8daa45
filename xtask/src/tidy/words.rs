//! What is meant for later, or for one machine only, does not belong into the repository.

use super::Problem;
use super::code::has_word;
use super::tree::Tree;

/// Words that mark unfinished code. They are put together here, or this file would be the first one to be found.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// Folders of one machine.
const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Where packages come from is a setting of each machine. Lock files are cargo's and npm's own.
const HOSTS: &[&str] = &[concat!("crates", ".io"), concat!("npmjs", ".org"), concat!("py", "pi.org")];

/// Example paths in these are part of the tests.
const NAMELESS: &[&str] = &["user", "me", "you", "u"];

/// Finds such words in all text files.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.all() {
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = UNFINISHED.iter().find(|word| has_word(line, word)) {
                problems.push(Problem::at(path, number, format!("finish it, or open an issue: {word}")));
            }
            if let Some(folder) = FOLDERS.iter().find(|folder| is_somebodys(line, folder)) {
                problems.push(Problem::at(path, number, format!("a path of one machine: {folder}")));
            }
            if !is_lock(path)
                && let Some(host) = HOSTS.iter().find(|host| line.contains(**host))
            {
                problems.push(Problem::at(path, number, format!("a host of packages: {host}")));
            }
        }
    }
    problems
}

fn is_lock(path: &str) -> bool {
    path.ends_with(".lock") || path.ends_with("package-lock.json")
}

/// Whether a path in the line begins with the folder, and does not go on with a name that stands for any user.
fn is_somebodys(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let inside_a_path = line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        let rest = &line[at + folder.len()..];
        let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        !inside_a_path && !NAMELESS.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn unfinished_code_own_folders_and_hosts_are_found() {
        let unfinished = format!("fn f() {{}}\n// {}: more\n", UNFINISHED[0]);
        let own = format!("cd {}src", FOLDERS[0]);
        let anybodys = format!("{}me/src and a{}x, MASTO{}S", FOLDERS[1], FOLDERS[1], UNFINISHED[0]);
        let host = format!("from https://{}", HOSTS[0]);
        let tree = Tree::from([
            ("a.rs", unfinished.as_str()),
            ("b.md", &own),
            ("c.rs", &anybodys),
            ("d.toml", &host),
            ("Cargo.lock", &host),
        ]);
        let found = lines(&check(&tree));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[2].starts_with("d.toml:1: a host"), "{found:?}");
        assert!(found[0].starts_with("a.rs:2: ") && found[1].starts_with("b.md:1: "), "{found:?}");
    }
}
