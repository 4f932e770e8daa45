//! The sources of the standard library, which have to be of exactly the compiler's version.

use super::{quietly, rustup};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Suites of Debian that have newer compilers than its stable release.
const NEWER_SUITES: &[&str] = &["trixie-backports", "forky", "sid", "experimental"];

/// The folder `library` of the sources of this version.
pub(super) fn find(version: &str, folder: &Path, may_install: bool) -> Result<PathBuf> {
    let sysroot =
        quietly(Command::new("rustc").args(["--print", "sysroot"]).current_dir(crate::cargo::root()))?;
    let of_rustup = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    let of_debian = |root: &Path| root.join(format!("usr/src/rustc-{version}/library"));
    let fetched = folder.join("rust-src");
    let places = [of_rustup.clone(), of_debian(Path::new("/")), of_debian(&fetched)];
    if let Some(there) = places.into_iter().find(|place| is_library(place)) {
        return Ok(there);
    }
    if may_install && rustup(&["component", "add", "rust-src"]) && is_library(&of_rustup) {
        return Ok(of_rustup);
    }
    if may_install {
        fetch(version, &fetched)?;
        if is_library(&of_debian(&fetched)) {
            return Ok(of_debian(&fetched));
        }
    }
    bail!(
        "there is no standard library for {}: `rustup target add {0}`, or the sources of Rust {version} (`rustup \
         component add rust-src`, or Debian's package rust-src of that version)",
        super::TARGET
    )
}

fn is_library(folder: &Path) -> bool {
    folder.join("std/Cargo.toml").exists()
}

/// Unpacks Debian's package of this version, from whichever newer suite has it, without installing anything: the system's
/// own sources of packages stay as they are.
fn fetch(version: &str, into: &Path) -> Result<()> {
    let Some(mirror) = sources().iter().find_map(|text| mirror(text)) else { return Ok(()) };
    for suite in NEWER_SUITES {
        eprintln!("xtask: looking for rust-src {version} in {suite}");
        let apt = Apt::new(into, &mirror, suite)?;
        // A suite that cannot be read is one that does not have it.
        let Ok(listing) = apt.update().and_then(|()| apt.versions()) else { continue };
        let Some(package) = package_of(&listing, version) else { continue };
        apt.download(&format!("rust-src={package}"), into)?;
        let files = std::fs::read_dir(into)?.flatten().map(|file| file.path());
        let file = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "deb"));
        let file = file.context("apt-get downloaded nothing")?;
        quietly(Command::new("dpkg").arg("-x").arg(&file).arg(into))?;
        return std::fs::remove_file(&file).context("cannot tidy up");
    }
    Ok(())
}

/// apt with separate folders.
struct Apt(PathBuf);

impl Apt {
    fn new(folder: &Path, mirror: &str, suite: &str) -> Result<Self> {
        let own = folder.join("apt").join(suite);
        for part in ["lists/partial", "archives/partial"] {
            std::fs::create_dir_all(own.join(part))
                .with_context(|| format!("cannot make {}", own.display()))?;
        }
        let signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
        std::fs::write(own.join("sources.list"), format!("deb {signed} {mirror} {suite} main\n"))?;
        Ok(Self(own))
    }

    fn update(&self) -> Result<()> {
        quietly(self.command("apt-get").args(["update", "--error-on=any"])).map(drop)
    }

    fn versions(&self) -> Result<String> {
        quietly(self.command("apt-cache").args(["madison", "rust-src"]))
    }

    fn download(&self, package: &str, into: &Path) -> Result<()> {
        quietly(self.command("apt-get").args(["download", package]).current_dir(into)).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let mut apt = Command::new(program);
        let option = |name: &str, value: &Path| format!("-oDir::{name}={}", value.display());
        apt.arg(option("Etc::SourceList", &self.0.join("sources.list")));
        apt.arg(option("Etc::SourceParts", Path::new("-")));
        apt.arg(option("State::Lists", &self.0.join("lists")));
        apt.arg(option("Cache::Archives", &self.0.join("archives")));
        // By default apt switches to another user, who may not be able to read all folders.
        apt.arg("-oAPT::Sandbox::User=");
        apt
    }
}

/// The files with the places that apt fetches packages from.
fn sources() -> Vec<String> {
    let folder = Path::new("/etc/apt");
    let parts = std::fs::read_dir(folder.join("sources.list.d")).into_iter().flatten().flatten();
    let files = parts.map(|part| part.path()).chain([folder.join("sources.list")]);
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

/// The mirror of Debian that a file of sources names, in either of the two forms.
fn mirror(sources: &str) -> Option<String> {
    let words = sources.lines().filter(|line| line.starts_with("URIs:") || line.starts_with("deb "));
    let is_debian = |word: &&str| word.contains("://") && word.trim_end_matches('/').ends_with("/debian");
    words.flat_map(str::split_whitespace).find(is_debian).map(str::to_owned)
}

/// The package's version for a version of Rust, of what `apt-cache madison` lists: `rust-src | 1.95.0+dfsg1-1~bpo13+1 | …`.
fn package_of(listing: &str, version: &str) -> Option<String> {
    let versions = listing.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim()));
    let is_it =
        |package: &&str| package.strip_prefix(version).is_some_and(|rest| rest.starts_with(['+', '-', '~']));
    versions.into_iter().find(is_it).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_and_no_other() {
        let new = "Types: deb\nURIs: http://mirror.example/debian-security\n\nURIs: http://mirror.example/debian/\n";
        assert_eq!(mirror(new).as_deref(), Some("http://mirror.example/debian/"));
        let old = "# deb http://old.example/debian x main\ndeb [arch=amd64] https://mirror.example/debian stable main\n";
        assert_eq!(mirror(old).as_deref(), Some("https://mirror.example/debian"));
        assert_eq!(mirror("deb https://mirror.example/ubuntu noble main\n"), None);
    }

    #[test]
    fn only_the_same_version_will_do() {
        let listing = "  rust-src | 1.95.10+dfsg1-1 | http://m sid/main\n  rust-src | 1.95.1+dfsg1-1~bpo13+1 | http://m x\n";
        assert_eq!(package_of(listing, "1.95.1").as_deref(), Some("1.95.1+dfsg1-1~bpo13+1"));
        assert_eq!(package_of(listing, "1.95"), None);
    }
}
