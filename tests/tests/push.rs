//! `--push` and `--fleet`: what each file has goes where recordings are to go, once, and what does not arrive is counted.

use flate2::read::GzDecoder;
use heapwise_tests::build::compile_text;
use heapwise_tests::receiver::{Received, Receiver};
use heapwise_tests::report::Report;
use heapwise_tests::run::{self, Outcome};
use heapwise_tests::tool;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::profiles::v1development::ProfilesData;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Keeps a block in each round; in one of them a child leaves many behind.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noipa)) static char *keep(size_t n) { return malloc(n); }
__attribute__((noinline, noipa)) static char *brief(size_t n) { return malloc(n); }
__attribute__((noinline, noipa)) static char *leave(size_t n) { return malloc(n); }
int main(void) {
    for (int i = 0; i < 80; i++) {
        keep(1000)[0] = 1;
        for (int j = 0; j < 100; j++) free(brief(500));
        if (i == 20) {
            pid_t child = fork();
            if (child == 0) { for (int j = 0; j < 50; j++) leave(100000)[0] = 1; _exit(0); }
            int status;
            waitpid(child, &status, 0);
        }
        usleep(10000);
    }
    return 7;
}
"#;

/// The four numbers of heap profiles, by function.
type Sums = BTreeMap<String, [i64; 4]>;

/// What a Pyroscope server takes, as its own messages have it.
#[derive(Clone, PartialEq, prost::Message)]
struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<Series>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Series {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(bytes = "vec", tag = "1")]
    raw_profile: Vec<u8>,
    #[prost(string, tag = "2")]
    id: String,
}

fn record(folder: &Path, options: &[&str]) -> Outcome {
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder, "pushed");
    let mut command = run::command(tool::heapwise(), folder);
    command.args(["run", "--no-report", "-o", "part.hw", "--sample=1"]).args(options).arg("--").arg(program);
    run::finish(&mut command, folder, "run")
}

/// Reports of the files, in their order.
fn reports(folder: &Path) -> Vec<Report> {
    let mut files: Vec<PathBuf> = files_below(folder).into_iter().filter(|path| is_part(path)).collect();
    files.sort();
    let report = |file: &PathBuf| {
        let mut command = run::command(tool::heapwise(), folder);
        let outcome = run::finish(command.args(["report", "--format", "json"]).arg(file), folder, "report");
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        Report::parse(&outcome.text()).expect("a report")
    };
    files.iter().map(report).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "hw")
}

/// Compares what was pushed with the files.
fn compare(folder: &Path, pushed: &[Sums]) {
    let files = reports(folder);
    assert_eq!(pushed.len(), files.len());
    let mut kept = 0;
    for (report, sums) in files.iter().zip(pushed) {
        let all = |at: usize| sums.values().map(|numbers| numbers[at]).sum::<i64>() as u64;
        assert_eq!(all(0), report.totals.allocations);
        assert_eq!(all(1), report.totals.allocated_bytes);
        let of = |function: &str| sums.get(function).copied().unwrap_or_default();
        kept += of("keep")[0];
        assert_eq!(of("keep")[2..], [kept, 1000 * kept], "what was kept so far is in use");
        assert_eq!(of("brief")[2..], [0, 0]);
    }
    // That a child has ended is noticed a little later.
    let left: Vec<i64> = pushed.iter().filter_map(|sums| Some(sums.get("leave")?[2])).collect();
    let in_use = left.iter().filter(|&&blocks| blocks > 0).count();
    assert!(in_use <= 3 && pushed.len() > 6, "what a child has left is in use in {in_use} files: {left:?}");
    let whole = |function: &str| pushed.iter().filter_map(|sums| Some(sums.get(function)?[0])).sum::<i64>();
    assert_eq!((whole("keep"), whole("brief"), whole("leave")), (80, 8000, 50));
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut all).expect("it is gzip");
    all
}

/// Numbers by the functions of the program that are on the stack.
fn of_pprof(gzip: &[u8]) -> Sums {
    let profile = heapwise_trace::pprof::Profile::decode(unzipped(gzip).as_slice()).expect("a profile");
    let text = |index: i64| profile.string_table[index as usize].as_str();
    let types: Vec<_> = profile.sample_type.iter().map(|t| text(t.kind)).collect();
    assert_eq!(types, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    let names: BTreeMap<u64, &str> = profile.function.iter().map(|f| (f.id, text(f.name))).collect();
    let by_id: BTreeMap<u64, _> = profile.location.iter().map(|location| (location.id, location)).collect();
    let mut sums = Sums::new();
    for sample in &profile.sample {
        let lines = sample.location_id.iter().flat_map(|id| &by_id[id].line);
        add(&mut sums, lines.map(|line| names[&line.function_id]), |at| sample.value[at]);
    }
    sums
}

fn add<'a>(sums: &mut Sums, mut functions: impl Iterator<Item = &'a str>, value: impl Fn(usize) -> i64) {
    let ours = functions.find(|name| ["keep", "brief", "leave"].contains(name)).unwrap_or("others");
    let sum = sums.entry(ours.to_owned()).or_default();
    (0..4).for_each(|at| sum[at] += value(at));
}

