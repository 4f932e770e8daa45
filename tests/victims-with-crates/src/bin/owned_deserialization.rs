// victim: reads an access log of JSON lines and owns each field of each line for as long as the line is looked at; flags:
//! Counts the requests and errors of each path in an access log.

use serde::Deserialize;
use std::collections::BTreeMap;

const LINES: u32 = 20_000;

#[derive(Deserialize)] // here: owned-deserialization
struct Request {
    method: String,
    path: String,
    client: String,
    status: u16,
}

#[derive(Default)]
struct Tally {
    requests: u32,
    errors: u32,
    writes: u32,
}

fn main() {
    let log = log();
    let mut paths: BTreeMap<String, Tally> = BTreeMap::new();
    let mut local = 0;
    for line in log.lines() {
        let request: Request = serde_json::from_str(line).expect("a line is a request");
        if !paths.contains_key(request.path.as_str()) {
            paths.insert(request.path.clone(), Tally::default());
        }
        let tally = paths.get_mut(request.path.as_str()).expect("it was put in");
        tally.requests += 1;
        tally.errors += u32::from(request.status >= 500);
        tally.writes += u32::from(request.method != "GET");
        local += u32::from(request.client.starts_with("10.0."));
    }
    for (path, tally) in &paths {
        println!("{path}: {} requests, {} errors, {} writes", tally.requests, tally.errors, tally.writes);
    }
    println!("{local} from the local network");
}

/// The log, as if it had been read from a file.
fn log() -> String {
    use std::fmt::Write;
    let paths = ["/catalogue/search", "/catalogue/entry", "/basket/contents", "/account/settings"];
    let methods = ["GET", "GET", "POST", "GET", "DELETE"];
    let mut log = String::with_capacity(LINES as usize * 120);
    for i in 0..LINES {
        let (path, method) = (paths[i as usize % paths.len()], methods[i as usize % methods.len()]);
        let status = if i % 97 == 0 { 503 } else { 200 };
        let client = format_args!("10.{}.{}.7", i % 3, i % 251);
        writeln!(log, r#"{{"method":"{method}","path":"{path}","client":"{client}","status":{status}}}"#)
            .expect("a string can be written to");
    }
    log
}
