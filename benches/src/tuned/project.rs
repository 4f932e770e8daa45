//! A fresh project with a service's source, without the fix and with it.

use super::promise::Fix;
use super::services::Service;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A lint level that refuses unsafe code. Setting an allocator's options needs it, and the fix mentions that.
const FORBIDS: &str = "#![forbid(unsafe_code)]";

/// Where a service's package is.
pub(super) fn source(service: &Service) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(service.package)
}

/// Builds both, and returns the programs: without the fix, and with it.
pub(super) fn build(service: &Service, fix: &Fix<'_>, folder: &Path) -> Result<[PathBuf; 2]> {
    let nothing = Fix { cargo: &[], rust: &[] };
    Ok([one(service, "without", &nothing, folder)?, one(service, "with", fix, folder)?])
}

fn one(service: &Service, which: &str, fix: &Fix<'_>, folder: &Path) -> Result<PathBuf> {
    let project = folder.join("projects").join(format!("{}-{which}", service.name));
    let _ = fs::remove_dir_all(&project);
    let source = source(service);
    copy(&source.join("src"), &project.join("src"))?;
    let manifest = fs::read_to_string(source.join("Cargo.toml"))?;
    fs::write(project.join("Cargo.toml"), self::manifest(service.package, &manifest, fix.cargo))?;
    let main = project.join("src/main.rs");
    fs::write(&main, self::main(&fs::read_to_string(&main)?, fix.rust))?;
    eprintln!("bench:   {}: building it {which} the fix", service.name);
    // What projects have in common is built once.
    let target = folder.join("projects/target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--bin", service.package, "--target-dir"])
        .arg(&target)
        .current_dir(&project)
        .output()
        .context("cannot run cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the project {which} the fix does not build:\n{said}");
    // The next one has a program of the same name.
    let program = project.join(service.package);
    fs::copy(target.join("release").join(service.package), &program)?;
    Ok(program)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// A separate manifest with the package's dependencies, and the lines of the fix below them as they were printed.
fn manifest(package: &str, original: &str, fix: &[String]) -> String {
    let is_head = |line: &&str| line.starts_with('[');
    let dependencies = original.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let dependencies: Vec<&str> = dependencies.take_while(|line| !is_head(line)).collect();
    // Not a member of the workspace below whose folder it may be.
    format!(
        "[package]\nname = {package:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{}\n{}\n",
        dependencies.join("\n").trim_end(),
        fix.join("\n")
    )
}

/// The main file with the lines of the fix, as they were printed, below what has to stand at its top.
fn main(original: &str, fix: &[String]) -> String {
    let is_top = |line: &&str| line.is_empty() || line.starts_with("//!") || line.starts_with("#![");
    let top: Vec<&str> = original.lines().take_while(is_top).collect();
    let rest = original.lines().skip(top.len());
    let top = top.iter().copied().filter(|line| *line != FORBIDS);
    let lines: Vec<&str> = top.chain(fix.iter().map(String::as_str)).chain(rest).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_where_they_belong() {
        let original =
            "[package]\nname = \"a\"\n\n[dependencies]\nlexopt = \"0.3\"\n\n[lints]\nworkspace = true\n";
        let text = manifest("a", original, &["b = \"=1.0.0\" # C".into()]);
        assert!(text.ends_with("[dependencies]\nlexopt = \"0.3\"\nb = \"=1.0.0\" # C\n"), "{text}");
        assert!(text.contains("name = \"a\"") && !text.contains("lints"), "{text}");
        let text = main(
            "//! Doc.\n\n#![forbid(unsafe_code)]\n\nuse a::b;\n\nfn main() {}\n",
            &["static G: u8 = 1;".into()],
        );
        assert_eq!(text, "//! Doc.\n\n\nstatic G: u8 = 1;\nuse a::b;\n\nfn main() {}\n");
    }
}
