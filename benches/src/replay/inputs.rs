//! What the programs work on. It is generated, always the same, so that figures of two machines are about the same work.

use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Keeps git from reading the user's configuration.
pub(super) const GIT_ENVIRONMENT: [(&str, &str); 2] =
    [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")];

/// Numbers that look random and are the same everywhere.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % limit
    }

    /// A line of source code, more or less.
    fn line(&mut self) -> String {
        const WORDS: [&str; 16] = [
            "let", "match", "self", "buffer", "index", "return", "struct", "value", "length", "error",
            "impl", "offset", "parse", "token", "stream", "unwrap",
        ];
        let mut line = " ".repeat(4 * self.below(4));
        for _ in 0..3 + self.below(9) {
            let _ = write!(line, "{}_{} ", WORDS[self.below(16)], self.below(500));
        }
        line
    }

    fn text(&mut self, lines: usize) -> String {
        (0..lines).map(|_| self.line() + "\n").collect()
    }
}

/// Makes an input in a separate folder unless that was done before. An unfinished one is begun again.
pub(super) fn once(folder: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let (path, unfinished) = (folder.join(name), folder.join(format!("{name}.unfinished")));
    if path.is_dir() {
        return Ok(path);
    }
    let _ = std::fs::remove_dir_all(&unfinished);
    std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot make {}", unfinished.display()))?;
    make(&unfinished).with_context(|| format!("cannot make {}", path.display()))?;
    std::fs::rename(&unfinished, &path)?;
    Ok(path)
}

/// `rows.csv`, with a number, two texts of different lengths, a date and a note.
pub(super) fn csv(folder: &Path, rows: usize) -> Result<()> {
    let mut random = Random::new(1);
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join("rows.csv"))?);
    for row in 0..rows {
        writeln!(
            file,
            "{row},name-{:06},{},2026-{:02}-{:02},\"{}\"",
            random.below(1_000_000),
            "x".repeat(random.below(60)),
            1 + random.below(12),
            1 + random.below(28),
            random.line().trim()
        )?;
    }
    Ok(file.flush()?)
}

/// A tree of source files of very different sizes.
pub(super) fn tree(folder: &Path, files: usize) -> Result<()> {
    let mut random = Random::new(2);
    for file in 0..files {
        let inside = folder.join(format!("module{:02}/part{}", file % 37, file % 5));
        std::fs::create_dir_all(&inside)?;
        let lines = if random.below(50) == 0 { 8_000 } else { 20 + random.below(600) };
        std::fs::write(inside.join(format!("file{file:05}.rs")), random.text(lines))?;
    }
    Ok(())
}

/// A repository whose files were changed here and there, commit after commit.
pub(super) fn repository(folder: &Path, commits: usize) -> Result<()> {
    const FILES: usize = 60;
    let mut random = Random::new(3);
    let mut contents: Vec<Vec<String>> =
        (0..FILES).map(|_| (0..100 + random.below(900)).map(|_| random.line()).collect()).collect();
    git(folder, &["init", "--quiet", "--bare", "."], b"")?;
    let mut stream = String::new();
    for commit in 0..commits {
        let message = format!("commit {commit}");
        let _ = write!(
            stream,
            "commit refs/heads/main\ncommitter Bench <bench@example.org> {} +0000\ndata {}\n{message}\n",
            1_700_000_000 + commit * 60,
            message.len()
        );
        for _ in 0..if commit == 0 { FILES } else { 1 + random.below(6) } {
            let file = random.below(FILES);
            for _ in 0..1 + random.below(12) {
                let (at, line) = (random.below(contents[file].len()), random.line());
                contents[file][at] = line;
            }
            let text = contents[file].join("\n");
            let _ = write!(
                stream,
                "M 100644 inline dir{}/file{file}.rs\ndata {}\n{text}\n",
                file % 7,
                text.len()
            );
        }
    }
    stream.push_str("done\n");
    git(folder, &["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    // What was imported is hardly compressed, and would be most of what is resident once it is mapped. One thread, because
    // several would not find the same differences each time; and no bitmap, with which git would copy this pack unchanged.
    let options = ["-c", "pack.threads=1", "-c", "repack.writeBitmaps=false"];
    git(folder, &[&options[..], &["repack", "-a", "-d", "-f", "-q"]].concat(), b"")
}

/// git without the user's configuration.
fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<()> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .envs(GIT_ENVIRONMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run git")?;
    let mut pipe = child.stdin.take().context("git has no standard input")?;
    pipe.write_all(input)?;
    drop(pipe);
    let status = child.wait()?;
    ensure!(status.success(), "git {} ended with {status}", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_the_same_each_time() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &two] {
            once(folder.path(), "rows", |path| csv(path, 50)).unwrap();
            once(folder.path(), "tree", |path| tree(path, 20)).unwrap();
            once(folder.path(), "repository", |path| repository(path, 5)).unwrap();
        }
        let read = |folder: &tempfile::TempDir, name: &str| std::fs::read(folder.path().join(name)).unwrap();
        for name in ["rows/rows.csv", "tree/module03/part3/file00003.rs", "repository/refs/heads/main"] {
            assert_eq!(read(&one, name), read(&two, name), "{name}");
        }
        assert_eq!(read(&one, "rows/rows.csv").iter().filter(|byte| **byte == b'\n').count(), 50);
    }

    #[test]
    fn what_was_begun_is_begun_again_and_what_is_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        assert!(once(folder.path(), "a", |_| anyhow::bail!("no")).is_err());
        once(folder.path(), "a", |path| Ok(std::fs::write(path.join("x"), "1")?)).unwrap();
        once(folder.path(), "a", |_| anyhow::bail!("not again")).unwrap();
        assert!(folder.path().join("a/x").is_file());
    }
}
