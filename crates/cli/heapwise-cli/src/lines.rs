//! Why places have no lines of source, and what to do about it on this machine.

use heapwise_analysis::{Analysis, Warning, WithoutLines};
use heapwise_report::units::share;

/// Of the allocations, in per cent, that a file's places without lines must have to be worth a word.
const LEAST_PERCENT: u64 = 10;
/// Files that are spoken of.
const MOST_FILES: usize = 2;

/// Adds warnings about the object files with many places that have no lines.
pub(crate) fn explain(analysis: &mut Analysis) {
    let all = analysis.totals.allocations;
    let is_much =
        |file: &WithoutLines<'_>| file.allocations > 0 && file.allocations * 100 >= all * LEAST_PERCENT;
    let files = analysis.without_lines().into_iter().filter(is_much).take(MOST_FILES);
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    // Without names the stacks do not show the language.
    let files = files.map(|file| WithoutLines {
        is_rust: file.is_rust || !file.has_names && is_of_rustc(&file.image.path),
        ..file
    });
    let files: Vec<_> = files.map(|file| (file, debug_package(&file.image.path))).collect();
    analysis.warnings.extend(warnings(&files, all, &system));
}

/// One for all files that the same can be done for, each with the package of its debug information. `all` are all allocations, and
/// `system` is the text of `/etc/os-release`.
fn warnings(files: &[(WithoutLines<'_>, Option<String>)], all: u64, system: &str) -> Vec<Warning> {
    let is_like = |(file, package): &(WithoutLines<'_>, Option<String>),
                   other: &(WithoutLines<'_>, Option<String>)| {
        match (package, &other.1) {
            (Some(_), Some(_)) => true,
            (None, None) => remedy(file, &[], system) == remedy(&other.0, &[], system),
            _ => false,
        }
    };
    let first = |at: usize| !files[..at].iter().any(|before| is_like(before, &files[at]));
    let groups = (0..files.len()).filter(|&at| first(at)).map(|at| {
        let group: Vec<_> = files[at..].iter().filter(|file| is_like(&files[at], file)).collect();
        let has = |file: &WithoutLines<'_>| {
            let what = if file.has_names { "names of functions only" } else { "no debug information" };
            format!("{} has {what}", file.image.path)
        };
        let mut packages: Vec<&str> = group.iter().filter_map(|(_, package)| package.as_deref()).collect();
        packages.dedup();
        Warning::NoLines {
            what: format!(
                "{} of the allocations are in places without lines: {}",
                share(group.iter().map(|(file, _)| file.allocations).sum(), all),
                group.iter().map(|(file, _)| has(file)).collect::<Vec<_>>().join(", ")
            ),
            remedy: remedy(&files[at].0, &packages, system),
        }
    });
    groups.collect()
}

/// The package with a file's debug information, where the system has such packages.
fn debug_package(path: &str) -> Option<String> {
    #[cfg(target_os = "linux")]
    return heapwise_symbols::debug_package(std::path::Path::new(path));
    #[cfg(not(target_os = "linux"))]
    {
        _ = path;
        None
    }
}

/// Whether the Rust compiler made a file.
fn is_of_rustc(path: &str) -> bool {
    #[cfg(target_os = "linux")]
    return heapwise_symbols::is_of_rustc(std::path::Path::new(path));
    #[cfg(not(target_os = "linux"))]
    {
        _ = path;
        false
    }
}

/// What to do for a file of a package of Python or JavaScript, which its maker has built.
fn of_ready_made(file: &WithoutLines<'_>) -> Option<String> {
    let commands = [
        ("/site-packages/", "pip install --no-binary PACKAGE PACKAGE"),
        ("/dist-packages/", "pip install --no-binary PACKAGE PACKAGE"),
        ("/node_modules/", "npm rebuild --build-from-source PACKAGE"),
    ];
    let (_, command) = commands.iter().find(|(folder, _)| file.image.path.contains(folder))?;
    let variables = match file.is_rust {
        true => "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none",
        false => "CFLAGS=-g CXXFLAGS=-g",
    };
    Some(format!("its maker left them out; a build of your own has them: {variables} {command}"))
}

/// What to do for a file, and for others like it; the packages have their debug information, and `system` is the text of
/// `/etc/os-release`.
fn remedy(file: &WithoutLines<'_>, packages: &[&str], system: &str) -> String {
    let is_installed =
        ["/usr/", "/lib", "/bin/", "/nix/", "/snap/"].iter().any(|f| file.image.path.starts_with(f));
    if let Some(remedy) = of_ready_made(file).filter(|_| packages.is_empty()) {
        return remedy;
    }
    match packages {
        [_, ..] => {
            let archive = if id_of(system) == "debian" { " of the archive debian-debug" } else { "" };
            let word = if packages.len() == 1 { "package" } else { "packages" };
            let packages = packages.join(" and ");
            format!(
                "install the {word} {packages}{archive}, or set DEBUGINFOD_URLS={} with debuginfod-find installed, and record again",
                service(system)
            )
        }
        [] if is_installed => format!(
            "install its debug information, or set DEBUGINFOD_URLS={} with debuginfod-find installed, and record again",
            service(system)
        ),
        [] if file.is_rust && file.has_names => {
            "add `debug = \"line-tables-only\"` below `[profile.release]` in Cargo.toml, and build and record again".into()
        }
        [] if file.is_rust => {
            "add `debug = \"line-tables-only\"` and `strip = \"none\"` below `[profile.release]` in Cargo.toml, and build and \
             record again"
                .into()
        }
        [] => "build it with -g (the code stays the same) and without strip, and record again".into(),
    }
}

fn id_of(system: &str) -> &str {
    system.lines().find_map(|line| line.strip_prefix("ID=")).unwrap_or_default().trim_matches('"')
}

/// Who has the debug files of a distribution.
fn service(system: &str) -> &'static str {
    match id_of(system) {
        "debian" => "https://debuginfod.debian.net",
        "ubuntu" => "https://debuginfod.ubuntu.com",
        "fedora" => "https://debuginfod.fedoraproject.org",
        "arch" => "https://debuginfod.archlinux.org",
        "opensuse-tumbleweed" => "https://debuginfod.opensuse.org",
        _ => "https://debuginfod.elfutils.org",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::Image;

    fn remedy_of(path: &str, is_rust: bool, has_names: bool, package: Option<&str>) -> String {
        let image = Image { path: path.into(), build_id: String::new() };
        let file = WithoutLines { image: &image, allocations: 1, is_rust, has_names };
        remedy(&file, package.as_slice(), "NAME=\"Debian GNU/Linux\"\nID=debian\n")
    }

    #[test]
    fn each_file_has_a_remedy_that_suits_it() {
        let git = remedy_of("/usr/bin/git", false, false, Some("git-dbgsym"));
        assert!(git.contains("git-dbgsym of the archive debian-debug"), "{git}");
        assert!(git.contains("DEBUGINFOD_URLS=https://debuginfod.debian.net"), "{git}");
        let rust = remedy_of("/home/u/target/release/app", true, true, None);
        assert!(rust.contains("`debug = \"line-tables-only\"`") && !rust.contains("strip"), "{rust}");
        assert!(remedy_of("/home/u/app", true, false, None).contains("strip = \"none\""));
        assert!(remedy_of("/home/u/app", false, true, None).contains("-g"));
        assert!(remedy_of("/usr/lib/libfoo.so", false, true, None).contains("debuginfod.debian.net"));
        let wheel = remedy_of("/v/lib/python3.11/site-packages/_duckdb.so", false, true, None);
        assert!(wheel.contains("CXXFLAGS=-g pip install --no-binary PACKAGE PACKAGE"), "{wheel}");
        let addon = remedy_of("/a/node_modules/x/build/x.node", true, true, None);
        assert!(addon.contains("CARGO_PROFILE_RELEASE_DEBUG=") && addon.contains("npm rebuild"), "{addon}");
        let of_system = "/usr/lib/python3/dist-packages/apt_pkg.so";
        assert!(remedy_of(of_system, false, true, Some("python3-apt-dbgsym")).contains("python3-apt-dbgsym"));
        assert_eq!(service("ID=\"void\"\n"), "https://debuginfod.elfutils.org");
    }
    #[test]
    fn files_with_the_same_remedy_have_one_warning() {
        let image = |path: &str| Image { path: path.into(), build_id: String::new() };
        let images = [image("/usr/lib/libgvplugin.so.6"), image("/usr/lib/libgvc.so.6"), image("/u/app")];
        let of = |packages: [Option<&str>; 3]| {
            let files = images.iter().zip(packages).map(|(image, package)| {
                let file = WithoutLines { image, allocations: 30, is_rust: false, has_names: true };
                (file, package.map(str::to_owned))
            });
            let warnings = warnings(&files.collect::<Vec<_>>(), 100, "ID=debian\n").into_iter();
            let texts = warnings.map(|warning| match warning {
                Warning::NoLines { what, remedy } => format!("{what}; {remedy}"),
                other => panic!("{other:?}"),
            });
            texts.collect::<Vec<_>>()
        };
        let same = of([Some("libgvc6-dbgsym"), Some("libgvc6-dbgsym"), None]);
        assert!(
            same[0].starts_with("60 % of")
                && same[0].contains("libgvplugin.so.6 has names of functions only, ")
        );
        assert!(same[0].contains("install the package libgvc6-dbgsym of"), "{same:?}");
        assert!(same.len() == 2 && same[1].contains("/u/app has") && same[1].contains("-g"), "{same:?}");
        let two = of([Some("a-dbgsym"), None, Some("b-dbgsym")]);
        assert!(two[0].contains("install the packages a-dbgsym and b-dbgsym of"), "{two:?}");
    }
}