fn of_otlp(data: &ProfilesData) -> Sums {
    let tables = data.dictionary.as_ref().expect("tables");
    let mut sums = Sums::new();
    for (at, profile) in data.resource_profiles[0].scope_profiles[0].profiles.iter().enumerate() {
        for sample in &profile.samples {
            let stack = &tables.stack_table[sample.stack_index as usize];
            let lines =
                stack.location_indices.iter().flat_map(|&id| &tables.location_table[id as usize].lines);
            let functions = lines.map(|line| &tables.function_table[line.function_index as usize]);
            let names =
                functions.map(|function| tables.string_table[function.name_strindex as usize].as_str());
            add(&mut sums, names, |of| if of == at { sample.values[0] } else { 0 });
        }
    }
    sums
}

fn taken(receiver: &Receiver) -> Vec<Received> {
    receiver.received().into_iter().filter(|received| received.status == 200).collect()
}

#[test]
fn pyroscope_gets_each_file_once_although_it_was_busy() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("headers"), "Authorization: Bearer secret\n").expect("a file");
    let receiver = Receiver::start(&[(200, ""), (503, "retry-after: 1"), (429, "")]);
    let url = receiver.url("");
    let outcome = record(
        folder.path(),
        &[
            "--rotate",
            "100ms",
            "--keep",
            "1000",
            "--push",
            &url,
            "--push-headers",
            "headers",
            "--label",
            "zone=eu",
        ],
    );
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it answers 503"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("takes profiles again; 0 did not arrive")
            && !outcome.stderr.contains("secret")
    );
    let taken = taken(&receiver);
    assert!(outcome.stderr.contains(&format!("{} profile(s) pushed to", taken.len())), "{}", outcome.stderr);
    assert_eq!(receiver.received().len(), taken.len() + 2);
    let mut ids = BTreeSet::new();
    let pushed = taken.iter().map(|received| {
        assert_eq!(received.path, "/push.v1.PusherService/Push");
        assert_eq!(received.header("content-type"), Some("application/proto"));
        assert_eq!(received.header("authorization"), Some("Bearer secret"));
        let request = PushRequest::decode(received.body.as_slice()).expect("a message");
        let labels: BTreeMap<_, _> = request.series[0]
            .labels
            .iter()
            .map(|label| (label.name.as_str(), label.value.as_str()))
            .collect();
        assert_eq!((labels["service_name"], labels["zone"]), ("pushed", "eu"));
        assert_eq!((labels["__name__"], labels["__delta__"]), ("memory", "false"));
        let sample = &request.series[0].samples[0];
        assert!(ids.insert(sample.id.clone()), "{} was taken twice", sample.id);
        of_pprof(&sample.raw_profile)
    });
    compare(folder.path(), &pushed.collect::<Vec<_>>());
}

#[test]
fn opentelemetry_gets_each_file_with_its_resource() {
    let folder = run::private_folder();
    let receiver = Receiver::start(&[]);
    let url = receiver.url("/v1development/profiles");
    let outcome = record(
        folder.path(),
        &["--rotate", "100ms", "--keep", "1000", "--push", &url, "--service", "shop", "--release", "2"],
    );
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    let pushed = taken(&receiver).into_iter().map(|received| {
        assert_eq!(received.path, "/v1development/profiles");
        assert_eq!(received.header("content-type"), Some("application/x-protobuf"));
        assert_eq!(received.header("content-encoding"), Some("gzip"));
        let data = ProfilesData::decode(unzipped(&received.body).as_slice()).expect("a message");
        let resource = data.resource_profiles[0].resource.as_ref().expect("a resource");
        let value = |key: &str| {
            let found = resource.attributes.iter().find(|attribute| attribute.key == key);
            match found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
                Some(Value::StringValue(text)) => text.clone(),
                other => panic!("{key} is {other:?}"),
            }
        };
        assert_eq!((value("service.name"), value("service.version")), ("shop".to_owned(), "2".to_owned()));
        of_otlp(&data)
    });
    compare(folder.path(), &pushed.collect::<Vec<_>>());
}

#[test]
fn without_rotate_a_file_lasts_a_while_and_the_last_one_is_pushed() {
    let folder = run::private_folder();
    let receiver = Receiver::start(&[]);
    let outcome = record(folder.path(), &["--push", &receiver.url("/"), "--keep", "3"]);
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    assert_eq!(taken(&receiver).len(), 1);
    assert!(folder.path().join("part.000001.hw").exists());
}

