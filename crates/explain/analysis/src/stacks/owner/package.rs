//! Which package a frame's code is of, where that is not the program's own.

/// A package as its users know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Package<'a> {
    /// `regex-automata`, `github.com/spf13/cobra`, `libglib-2.0.so.0`.
    pub name: &'a str,
    /// Its version or revision, where the path of a source file has it.
    pub version: Option<&'a str>,
}

impl std::fmt::Display for Package<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            Some(version) => write!(f, "{} {version}", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl Package<'_> {
    /// Whether it seems to come from the same repository as a program: `taplo` as `taplo-cli`; with the same version also
    /// `typst-layout` as `typst-cli`.
    pub(crate) fn is_released_with(&self, program: &Package<'_>) -> bool {
        let ends = ["-cli", "_cli", "-bin", "_bin"];
        let stem = ends.iter().find_map(|end| program.name.strip_suffix(end));
        if stem == Some(self.name) {
            return true;
        }
        let rest = self.name.strip_prefix(stem.unwrap_or(program.name));
        let is_sister = rest.is_some_and(|rest| rest.starts_with(['-', '_']));
        is_sister && self.version.is_some() && self.version == program.version
    }
}

/// The package of a source file, as the folders of package managers have it; else the object file as a whole.
pub fn package_of<'a>(file: Option<&'a str>, module: Option<&'a str>) -> Option<Package<'a>> {
    if let Some((package, _)) = file.and_then(of_source) {
        return Some(package);
    }
    // What was fetched and compiled into a program is not the program.
    let name = module.filter(|_| !file.is_some_and(is_fetched)).map(file_name)?;
    (!name.is_empty()).then_some(Package { name, version: None })
}

/// The package of a source file, and the folder in which all of its files are.
pub(crate) fn of_source(file: &str) -> Option<(Package<'_>, &str)> {
    cargo_registry(file).or_else(|| cargo_git(file)).or_else(|| go_module(file))
}

/// `…/registry/src/packages-1949cf8c6b5b557f/regex-automata-0.4.9/src/meta.rs`.
fn cargo_registry(file: &str) -> Option<(Package<'_>, &str)> {
    const FOLDER: &str = "/registry/src/";
    let at = file.find(FOLDER)? + FOLDER.len();
    let folder = at + file[at..].find('/')? + 1;
    let end = folder + file[folder..].find('/')?;
    let full = &file[folder..end];
    // Names may have numbers, too: `md-5-0.10.6`.
    let starts = full.match_indices('-').map(|(at, _)| at);
    let split = starts.into_iter().find(|at| {
        let major = full[at + 1..].split_once('.').map(|(major, _)| major);
        major.is_some_and(|major| !major.is_empty() && major.bytes().all(|b| b.is_ascii_digit()))
    });
    let package = match split {
        Some(at) => Package { name: &full[..at], version: Some(&full[at + 1..]) },
        None => Package { name: full, version: None },
    };
    (!full.is_empty()).then_some((package, &file[..end]))
}

/// `…/git/checkouts/serde-3f2ac6b4b1b1b1b1/1a2b3c4/src/lib.rs`.
fn cargo_git(file: &str) -> Option<(Package<'_>, &str)> {
    const FOLDER: &str = "/git/checkouts/";
    let at = file.find(FOLDER)? + FOLDER.len();
    let mut parts = file[at..].split('/');
    let (folder, revision) = (parts.next()?, parts.next()?);
    let name = folder.rsplit_once('-').map_or(folder, |(name, _)| name);
    let end = at + folder.len() + 1 + revision.len();
    Some((Package { name, version: Some(revision) }, &file[..end]))
}

/// `…/pkg/mod/github.com/spf13/cobra@v1.8.0/command.go`.
fn go_module(file: &str) -> Option<(Package<'_>, &str)> {
    const FOLDER: &str = "/pkg/mod/";
    let at = file.find(FOLDER)? + FOLDER.len();
    let (name, rest) = file[at..].split_once('@')?;
    let version = rest.split('/').next()?;
    let end = at + name.len() + 1 + version.len();
    Some((Package { name, version: Some(version) }, &file[..end]))
}

