//! Real programs run to their normal end under the recorder, with the right output, and nothing of them is lost.

use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::{programs, run, tool};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// Checks that a recording is whole.
fn sound(recorded: &Recorded) {
    let stderr = &recorded.outcome.stderr;
    assert_eq!(recorded.outcome.code(), 0, "{stderr}");
    let report = recorded.report();
    assert_eq!(report.totals.lost_events, 0, "{stderr}");
    assert!(report.totals.requests() > 0);
    assert_eq!(report.stacks.verify_failed, 0, "{:?}", report.stacks);
}

/// Runs a program alone and recorded, and compares their output.
fn same(program: &Path, arguments: &[&str], folder: &Path) -> Recorded {
    let alone = run::finish(run::command(program, folder).args(arguments), folder, "alone");
    assert!(alone.status.success(), "{}: {}", program.display(), alone.stderr);
    let recorded = Recording::new(folder).verify(100).record(program, arguments);
    assert_eq!(recorded.outcome.text(), alone.text(), "{}", recorded.outcome.stderr);
    sound(&recorded);
    recorded
}

#[test]
fn redis_server_under_load() {
    let (Some(server), Some(benchmark), Some(cli)) =
        (programs::find("redis-server"), programs::find("redis-benchmark"), programs::find("redis-cli"))
    else {
        return;
    };
    let folder = run::private_folder();
    let at = folder.path();
    let socket = at.join("socket").to_string_lossy().into_owned();
    let recording = Recording::new(at);
    let mut running =
        recording.start(server, &["--port", "0", "--unixsocket", &socket, "--save", "", "--io-threads", "2"]);
    running.wait_for("eady to accept connections");
    let ask = |program: &Path, arguments: &[&str]| {
        let mut command = run::command(program, at);
        let outcome = run::finish(command.args(["-s", &socket]).args(arguments), at, "client");
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        outcome.text()
    };
    ask(&benchmark, &["-q", "-n", "5000", "-c", "10", "-r", "1000", "-t", "set,get,lpush,sadd,hset"]);
    ask(&cli, &["set", "known", "value"]);
    assert_eq!(ask(&cli, &["get", "known"]), "value\n");
    assert_eq!(ask(&cli, &["llen", "mylist"]), "5000\n");

    let mut command = run::command(&cli, at);
    run::finish(command.args(["-s", &socket, "shutdown", "nosave"]), at, "client");
    let recorded = recording.wait(running);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().totals.lost_events, 0);
}

#[test]
fn sqlite3() {
    let Some(sqlite) = programs::find("sqlite3") else { return };
    let folder = run::private_folder();
    let work = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
                insert into t select i, hex(i * 7919) from n; select b, count(*), sum(a) from t group by b % 10 order by 1 limit 20;";
    same(&sqlite, &[":memory:", work], folder.path());
}

#[test]
fn git_in_a_repository_of_its_own() {
    let Some(git) = programs::find("git") else { return };
    let folder = run::private_folder();
    let at = folder.path().join("repository");
    std::fs::create_dir(&at).expect("a folder can be made");
    let place = at.to_string_lossy().into_owned();
    let step = |arguments: &[&str]| {
        let identity =
            ["-C", &place, "-c", "user.name=Author", "-c", "user.email=s@example.org", "-c", "gc.auto=0"];
        let all: Vec<&str> = identity.iter().chain(arguments).copied().collect();
        let recorded = Recording::new(folder.path()).verify(50).record(&git, &all);
        sound(&recorded);
        recorded.outcome.text()
    };
    step(&["init", "-q", "."]);
    for n in 0..3 {
        std::fs::write(at.join(format!("file{n}")), "line\n".repeat(1000 * (n + 1)))
            .expect("a file can be written");
        step(&["add", "."]);
        step(&["commit", "-q", "-m", &format!("change {n}")]);
    }
    assert_eq!(step(&["log", "--format=%s"]), "change 2\nchange 1\nchange 0\n");
    step(&["gc", "-q"]);
    step(&["fsck", "--strict"]);
    assert_eq!(step(&["rev-list", "--count", "HEAD"]), "3\n");
}

#[test]
fn python3_with_threads_and_subprocesses() {
    let Some(python) = programs::python() else { return };
    let folder = run::private_folder();
    let work = "\
import json, subprocess, sys, threading
results = []
def work(n):
    for i in range(200):
        try:
            json.loads('[' * 20 + 'x')
        except ValueError as e:
            text = str(e)
    results.append(len(json.dumps({str(i): list(range(i % 50)) for i in range(500)})) + n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(results))
for n in range(3):
    out = subprocess.run([sys.executable, '-S', '-c', f'print({n} * 2)'], capture_output=True, text=True)
    print(out.stdout.strip(), out.returncode)
";
    let recorded = same(&python, &["-c", work], folder.path());
    assert!(recorded.report().stacks.verified > 0);
    assert!(recorded.report().processes.len() >= 4, "the subprocesses are missing");
}

#[test]
fn node_with_workers_and_child_processes() {
    let Some(node) = programs::find("node") else { return };
    let folder = run::private_folder();
    let work = "\
const { Worker } = require('worker_threads');
const { execFileSync } = require('child_process');
const code = `const { parentPort } = require('worker_threads');
  let s = 0; for (let i = 0; i < 1e5; i++) s += JSON.stringify({ i, a: [i, i + 1] }).length; parentPort.postMessage(s);`;
const run = () => new Promise((good, bad) => new Worker(code, { eval: true }).on('message', good).on('error', bad));
Promise.all([run(), run()]).then(all => {
  console.log(all.join(' '));
  console.log(execFileSync(process.execPath, ['-e', 'console.log(6 * 7)']).toString().trim());
});
";
    same(&node, &["-e", work], folder.path());
}

