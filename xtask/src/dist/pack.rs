//! Packs a folder. All files belong to root, have the time of the commit, and are in the order of their names.

use super::{Package, fresh, version};
use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compressed archive beside the folder.
pub(super) fn tar(tree: &Path) -> Result<PathBuf> {
    let (parent, name) = place(tree)?;
    let archive = parent.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -9n"]);
    tar.arg(format!("--mtime=@{}", time()));
    tar.arg("-cf").arg(&archive).arg("-C").arg(parent).arg(name);
    start(&mut tar)?;
    Ok(archive)
}

/// A package of Debian: the folder as `/usr`.
pub(super) fn deb(package: Package, tree: &Path, folder: &Path) -> Result<PathBuf> {
    let name = package.name();
    let root = folder.join(format!("deb-{name}"));
    fresh(&root)?;
    start(Command::new("cp").arg("-a").arg(tree).arg(root.join("usr")))?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control)?;
    let doc = root.join("usr/share/doc").join(name);
    fs::write(doc.join("copyright"), fs::read(cargo::root().join("LICENSE-MIT"))?)?;
    fs::write(control.join("control"), about(package, kibibytes(&root.join("usr"))?))?;
    normal_modes(&root)?;
    let file = folder.join(format!("{name}_{}_amd64.deb", version()));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zgzip", "--build"]).arg(&root).arg(&file);
    start(build.env("SOURCE_DATE_EPOCH", time()))?;
    Ok(file)
}

/// An archive for Windows.
pub(super) fn zip(tree: &Path) -> Result<PathBuf> {
    let (parent, name) = place(tree)?;
    let archive = parent.join(format!("{name}.zip"));
    // It adds to an archive that is there.
    let _ = fs::remove_file(&archive);
    start(Command::new("zip").args(["-q", "-X", "-r"]).arg(&archive).arg(name).current_dir(parent))?;
    Ok(archive)
}

/// What dpkg wants to know.
fn about(package: Package, kibibytes: u64) -> String {
    let (name, version) = (package.name(), version());
    let (depends, description) = match package {
        Package::Heapwise => (
            String::new(),
            "heap performance tool for native programs\n Records every allocation of a program with its stack, says \
             why it is slow or big,\n replays it under other allocators, and guards it in tests.",
        ),
        Package::Fleet => (
            format!(", heapwise (= {version})"),
            "questions about many recordings of heapwise\n Keeps tables of recordings of many hosts, and answers \
             questions in SQL\n and in a browser: heapwise query, heapwise fleet.",
        ),
    };
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: the heapwise developers <heapwise@localhost>\n\
         Installed-Size: {kibibytes}\nDepends: libc6 (>= 2.34), libgcc-s1{depends}\nSection: devel\nPriority: optional\n\
         Description: {description}\n"
    )
}

/// What all files of a folder take.
fn kibibytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => kibibytes(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(1024),
        };
    }
    Ok(sum)
}

/// Readable by all, whatever the umask was.
fn normal_modes(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            normal_modes(&path)?;
        } else {
            let is_program = path.parent().is_some_and(|parent| parent.ends_with("bin"));
            fs::set_permissions(&path, fs::Permissions::from_mode(if is_program { 0o755 } else { 0o644 }))?;
        }
    }
    Ok(())
}

/// The time of the commit, in seconds; of a copy without history the first one.
fn time() -> String {
    let git = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(cargo::root()).output();
    let text = git.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
    if text.trim().is_empty() { "0".to_owned() } else { text.trim().to_owned() }
}

fn place(tree: &Path) -> Result<(&Path, &str)> {
    let name = tree.file_name().and_then(|name| name.to_str()).context("a folder with a name")?;
    Ok((tree.parent().context("a folder in another one")?, name))
}

fn start(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} ended with {}:\n{errors}", output.status);
    Ok(())
}