/// Crates of collections, strings and pointers, which allocate what their caller puts into them as those of the standard library do.
pub(crate) fn is_of_collections(file: &str) -> bool {
    const NAMES: &str = "allocator-api2 arcstr bytes compact_str dashmap ecow either hashbrown hashlink hipstr im im-rc indexmap itertools kstring \
                         linked-hash-map lru ordermap priority-queue rpds servo_arc slab slotmap smallvec smartstring smol_str thin-vec \
                         tinyvec triomphe";
    let is_known = |name: &str| NAMES.split_ascii_whitespace().any(|known| known == name);
    cargo_registry(file).is_some_and(|(package, _)| is_known(package.name))
}

/// Whether a file of source code was fetched by a package manager that is not cargo.
pub(crate) fn is_fetched(file: &str) -> bool {
    go_module(file).is_some()
        || ["/vcpkg_installed/", "/vcpkg/buildtrees/", "/.conan/data/", "/.conan2/p/"]
            .iter()
            .any(|folder| file.contains(folder))
}

/// Whether an object file was installed by the system, and its code is not of a tree that someone works in.
pub(crate) fn is_installed(file: Option<&str>, module: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "/usr/lib",
        "/usr/bin/",
        "/usr/sbin/",
        "/usr/share/",
        "/usr/games/",
        "/lib",
        "/bin/",
        "/sbin/",
        "/nix/store/",
        "/gnu/store/",
        "/snap/",
    ];
    // Where package managers of interpreters put modules, which come compiled.
    const PARTS: &[&str] = &["/site-packages/", "/dist-packages/", "/node_modules/"];
    // Where distributions build: paths that were made relative, and folders that only their machines have.
    const BUILDS: &[&str] = &["/build/", "/builddir/", "/usr/src/", "/usr/include/", "/buildworker/"];
    let is_there = FOLDERS.iter().any(|folder| module.starts_with(folder))
        || PARTS.iter().any(|part| module.contains(part));
    is_there
        && file
            .is_none_or(|file| !file.starts_with('/') || BUILDS.iter().any(|build| file.starts_with(build)))
}

/// Whether an object file is an interpreter or a virtual machine, or a part of one, of which its user writes programs but not the code.
pub(crate) fn is_interpreter(file: Option<&str>, module: &str) -> bool {
    const NAMES: &[&str] = &[
        "python",
        "libpython",
        "pypy",
        "libpypy",
        "perl",
        "libperl",
        "ruby",
        "libruby",
        "node",
        "libnode",
        "php",
        "php-fpm",
        "libphp",
        "lua",
        "liblua",
        "luajit",
        "libluajit",
        "java",
        "libjvm",
        "R",
        "libR",
        "beam.smp",
        "julia",
        "libjulia",
        "libjulia-internal",
        "guile",
        "libguile",
        "deno",
        "bun",
        "mono",
        "libcoreclr",
        "dotnet",
        "tclsh",
        "libtcl",
        "octave-cli",
    ];
    let name = file_name(module);
    let name = name.split_once(".so").map_or(name, |(name, _)| name);
    // What is left of `python3.11` and `libjulia-internal.so.1.10` has no version.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    // What Python's own modules are in: `_ctypes` calls a library, which has more to say of what it does. Of those without lines nothing
    // but the file says what they are about.
    let is_part = file.is_some() && module.contains("/lib-dynload/");
    let is_named = NAMES.contains(&name) || NAMES.contains(&bare);
    (is_named || is_part) && !file.is_some_and(|file| is_beside(file, module))
}