#[test]
fn where_few_files_are_kept_each_is_pushed_or_counted() {
    let folder = run::private_folder();
    let receiver = Receiver::start(&[]);
    let url = receiver.url("/");
    let outcome = record(folder.path(), &["--rotate", "150ms", "--keep", "2", "--push", &url]);
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    let mut files = files_below(folder.path());
    files.retain(|path| is_part(path));
    assert_eq!(files.len(), 2, "{files:?}");
    let last =
        files.iter().max().and_then(|path| path.file_name()?.to_str()?.split('.').nth(1)?.parse().ok());
    // A busy machine may not come to a file before there are two newer ones.
    let missed = outcome.stderr.lines().find_map(|line| {
        line.strip_prefix("heapwise: warning: ")?
            .strip_suffix(" file(s) were removed before they went anywhere")
    });
    let missed: usize = missed.map_or(0, |number| number.parse().expect("a number"));
    assert_eq!(last, Some(taken(&receiver).len() + missed), "{}", outcome.stderr);
}

#[test]
fn a_server_that_is_not_there_is_said_once_and_nothing_else_suffers() {
    let folder = run::private_folder();
    let outcome = record(folder.path(), &["--rotate", "200ms", "--push", "http://127.0.0.1:1"]);
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    let said = |text: &str| outcome.stderr.lines().filter(|line| line.contains(text)).count();
    assert_eq!(said("no profile can be pushed to"), 1, "{}", outcome.stderr);
    let files = reports(folder.path());
    assert!(
        outcome.stderr.contains(&format!("{} profile(s) were not taken", files.len())),
        "{}",
        outcome.stderr
    );
    assert_eq!(files.iter().map(|report| report.totals.lost_events).sum::<u64>(), 0);
}

#[test]
fn what_is_refused_is_counted_and_a_token_follows_no_redirection() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("headers"), "Authorization: Bearer secret\n").expect("a file");
    let other = Receiver::start(&[]);
    let location = format!("location: {}", other.url("/"));
    let receiver = Receiver::start(&[(302, &location), (400, "")]);
    let url = receiver.url("");
    let outcome = record(folder.path(), &["--rotate", "200ms", "--push", &url, "--push-headers", "headers"]);
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a redirection is not followed"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it answers 400"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("2 profile(s) were not taken"), "{}", outcome.stderr);
    assert!(other.received().is_empty());
    assert_eq!(taken(&receiver).len() + 2, reports(folder.path()).len());
}

#[test]
fn what_cannot_be_is_said_before_the_program_starts() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("wrong"), "no header\n").expect("a file");
    let url = "http://127.0.0.1:1";
    for (options, says) in [
        (vec!["--push", "localhost:4040"], "give a URL such as"),
        (vec!["--push", "http://me:secret@localhost"], "--push-headers"),
        (vec!["--push", url, "--push-headers", "missing"], "cannot read the headers in missing"),
        (vec!["--push", url, "--push-headers", "wrong"], "wrong, line 1"),
        (vec!["--push", url, "--label", "a.b=c"], "--label a.b"),
        (vec!["--push", url, "--label", "zone"], "NAME=VALUE"),
        (vec!["--label", "a=b"], "--push"),
        (vec!["--service", "shop"], "--push"),
        (vec!["--rotate", "1s", "--keep", "1"], "--keep"),
        (vec!["--fleet", "s3://bucket/fleet"], "no folder of this machine"),
    ] {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.args(["run", "--sample"]).args(&options).args(["--", "touch", "started"]);
        let outcome = run::finish(&mut command, folder.path(), "run");
        assert_eq!(outcome.code(), 2, "{options:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{options:?}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("secret@"), "{}", outcome.stderr);
        assert!(!folder.path().join("started").exists(), "{options:?}");
    }
}

#[test]
fn a_fleet_that_is_a_file_is_no_folder() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("taken"), "").expect("a file");
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["run", "--fleet", "taken", "--", "touch", "started"]);
    let outcome = run::finish(&mut command, folder.path(), "run");
    assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("taken is no folder"), "{}", outcome.stderr);
    assert!(!folder.path().join("started").exists());
}

#[test]
fn each_file_is_in_the_tables_of_the_fleet() {
    let folder = run::private_folder();
    let outcome = record(
        folder.path(),
        &["--rotate", "100ms", "--keep", "1000", "--fleet", "fleet", "--service", "shop"],
    );
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    let mut files = files_below(folder.path());
    files.retain(|path| is_part(path));
    let rows = files_below(&folder.path().join("fleet/recordings"));
    assert!(files.len() > 4 && rows.len() == files.len(), "{} of {}", rows.len(), files.len());
    for file in files {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.args(["export", "--to", "parquet", "-o", "fleet", "--service", "shop"]).arg(&file);
        let outcome = run::finish(&mut command, folder.path(), "export");
        assert_eq!(outcome.code(), 1, "{} was not in it", file.display());
        assert!(outcome.stderr.contains("exists"), "{}", outcome.stderr);
    }
}
