//! Whether what is packed does the main job when it is installed, away from this checkout.

use super::{Build, NEEDED, Package, fresh, linux};
use crate::{cargo, install};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Packs the programs that tests have, installs both archives into empty folders, and records a program with each.
///
/// # Errors
/// When something is missing, or does not work.
pub fn check(may_install: bool) -> Result<()> {
    install::programs(NEEDED, may_install)?;
    let folder = cargo::target()?.join("dist-check");
    let [tar, deb] = linux(&folder, Package::Heapwise, Build::Debug)?;
    let installed = folder.join("installed");
    fresh(&installed)?;
    let (from_tar, from_deb) = (installed.join("tar"), installed.join("deb"));
    std::fs::create_dir_all(&from_tar)?;
    unpack_tar(&tar, &from_tar)?;
    works(&from_tar)?;
    unpack_deb(&deb, &from_deb)?;
    works(&from_deb.join("usr"))?;
    let fields = output_of(Command::new("dpkg-deb").arg("-f").arg(&deb))?;
    ensure!(fields.contains("Package: heapwise\n") && fields.contains("Installed-Size: "), "{fields}");
    println!("xtask: the archives work where they were installed");
    Ok(())
}

/// The same for the engine for questions, which is built already, beside heapwise.
///
/// # Errors
/// When something is missing, or does not work.
pub fn check_fleet(may_install: bool) -> Result<()> {
    install::programs(NEEDED, may_install)?;
    let folder = cargo::target()?.join("dist-check-fleet");
    let [heapwise, _] = linux(&folder, Package::Heapwise, Build::Debug)?;
    let [tar, deb] = linux(&folder, Package::Fleet, Build::Debug)?;
    let installed = folder.join("installed");
    fresh(&installed)?;
    let (beside, elsewhere) = (installed.join("beside"), installed.join("elsewhere"));
    std::fs::create_dir_all(&beside)?;
    unpack_tar(&heapwise, &beside)?;
    unpack_tar(&tar, &beside)?;
    unpack_deb(&deb, &elsewhere)?;
    asks(&beside, &beside.join("bin"))?;
    std::fs::remove_file(beside.join("bin/heapwise-fleet"))?;
    asks(&beside, &elsewhere.join("usr/bin"))?;
    let fields = output_of(Command::new("dpkg-deb").arg("-f").arg(&deb))?;
    ensure!(fields.contains("Package: heapwise-fleet\n") && fields.contains(", heapwise (= "), "{fields}");
    let others = std::fs::read_to_string(beside.join("share/doc/heapwise-fleet/THIRD-PARTY.md"))?;
    ensure!(others.contains("- datafusion ") && others.contains("Apache License"), "licences are missing");
    println!("xtask: the archives of heapwise-fleet work where they were installed");
    Ok(())
}

fn unpack_tar(archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    output_of(tar.arg("-xf").arg(archive).arg("-C").arg(folder).arg("--strip-components=1")).map(drop)
}

fn unpack_deb(archive: &Path, folder: &Path) -> Result<()> {
    output_of(Command::new("dpkg-deb").arg("-x").arg(archive).arg(folder)).map(drop)
}

/// The heapwise below a prefix finds the engine in a folder of `PATH`, or beside itself, and answers a question.
fn asks(prefix: &Path, path: &Path) -> Result<()> {
    let elsewhere = prefix.join("tmp");
    fresh(&elsewhere)?;
    let heapwise = |words: &[&str]| {
        let mut command = Command::new(prefix.join("bin/heapwise"));
        command.args(words).current_dir(&elsewhere).env_clear();
        output_of(command.env("PATH", format!("{}:/usr/bin:/bin", path.display())))
    };
    heapwise(&["run", "-q", "--no-report", "-o", "ls.hw", "ls", "/"])?;
    heapwise(&["fleet", "ingest", "-q", "ls.hw", "-o", "fleet"])?;
    let answer = heapwise(&["fleet", "ask", "allocator-overhead", "fleet", "--format", "json"])?;
    let answer: serde_json::Value = serde_json::from_str(&answer).context("the answer is no JSON")?;
    ensure!(answer["rows"][0]["service"] == "ls", "the answer is {answer}");
    ensure!(heapwise(&["fleet", "ask", "--help"])?.contains("heapwise fleet ask growth"), "there is no help");
    Ok(())
}

/// The main job: a program is recorded and reported, with nothing but what is below the prefix.
fn works(prefix: &Path) -> Result<()> {
    let elsewhere = prefix.join("tmp");
    std::fs::create_dir_all(&elsewhere)?;
    let heapwise = |words: &[&str]| {
        let mut command = Command::new(prefix.join("bin/heapwise"));
        command.args(words).current_dir(&elsewhere).env_clear().env("PATH", "/usr/bin:/bin");
        output_of(&mut command)
    };
    let listed = heapwise(&["run", "-q", "--no-report", "-o", "ls.hw", "ls", "/"])?;
    ensure!(listed.lines().any(|line| line == "usr"), "ls said {listed:?}");
    let report = heapwise(&["report", "ls.hw", "--format", "json"])?;
    let report: serde_json::Value = serde_json::from_str(&report).context("the report is no JSON")?;
    let allocations = report["totals"]["allocations"].as_u64().context("there are no totals")?;
    ensure!(allocations > 10, "only {allocations} allocations of ls");
    heapwise(&["replay", "ls.hw", "--runs", "1", "--with", "glibc,mimalloc"])?;
    for file in [
        "bin/cargo-heapwise",
        "share/man/man1/heapwise.1.gz",
        "share/man/man1/heapwise-run.1.gz",
        "share/man/man1/cargo-heapwise.1.gz",
        "share/bash-completion/completions/heapwise",
        "share/zsh/site-functions/_cargo-heapwise",
        "share/fish/vendor_completions.d/heapwise.fish",
        "share/doc/heapwise/LICENSE-APACHE",
        "share/doc/heapwise/THIRD-PARTY.md",
    ] {
        ensure!(prefix.join(file).metadata().is_ok_and(|m| m.len() > 0), "{file} is missing");
    }
    let others = std::fs::read_to_string(prefix.join("share/doc/heapwise/THIRD-PARTY.md"))?;
    ensure!(
        others.contains("- gimli ")
            && others.contains("- tikv-jemalloc-sys ")
            && others.contains("Permission is hereby granted"),
        "licences are missing"
    );
    Ok(())
}

/// What a program prints, which has to succeed.
fn output_of(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} ended with {}:\n{errors}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