/// Whether a source file and an object file are in the same tree, as where someone builds what he changes.
fn is_beside(file: &str, module: &str) -> bool {
    let common = file.split('/').zip(module.split('/')).take_while(|(a, b)| a == b).count();
    // The first part of an absolute path is empty: `/home/me/cpython` has four.
    file.starts_with('/') && common >= 4
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_names_and_versions() {
        let cases = [
            ("/r/.cargo/registry/src/packages-19/regex-automata-0.4.9/src/a.rs", "regex-automata 0.4.9"),
            ("/r/registry/src/i/md-5-0.10.6/src/a.rs", "md-5 0.10.6"),
            ("/r/registry/src/i/x-1.0.0-beta.1/src/a.rs", "x 1.0.0-beta.1"),
            ("/r/.cargo/git/checkouts/serde-3f2ac6/1a2b3c4/src/lib.rs", "serde 1a2b3c4"),
            ("/g/pkg/mod/github.com/spf13/cobra@v1.8.0/command.go", "github.com/spf13/cobra v1.8.0"),
            ("/home/u/src/main.rs", "app"),
        ];
        for (file, expected) in cases {
            let package = package_of(Some(file), Some("/home/u/app"));
            assert_eq!(package.map(|p| p.to_string()).as_deref(), Some(expected), "{file}");
        }
        let library = package_of(None, Some("/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0"));
        assert_eq!(library.map(|p| p.to_string()).as_deref(), Some("libglib-2.0.so.0"));
        assert_eq!(package_of(Some("a.c"), None), None);
        assert_eq!(package_of(Some("/u/build/vcpkg_installed/x/include/fmt/format.h"), Some("/u/app")), None);
        let (_, root) = of_source(cases[0].0).expect("it has a package");
        assert_eq!(root, "/r/.cargo/registry/src/packages-19/regex-automata-0.4.9");
    }

    #[test]
    fn what_the_system_installed_is_no_ones_own() {
        let installed = |file: &str, module| is_installed((!file.is_empty()).then_some(file), module);
        assert!(installed("", "/usr/bin/git") && installed("./src/pager.c", "/usr/bin/git"));
        assert!(installed("/build/git-2.39/pager.c", "/usr/lib/git-core/git"));
        // A container may have the program there.
        assert!(!installed("/app/src/main.c", "/usr/bin/app"));
        assert!(!installed("", "/home/u/app") && !installed("", "/usr/local/bin/app"));
    }

    #[test]
    fn packages_that_are_released_together_are_known() {
        let package = |text: &'static str| {
            let (name, version) = text.split_once(' ').expect("a version");
            Package { name, version: Some(version) }
        };
        let are = |a, b| package(a).is_released_with(&package(b));
        assert!(are("numbat 1.24.0", "numbat-cli 1.24.0") && are("taplo 0.14.0", "taplo-cli 0.10.0"));
        assert!(are("typst-layout 0.13.1", "typst-cli 0.13.1") && are("boa_engine 0.20.0", "boa_cli 0.20.0"));
        assert!(are("deno_core 2.1.0", "deno 2.1.0"));
        assert!(!are("typst-syntax 0.12.0", "typst-cli 0.13.1"), "fetched by itself");
        assert!(!are("numbatic 1.24.0", "numbat-cli 1.24.0") && !are("rowan 0.10.0", "taplo-cli 0.10.0"));
    }

    #[test]
    fn interpreters_are_known_unless_they_are_being_built() {
        let of = |file: &str, module| is_interpreter((!file.is_empty()).then_some(file), module);
        for module in [
            "/usr/local/bin/python3.11",
            "/r/.pyenv/versions/3.12.1/lib/libpython3.12.so.1.0",
            "/opt/node/bin/node",
            "/opt/lib/libruby-3.1.so.3.1",
            "/opt/julia/lib/libjulia-internal.so.1.10",
            "/opt/php8.2",
        ] {
            assert!(of("", module), "{module}");
        }
        assert!(of("/tmp/python-build/Objects/listobject.c", "/r/.pyenv/versions/3.12.1/bin/python3.12"));
        let ctypes =
            "/r/.pyenv/versions/3.12.1/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so";
        assert!(of("/tmp/python-build/Modules/_ctypes/callproc.c", ctypes) && !of("", ctypes));
        assert!(!of("/home/u/cpython/Objects/listobject.c", "/home/u/cpython/python"));
        for module in ["/home/u/pythonic", "/home/u/nodes", "/home/u/app", "/home/u/perldoc-server"] {
            assert!(!of("", module), "{module}");
        }
    }
}
