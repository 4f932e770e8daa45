//! Which package of Debian a file is from, and the one that has its debug information.
//!
//! No program is asked: the lists of files that dpkg keeps are read, as far as that is little.

use std::fs;
use std::io::Read;
use std::path::Path;

/// Where dpkg keeps a list of the files of each package.
const LISTS: &str = "/var/lib/dpkg/info";
/// More lists than any installation has, and more bytes than all of them together.
const MOST_LISTS: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;

/// The name of the package with the debug information of a file, if Debian's dpkg installed the file.
pub fn debug_package(path: &Path) -> Option<String> {
    owner_of(Path::new(LISTS), path).map(|package| debug_name(&package))
}

/// The package that has a file in its list.
fn owner_of(lists: &Path, path: &Path) -> Option<String> {
    let path = path.to_str()?;
    // Lists have the names from before `/lib` and `/bin` became links into `/usr`.
    let older = path.strip_prefix("/usr").filter(|rest| rest.starts_with("/lib") || rest.starts_with("/bin"));
    let newer = format!("/usr{path}");
    let is_it = |line: &[u8]| {
        line == path.as_bytes()
            || line == newer.as_bytes()
            || older.is_some_and(|older| line == older.as_bytes())
    };
    let mut left = MOST_BYTES;
    for entry in fs::read_dir(lists).ok()?.take(MOST_LISTS).flatten() {
        let name = entry.file_name();
        let Some(package) = name.to_str().and_then(|name| name.strip_suffix(".list")) else { continue };
        let mut bytes = Vec::new();
        let Ok(file) = fs::File::open(entry.path()) else { continue };
        if file.take(left).read_to_end(&mut bytes).is_err() {
            continue;
        }
        left = left.saturating_sub(bytes.len() as u64);
        if bytes.split(|byte| *byte == b'\n').any(is_it) {
            // `libc6:amd64`
            return Some(package.split(':').next().unwrap_or(package).to_owned());
        }
        if left == 0 {
            return None;
        }
    }
    None
}

/// By the rule of the archive, and for the few packages that are older than the rule.
fn debug_name(package: &str) -> String {
    match package {
        "libc6" | "libc-bin" => "libc6-dbg".to_owned(),
        _ if package.starts_with("python3.") || package.starts_with("libpython3.") => {
            let version = package.trim_start_matches("lib").split('-').next().unwrap_or(package);
            format!("{version}-dbg")
        }
        _ => format!("{package}-dbgsym"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_a_file_is_found_by_the_lists() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("git.list", "/.\n/usr\n/usr/bin\n/usr/bin/git\n");
        write("libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n");
        write("git.md5sums", "/usr/bin/other\n");
        let of = |path: &str| owner_of(folder.path(), Path::new(path));
        assert_eq!(of("/usr/bin/git").as_deref(), Some("git"));
        assert_eq!(of("/usr/lib/x86_64-linux-gnu/libc.so.6").as_deref(), Some("libc6"));
        assert_eq!(of("/bin/git").as_deref(), Some("git"));
        assert_eq!(of("/usr/bin/other"), None);
        assert_eq!(of("/usr/bin/gi"), None);
        assert_eq!(owner_of(&folder.path().join("absent"), Path::new("/usr/bin/git")), None);
    }

    #[test]
    fn packages_with_debug_information_have_their_names() {
        assert_eq!(debug_name("git"), "git-dbgsym");
        assert_eq!(debug_name("libc6"), "libc6-dbg");
        assert_eq!(debug_name("python3.11-minimal"), "python3.11-dbg");
        assert_eq!(debug_name("libpython3.11"), "python3.11-dbg");
    }
}
