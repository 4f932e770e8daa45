//! `cargo xtask pictures`: draws the pictures of the book again, each by a command of heapwise.

use crate::{build, cargo};
use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

/// Where they are.
const FOLDER: &str = "docs/book/src/pictures";

/// A picture of a workload of the lab under an allocator.
struct Picture {
    name: &'static str,
    /// A name that `heapwise allocators` knows, or `glibc` for the system's.
    allocator: &'static str,
    workload: &'static [&'static str],
}

/// Small blocks that stay between large ones that went, after a purge.
const LARGE_GONE: &[&str] = &["alternating", "10000", "1", "300"];
/// The other way round.
const SMALL_GONE: &[&str] = &["alternating", "10000", "0", "300"];
/// Connections of varied sizes that are closed.
const CLOSED: &[&str] = &["connections", "100000", "500"];

const PICTURES: &[Picture] = &[
    Picture { name: "large-gone-glibc", allocator: "glibc", workload: LARGE_GONE },
    Picture { name: "large-gone-jemalloc", allocator: "jemalloc", workload: LARGE_GONE },
    Picture { name: "large-gone-mimalloc", allocator: "mimalloc", workload: LARGE_GONE },
    Picture { name: "small-gone-glibc", allocator: "glibc", workload: SMALL_GONE },
    Picture { name: "closed-mimalloc", allocator: "mimalloc", workload: CLOSED },
];

/// Records each workload and draws it.
///
/// # Errors
/// When heapwise cannot be built, or one of its commands fails.
pub fn run() -> Result<()> {
    cargo::run(&["build", "--release", "-p", "heapwise-cli"])?;
    let target = cargo::target()?;
    let heapwise = target.join("release/heapwise");
    // It is built with heapwise, which contains it.
    let worker = target.join("lab-worker/x86_64-unknown-linux-gnu/lab-worker/heapwise-lab-worker");
    let recordings = target.join("pictures");
    let pictures = cargo::root().join(FOLDER);
    for folder in [&recordings, &pictures] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for picture in PICTURES {
        let recording = recordings.join(picture.name).with_extension("hw");
        let mut record = Command::new(&heapwise);
        record.args(["run", "--force", "--no-report", "-o"]).arg(&recording);
        record.arg("--").arg(&worker).args(picture.workload);
        if picture.allocator != "glibc" {
            record.env("LD_PRELOAD", build::allocator(&target, picture.allocator)?);
        }
        finish(record.stdout(Stdio::null()))?;
        let svg = pictures.join(picture.name).with_extension("svg");
        let mut export = Command::new(&heapwise);
        export.args(["export", "--to", "page-map", "--force", "-o"]).arg(&svg).arg(&recording);
        finish(&mut export)?;
        println!("{}", svg.display());
    }
    Ok(())
}

fn finish(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_picture_of_the_book_is_one_of_these_and_is_shown() {
        let folder = cargo::root().join(FOLDER);
        let there =
            fs::read_dir(&folder).expect("the pictures").map(|entry| entry.expect("an entry").file_name());
        let mut there: Vec<String> = there.map(|name| name.to_string_lossy().into_owned()).collect();
        there.sort();
        let mut made: Vec<String> = PICTURES.iter().map(|picture| format!("{}.svg", picture.name)).collect();
        made.sort();
        assert_eq!(there, made);
        let chapters = fs::read_dir(folder.join("..")).expect("the chapters").filter_map(|entry| {
            let path = entry.expect("an entry").path();
            (path.extension()? == "md").then(|| fs::read_to_string(path).expect("a chapter"))
        });
        let book: String = chapters.collect();
        for name in &made {
            assert!(book.contains(&format!("](pictures/{name})")), "no chapter shows {name}");
        }
    }
}
