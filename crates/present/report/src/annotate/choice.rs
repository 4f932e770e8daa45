//! Which file a path on the command line means.

use heapwise_diagnosis::FileCosts;

/// What a path means.
#[derive(Clone, Debug)]
pub enum Choice<'f, 'a> {
    One(&'f FileCosts<'a>),
    /// No file of the recording.
    None,
    /// Files that all end with it.
    Several(Vec<&'a str>),
}

/// Finds a file by its path, or by the end of its path. `real` is what the path leads to from the current folder, if there is such a
/// file: it decides between several.
pub fn choose<'f, 'a>(files: &'f [FileCosts<'a>], wanted: &str, real: Option<&str>) -> Choice<'f, 'a> {
    // Tables shorten long paths in this way.
    let end = wanted.trim_start_matches("./").trim_start_matches("…/");
    let exact = files.iter().find(|file| Some(file.path) == real || file.path == wanted);
    if let Some(file) = exact {
        return Choice::One(file);
    }
    let ends = |path: &str| path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let found: Vec<_> = files.iter().filter(|file| !end.is_empty() && ends(file.path)).collect();
    match found.as_slice() {
        [] => Choice::None,
        [one] => Choice::One(one),
        several => Choice::Several(several.iter().map(|file| file.path).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::owner::Owner;
    use heapwise_diagnosis::Costs;

    fn file(path: &'static str) -> FileCosts<'static> {
        let (own, whole) = (Costs::default(), Costs::default());
        FileCosts { path, owner: Owner::User, module: None, own, whole, lines: Vec::new() }
    }

    #[test]
    fn the_end_of_a_path_is_enough_if_it_is_that_of_one_file() {
        let files = ["/u/app/src/main.rs", "/u/lib/src/main.rs", "/u/app/src/domain.rs", "rel.c"].map(file);
        let of = |wanted: &str, real: Option<&str>| match choose(&files, wanted, real) {
            Choice::One(file) => file.path.to_owned(),
            Choice::None => "none".to_owned(),
            Choice::Several(paths) => paths.join(" "),
        };
        assert_eq!(of("app/src/main.rs", None), "/u/app/src/main.rs");
        assert_eq!(of("domain.rs", None), "/u/app/src/domain.rs");
        assert_eq!(of("…/src/domain.rs", None), "/u/app/src/domain.rs");
        assert_eq!(of("main.rs", None), "/u/app/src/main.rs /u/lib/src/main.rs");
        assert_eq!(of("./src/main.rs", Some("/u/lib/src/main.rs")), "/u/lib/src/main.rs");
        assert_eq!(of("in.rs", None), "none", "a part of a name is no name");
        assert_eq!(
            (of("rel.c", None), of("", None), of("./", None)),
            ("rel.c".into(), "none".into(), "none".into())
        );
    }
}
