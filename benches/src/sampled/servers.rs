//! Servers whose clients measure them: redis under redis-benchmark, PostgreSQL under pgbench.

use crate::replay::workloads::{Output, PORT, Place, Prepared, redis_under, words};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a service did for one kind of request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Served {
    pub(super) what: String,
    /// Requests a second.
    pub(super) rate: f64,
    /// The latency that 99 of 100 requests do not exceed, in milliseconds.
    pub(super) p99: f64,
}

/// A server.
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) prepare: fn(&Place<'_>) -> Result<Prepared>,
    /// What a client's output says.
    pub(super) read: fn(&str) -> Vec<Served>,
}

/// All of them.
pub(super) const ALL: &[Server] = &[
    Server { name: "redis", prepare: redis, read: of_redis },
    Server { name: "postgres", prepare: postgres, read: of_postgres },
];

fn redis(place: &Place<'_>) -> Result<Prepared> {
    let requests = place.size(200_000).to_string();
    let benchmark =
        ["-p", PORT, "--csv", "-c", "50", "-r", "100000", "-d", "200", "-t", "set,lpush", "-n", &requests];
    redis_under(vec![words("redis-benchmark", &benchmark)])
}

/// `"SET","81234.56","0.321",…,"0.591","1.207"`: a name, requests a second, and latencies in milliseconds, of which the one but last
/// is the 99th percentile.
fn of_redis(output: &str) -> Vec<Served> {
    let lines =
        output.lines().map(|line| line.split(',').map(|cell| cell.trim_matches('"')).collect::<Vec<_>>());
    let served = lines.filter_map(|cells| {
        let [what, rate, .., p99, _] = cells.as_slice() else { return None };
        Some(Served { what: (*what).to_owned(), rate: rate.parse().ok()?, p99: p99.parse().ok()? })
    });
    served.collect()
}

/// A cluster that is made once; each run of pgbench changes it in the same way.
fn postgres(place: &Place<'_>) -> Result<Prepared> {
    let programs = postgres_programs()?;
    let as_user = |program: &str, arguments: &[&str]| {
        let mut command = not_as_root();
        command.extend(words(programs.join(program), arguments));
        command
    };
    let cluster = place.input("cluster", 5, |path, scale| {
        let data = path.join("data");
        std::fs::create_dir(&data)?;
        if !not_as_root().is_empty() {
            let owned = Command::new("chown").arg("postgres").arg(&data).status()?;
            ensure!(owned.success(), "the folder of a cluster cannot be given to another user");
        }
        let data = data.display().to_string();
        run(&as_user("initdb", &["-D", &data, "-U", "bench", "-A", "trust", "--no-sync", "-E", "UTF8"]))?;
        // Only a socket is used here, which is in its own folder.
        let options = format!("-c listen_addresses='' -c unix_socket_directories='{data}' -c fsync=off");
        let log = format!("{data}/log");
        run(&as_user("pg_ctl", &["-D", &data, "-w", "-l", &log, "-o", &options, "start"]))?;
        let filled = run(&words(
            "pgbench",
            &["-h", &data, "-U", "bench", "-i", "-q", "-s", &scale.to_string(), "postgres"],
        ));
        run(&as_user("pg_ctl", &["-D", &data, "-m", "fast", "-w", "stop"]))?;
        filled
    })?;
    let data = cluster.join("data").display().to_string();
    let command = as_user(
        "postgres",
        &[
            "-D",
            &data,
            "-p",
            PORT,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "fsync=off",
        ],
    );
    let transactions = place.size(10_000).to_string();
    // A folder of its own, for pgbench writes a line for each transaction into a file.
    let script = "folder=$(mktemp -d) && cd \"$folder\" && pgbench -h 127.0.0.1 -p $1 -U bench -c 4 -t $2 -l postgres && cat pgbench_log.* && rm -r \"$folder\"";
    let load = words("sh", &["-c", script, "sh", PORT, &transactions]);
    let stop = as_user("pg_ctl", &["-D", &data, "-m", "fast", "-w", "stop"]);
    Ok(Prepared { command, environment: Vec::new(), load: vec![load, stop], output: Output::Differs })
}

/// `tps = 4711.0 (without initial connection time)`, and a line for each transaction: client, number, microseconds, and more.
fn of_postgres(output: &str) -> Vec<Served> {
    let mut latencies: Vec<u64> = Vec::new();
    let mut rate = None;
    for line in output.lines() {
        let cells: Vec<_> = line.split(' ').collect();
        match cells.as_slice() {
            ["tps", "=", number, ..] => rate = number.parse().ok(),
            [client, _, time, _, _, _] if client.parse::<u32>().is_ok() => {
                latencies.extend(time.parse::<u64>().ok())
            }
            _ => {}
        }
    }
    latencies.sort_unstable();
    let p99 = latencies.get(latencies.len() * 99 / 100);
    let served =
        rate.zip(p99).map(|(rate, &p99)| Served { what: "TPC-B".to_owned(), rate, p99: p99 as f64 / 1e3 });
    served.into_iter().collect()
}

/// Where Debian has the programs of a server, of the newest version.
fn postgres_programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").context("apt-get install postgresql")?;
    let folders = versions.flatten().map(|entry| entry.path().join("bin"));
    let newest = folders.filter(|folder| folder.join("initdb").is_file()).max();
    newest.context("apt-get install postgresql")
}

/// PostgreSQL refuses to run as root.
fn not_as_root() -> Vec<OsString> {
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    match is_root {
        true => words("setpriv", &["--reuid", "postgres", "--clear-groups"]),
        false => Vec::new(),
    }
}

fn run(command: &[OsString]) -> Result<()> {
    let output = Command::new(&command[0]).args(&command[1..]).current_dir(Path::new("/")).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}\n{said}", output.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_say_is_read() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
            \"SET\",\"100.50\",\"0.3\",\"0.1\",\"0.2\",\"0.5\",\"0.9\",\"1.5\"\n";
        assert_eq!(of_redis(text), [Served { what: "SET".to_owned(), rate: 100.5, p99: 0.9 }]);
        let log: String = (1..=200).map(|at| format!("0 {at} {} 0 1766 5\n", at * 1000)).collect();
        let text = format!("latency average = 1 ms\ntps = 50.25 (without initial connection time)\n{log}");
        assert_eq!(of_postgres(&text), [Served { what: "TPC-B".to_owned(), rate: 50.25, p99: 199.0 }]);
        assert_eq!((of_redis(""), of_postgres("")), (Vec::new(), Vec::new()));
    }
}
