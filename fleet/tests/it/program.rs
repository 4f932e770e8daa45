//! Runs the program as a user does, and what it needs.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Recordings of three versions of heapwise.
///
/// # Panics
/// If they are missing.
pub fn recordings() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/record/trace/tests/golden");
    ["v1.0.hw", "v2.0.hw", "v3.0.hw"]
        .map(|name| std::fs::read(folder.join(name)).expect("a recording"))
        .to_vec()
}

/// The program with words, beside the heapwise that makes tables of recordings.
pub fn fleet(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwise-fleet"));
    command.arg("--heapwise").arg(heapwise()).args(words);
    command
}

/// The heapwise that `cargo xtask test` names, or the one of a debug build.
pub fn heapwise() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/heapwise");
    std::env::var_os("HEAPWISE_PROGRAM").map_or_else(built, PathBuf::from)
}

/// The Python that has DuckDB.
pub fn python() -> PathBuf {
    let made = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/python3");
    std::env::var_os("HEAPWISE_PYTHON").map_or_else(made, PathBuf::from)
}

/// The program while it listens at a port of this machine. It is killed when this is dropped.
pub struct Listening {
    pub process: Child,
    /// `127.0.0.1` and the port, which it says in its first line.
    pub address: String,
}

impl Listening {
    /// # Panics
    /// If it does not say where it listens.
    pub fn start(what: &str, fleets: &[&Path], more: &[&str]) -> Self {
        let mut command = fleet(&["fleet", what, "--listen", "127.0.0.1:0"]);
        let mut process = command.args(fleets).args(more).stderr(Stdio::piped()).spawn().expect("a server");
        let mut line = String::new();
        let mut said = BufReader::new(process.stderr.take().expect("what it says"));
        said.read_line(&mut line).expect("a line");
        let address = line.trim().rsplit([' ', '/']).next().expect("an address").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        Self { process, address }
    }

    /// # Panics
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("ended");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What it printed, if it ended with this code.
///
/// # Panics
/// If it did not.
pub fn ended(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

/// # Panics
/// If the program cannot be run or does not end with 0.
pub fn run(words: &[&str]) -> (String, String) {
    ended(&fleet(words).output().expect("the program"), 0)
}

/// The rows of a query.
///
/// # Panics
/// If it is not answered.
pub fn rows(sql: &str, fleets: &[&Path]) -> Vec<Value> {
    let mut words = vec!["query", "--format", "json", sql];
    words.extend(fleets.iter().map(|path| path.to_str().expect("text")));
    document(&run(&words).0)["rows"].as_array().expect("rows").clone()
}

/// # Panics
/// If it is no JSON.
pub fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What has to stay as it is, whatever is compacted: recordings, their ids, and sums over sites.
///
/// # Panics
/// If it cannot be asked for.
pub fn sums(fleet: &Path) -> Vec<Value> {
    const SQL: &str = "select count(*) as recordings, count(distinct recording) as different, \
        sum(allocated_bytes) as allocated_bytes, \
        (select sum(allocated_bytes) from sites) as of_sites, (select count(*) from sites) as sites, \
        (select count(distinct stack_id) from stacks) as stacks, (select count(distinct frame_id) from frames) as frames, \
        (select count(*) from samples) as samples, (select count(*) from site_samples) as site_samples, \
        (select count(*) from memory) as memory, (select count(*) from findings) as findings, \
        (select count(*) from predictions) as predictions, (select sum(peak_rss_bytes) from predictions) as of_predictions \
        from recordings";
    rows(SQL, &[fleet])
}
