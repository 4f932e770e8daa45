//! Why places have no lines of source, and what to do about it on this machine.

use heapwise_analysis::{Analysis, Warning, WithoutLines};
use heapwise_report::units::share;

/// Of the allocations, in per cent, that a file's places without lines must have to be worth a word.
const LEAST_PERCENT: u64 = 10;
/// Files that are spoken of.
const MOST_FILES: usize = 2;

/// Adds a warning for each object file with many places that have no lines.
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
    let warnings: Vec<Warning> = files
        .map(|file| Warning::NoLines {
            what: format!(
                "{} of the allocations are in places without lines: {} has {}",
                share(file.allocations, all),
                file.image.path,
                if file.has_names { "names of functions only" } else { "no debug information" }
            ),
            remedy: remedy(&file, debug_package(&file.image.path), &system),
        })
        .collect();
    analysis.warnings.extend(warnings);
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

/// What to do for a file; `package` has its debug information, and `system` is the text of `/etc/os-release`.
fn remedy(file: &WithoutLines<'_>, package: Option<String>, system: &str) -> String {
    let is_installed =
        ["/usr/", "/lib", "/bin/", "/nix/", "/snap/"].iter().any(|f| file.image.path.starts_with(f));
    if let Some(remedy) = of_ready_made(file).filter(|_| package.is_none()) {
        return remedy;
    }
    match package {
        Some(package) => {
            let archive = if id_of(system) == "debian" { " of the archive debian-debug" } else { "" };
            format!(
                "install the package {package}{archive}, or set DEBUGINFOD_URLS={} with debuginfod-find installed, and record again",
                service(system)
            )
        }
        None if is_installed => format!(
            "install its debug information, or set DEBUGINFOD_URLS={} with debuginfod-find installed, and record again",
            service(system)
        ),
        None if file.is_rust && file.has_names => {
            "add `debug = \"line-tables-only\"` below `[profile.release]` in Cargo.toml, and build and record again".into()
        }
        None if file.is_rust => {
            "add `debug = \"line-tables-only\"` and `strip = \"none\"` below `[profile.release]` in Cargo.toml, and build and \
             record again"
                .into()
        }
        None => "build it with -g (the code stays the same) and without strip, and record again".into(),
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
        remedy(&file, package.map(str::to_owned), "NAME=\"Debian GNU/Linux\"\nID=debian\n")
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
}