#[test]
fn compilers_of_c_and_cpp_write_the_same_object_files() {
    let folder = run::private_folder();
    let at = folder.path();
    let c = "#include <stdio.h>\n#include <stdlib.h>\nint f(int n) { char *p = malloc(n); int r = snprintf(p, n, \"%d\", n); free(p); return r; }\n";
    let cpp = "#include <map>\n#include <string>\nint g(const std::string &s) { std::map<std::string, int> m; for (auto c : s) m[std::string(3, c)]++; return m.size(); }\n";
    for (compiler, source, text) in [("gcc", "a.c", c), ("g++", "a.cpp", cpp)] {
        let Some(compiler) = programs::find(compiler) else { continue };
        std::fs::write(at.join(source), text).expect("a file can be written");
        let arguments = ["-O2", "-g", "-c", source, "-o", "a.o"];
        let object = || std::fs::read(at.join("a.o")).expect("an object file");
        let alone = run::finish(run::command(&compiler, at).args(arguments), at, "alone");
        assert!(alone.status.success(), "{}", alone.stderr);
        let expected = object();
        std::fs::remove_file(at.join("a.o")).expect("a file can be removed");
        let recorded = Recording::new(at).verify(50).record(&compiler, &arguments);
        sound(&recorded);
        assert!(recorded.report().stacks.verified > 0);
        assert_eq!(object(), expected, "the object file of {source} differs");
        assert!(recorded.report().processes.len() >= 3, "the compiler proper and the assembler are missing");
    }
}

#[test]
fn rustc_compiles_a_crate() {
    let folder = run::private_folder();
    let at = folder.path();
    let text = "fn main() { let v: Vec<String> = (0..9).map(|i| format!(\"{i}\")).collect(); println!(\"{}\", v.join(\"-\")); }";
    std::fs::write(at.join("small.rs"), text).expect("a file can be written");
    let recorded =
        Recording::new(at).record(programs::rust_tool("rustc"), &["--edition", "2021", "small.rs"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().totals.lost_events, 0);
    let compiled = Command::new(at.join("small")).output().expect("what was compiled can be run");
    assert_eq!(compiled.stdout, b"0-1-2-3-4-5-6-7-8\n");
}

#[test]
fn cargo_builds_a_crate_and_the_whole_family_is_recorded() {
    let folder = run::private_folder();
    let at = folder.path();
    std::fs::create_dir_all(at.join("src")).expect("a folder can be made");
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(at.join("Cargo.toml"), manifest).expect("a file can be written");
    std::fs::write(at.join("build.rs"), "fn main() { println!(\"cargo::rustc-env=WORD=built\"); }")
        .expect("as above");
    std::fs::write(at.join("src/main.rs"), "fn main() { println!(\"{}\", env!(\"WORD\")); }")
        .expect("as above");
    let recorded =
        Recording::new(at).record(programs::rust_tool("cargo"), &["build", "--offline", "--quiet"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().totals.lost_events, 0);
    // cargo itself, rustc for the build script and the crate, the linker, and the build script.
    assert!(recorded.report().processes.len() >= 5, "processes are missing");
    let built = Command::new(at.join("target/debug/tiny")).output().expect("what was built can be run");
    assert_eq!(built.stdout, b"built\n");
}

/// A client that asks one request after the other.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts connections");
        stream.set_nodelay(true).expect("a socket has options");
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, request: &str) -> String {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).expect("a request can be sent");
        let mut answer = String::new();
        self.0.read_line(&mut answer).expect("an answer comes");
        answer.trim_end().to_owned()
    }
}

/// Each client stores its own keys, deletes every second one, and has tasks spawned that end on other threads.
fn load(address: &str, client: u32) {
    let mut connection = Client::connect(address);
    let value = "v".repeat(100);
    for i in 0..500 {
        assert_eq!(connection.ask(&format!("set {client}-{i} {value}{i}")), "stored");
        assert_eq!(connection.ask(&format!("get {client}-{i}")), format!("{value}{i}"));
        if i % 2 == 1 {
            assert_eq!(connection.ask(&format!("delete {client}-{i}")), "deleted");
        }
        if i % 50 == 0 {
            // The sums of the numbers below 0, 1, ..., 63.
            assert_eq!(connection.ask("fan 64"), "41664");
        }
    }
}

#[test]
fn an_asynchronous_server_under_load() {
    for profile in ["dev", "release"] {
        let folder = run::private_folder();
        let recording = Recording::new(folder.path()).verify(20);
        let mut running = recording.start(tool::async_server(profile), &["3"]);
        running.wait_for("\n");
        let said = running.said();
        let address = said.trim_end().rsplit(' ').next().expect("the server says where it listens");
        std::thread::scope(|scope| {
            for client in 0..8 {
                scope.spawn(move || load(address, client));
            }
        });
        let mut last = Client::connect(address);
        assert_eq!(last.ask("count"), "2000");
        assert_eq!(last.ask("stop"), "bye");
        drop(last);

        let recorded = recording.wait(running);
        sound(&recorded);
        let report = recorded.report();
        assert!(report.stacks.verified > 0);
        // The three workers, and the main thread that accepts.
        assert!(report.threads.len() >= 4, "{profile}: {:?}", report.threads);
        // Nothing was live at the end that the server had stored, so all frees were seen.
        assert!(report.totals.live_at_exit_blocks < 100, "{profile}: {:?}", report.totals);
        // Each answer is a String, and each task of a fan a block.
        assert!(report.totals.allocations > 8 * (1250 + 10 * 64), "{profile}: {:?}", report.totals);
        assert_eq!(report.order.unknown_frees, 0, "{profile}: {:?}", report.order);
    }
}
