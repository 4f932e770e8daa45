//! A fleet in a store that speaks S3.

use crate::program;
use crate::program::{document, ended, fleet};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server in memory, which ends with this.
struct Store {
    server: Child,
    port: u16,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Store {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut python = Command::new(program::python());
        python.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let server = python.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("Python with moto");
        let store = Self { server, port };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "moto does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        store.python("boto3.client('s3', endpoint_url=sys.argv[1]).create_bucket(Bucket='recordings')");
        store
    }

    fn python(&self, code: &str) {
        let mut python = Command::new(program::python());
        python
            .args(["-c", &format!("import boto3, sys\n{code}"), &self.url()])
            .env("AWS_DEFAULT_REGION", "us-east-1");
        ended(&credentials(&mut python).output().expect("Python with boto3"), 0);
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = fleet(words);
        credentials(&mut command).env("AWS_ENDPOINT", self.url()).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_REGION", "us-east-1");
        command
    }

    fn run(&self, words: &[&str]) -> (String, String) {
        ended(&self.command(words).output().expect("the program"), 0)
    }

    fn rows(&self, sql: &str) -> Value {
        document(&self.run(&["query", "--format", "json", sql, FLEET]).0)["rows"].clone()
    }
}

fn credentials(command: &mut Command) -> &mut Command {
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test")
}

const FLEET: &str = "s3://recordings/some/fleet";
const SUMS: &str = "select count(*) as n, count(distinct recording) as different, sum(allocated_bytes) as bytes, \
    (select sum(allocated_bytes) from sites) as of_sites, (select count(distinct stack_id) from stacks) as stacks from recordings";

#[test]
fn a_fleet_in_a_store_is_added_to_compacted_and_asked() {
    let store = Store::start();
    let folder = tempfile::tempdir().expect("a folder");
    for (at, bytes) in program::recordings().iter().enumerate() {
        std::fs::write(folder.path().join(format!("{at}.hw")), bytes).expect("a file");
    }
    let ingest = |service: &str| {
        let words =
            ["fleet", "ingest", folder.path().to_str().expect("text"), "-o", FLEET, "--service", service];
        store.run(&words).1
    };
    let said = ingest("a/b");
    assert!(said.contains("3 recordings added"), "{said}");
    assert!(ingest("other").contains("3 were there already"), "under another service, too");
    let before = store.rows(SUMS);
    assert_eq!((&before[0]["n"], &before[0]["different"]), (&Value::from(3), &Value::from(3)));
    assert_eq!(before[0]["bytes"], before[0]["of_sites"]);
    // Two at once: only one of them can make the next entry of the log.
    let mut both: Vec<Child> = (0..2)
        .map(|_| {
            store.command(&["fleet", "compact", FLEET]).stderr(Stdio::null()).spawn().expect("the program")
        })
        .collect();
    for child in &mut both {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(store.rows(SUMS), before);
    let (_, said) = store.run(&["fleet", "compact", FLEET]);
    assert!(said.contains("nothing to be put together"), "{said}");
    assert!(ingest("a/b").contains("3 were there already"));
    assert_eq!(store.rows("select distinct service as s from recordings")[0]["s"], "a%2Fb");
}

#[test]
fn errors_of_a_store_are_one_line() {
    let store = Store::start();
    let error = |command: &mut Command, place: &str| {
        command.args(["query", "select count(*) from sites", place]);
        ended(&command.output().expect("the program"), 1).1
    };
    let said = error(&mut store.command(&[]), "s3://nothing/fleet");
    assert!(
        said.contains("bucket does not exist") && said.lines().count() == 1 && said.len() < 200,
        "{said}"
    );
    let mut nowhere = store.command(&[]);
    nowhere.env("AWS_ENDPOINT", "http://127.0.0.1:1");
    let said = error(&mut nowhere, FLEET);
    assert!(said.contains("refused") && said.lines().count() == 1 && said.len() < 200, "{said}");
    assert!(!said.contains("test"), "no credentials are shown: {said}");
}
