//! Programs that serve their own profile: what is in it is what they did.
#![cfg(feature = "serve")]

#[path = "serve/client.rs"]
mod client;

use client::{Read, get, metrics, read, send};
use heapwise::serve::{Options, Server, start};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

const MIB: usize = 1 << 20;

/// A program has one server at a time, and other tests would allocate in between.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(every: u64) -> (Server, SocketAddr) {
    let server = Options::new().sample_every_bytes(every).start("127.0.0.1:0").expect("a port is free");
    let address = server.address();
    (server, address)
}

#[inline(never)]
fn keep_small(count: usize) -> Vec<Box<dyn AsRef<[u8]>>> {
    (0..count).map(|n| black_box(Box::new([n as u8; 100])) as Box<dyn AsRef<[u8]>>).collect()
}

/// Blocks that are always sampled. Their list may be by chance, and so is allocated elsewhere.
fn keep_large(count: usize) -> Vec<Vec<u8>> {
    let mut list = Vec::with_capacity(count);
    fill_large(&mut list, count);
    list
}

#[inline(never)]
fn fill_large(list: &mut Vec<Vec<u8>>, count: usize) {
    list.extend((0..count).map(|n| black_box(vec![n as u8 | 1; MIB])));
}

#[inline(never)]
fn drop_small(count: usize) {
    (0..count).for_each(|n| drop(black_box(Box::new([n as u8; 200]))));
}

#[inline(never)]
fn grow() -> Vec<u64> {
    let mut list = Vec::new();
    (0..1 << 20).for_each(|n| list.push(black_box(n)));
    list
}

/// Whether an estimate of a number of blocks, each with this weight, is within five standard errors.
fn is_near(estimate: i64, truth: usize, weight: f64) -> bool {
    (estimate as f64 - truth as f64).abs() <= 5.0 * (truth as f64 * (weight - 1.0)).sqrt()
}

#[test]
fn values_are_those_of_the_program() {
    const EVERY: u64 = 16 << 10;
    let _alone = alone();
    let (_server, address) = serve(EVERY);
    let (small, large) = (keep_small(400_000), keep_large(7));
    drop_small(300_000);
    let grown = grow();
    for (path, default_type) in [("heap", "inuse_space"), ("allocs", "alloc_space")] {
        let read = Read::of(address, &format!("/debug/pprof/{path}"));
        let profile = &read.profile;
        let types: Vec<_> =
            profile.sample_type.iter().map(|t| (read.text(t.kind), read.text(t.unit))).collect();
        let (objects, bytes) = (["alloc_objects", "inuse_objects"], ["alloc_space", "inuse_space"]);
        assert_eq!(
            types,
            [(objects[0], "count"), (bytes[0], "bytes"), (objects[1], "count"), (bytes[1], "bytes")]
        );
        assert_eq!(read.text(profile.default_sample_type), default_type);
        let period = profile.period_type.as_ref().map(|t| (read.text(t.kind), read.text(t.unit)));
        assert_eq!((period, profile.period), (Some(("space", "bytes")), EVERY as i64));
        let here = std::env::current_exe().expect("a test has a file");
        assert_eq!(read.text(profile.mapping[0].filename), here.to_string_lossy(), "the program comes first");

        let [allocated, _, live, live_bytes] = read.sums("keep_small");
        // 128 of 128 bytes are as much as the distance; the list that holds them is one block more.
        assert!(is_near(allocated, 400_000, 128.0) && is_near(live, 400_000, 128.0), "{allocated} {live}");
        assert!(live_bytes > 40_000_000, "{live_bytes}");
        let [allocated, bytes, live, live_bytes] = read.sums("drop_small");
        assert!(is_near(allocated, 300_000, 64.0), "{allocated}");
        assert_eq!((bytes, live, live_bytes), (200 * allocated, 0, 0));
        assert_eq!(read.sums("fill_large"), [7, 7 << 20, 7, 7 << 20]);
        // Buffers that grew: all of them were allocated, the last one is live.
        let [_, bytes, live, live_bytes] = read.sums("::grow");
        assert_eq!((live, live_bytes), (1, 8 << 20));
        assert!(bytes > 15 << 20 && bytes < 17 << 20, "{bytes}");
    }
    drop((small, large, grown));
    let read = Read::of(address, "/debug/pprof/heap");
    for function in ["keep_small", "fill_large", "::grow"] {
        assert_eq!(read.sums(function)[2..], [0, 0], "{function}");
    }
}

/// A block for every KiB is seen, and what heapwise keeps for the profile is some hundred KiB.
#[test]
fn its_own_blocks_are_not_in_it() {
    let _alone = alone();
    let (_server, address) = serve(1 << 10);
    let kept = keep_large(1);
    for _ in 0..3 {
        let read = Read::of(address, "/debug/pprof/heap");
        assert_eq!(read.sums("fill_large")[2], 1);
        for (stack, values, _) in &read.samples {
            let is_own = |name: &str| name.contains("heapwise::serve") || name.contains("heapwise_portable");
            assert!(!stack.iter().any(|(name, ..)| is_own(name)), "{values:?} {stack:#?}");
        }
    }
    drop(kept);
}

#[test]
fn stacks_begin_where_the_program_allocates() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let (kept, grown) = (keep_large(3), grow());
    let read = Read::of(address, "/debug/pprof/heap");
    for function in ["fill_large", "::grow"] {
        let has = |stack: &[(String, String, i64)]| stack.iter().any(|(name, ..)| name.contains(function));
        let (stack, ..) = read.samples.iter().find(|(stack, ..)| has(stack)).expect(function);
        // What the program calls: `vec!` and `push`. What these call to get to the allocator is left out.
        assert!(stack[0].1.ends_with("alloc/src/vec/mod.rs"), "{stack:#?}");
        let (_, file, line) = stack.iter().find(|f| f.0.contains(function)).expect(function);
        assert!(file.ends_with("tests/serve.rs") && *line > 0, "{file}:{line}");
        for (name, ..) in stack {
            let of_heapwise = [
                "heapwise::allocator",
                "heapwise_portable",
                "heapwise::sampled",
                "backtrace::backtrace",
                "__rust_alloc",
                "__rust_realloc",
            ];
            assert!(!of_heapwise.iter().any(|own| name.contains(own)), "{stack:#?}");
        }
    }
    let text = get(address, "/debug/pprof/heap?debug=1").text();
    assert!(
        text.starts_with("heap profile: ")
            && text.contains("fill_large\t")
            && text.contains("tests/serve.rs:"),
        "{text}"
    );
    drop((kept, grown));
}

#[test]
fn a_difference_is_what_the_seconds_changed() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let mut kept = keep_large(5);
    let difference = std::thread::spawn(move || Read::of(address, "/debug/pprof/heap?seconds=5"));
    // It has begun by then.
    std::thread::sleep(Duration::from_millis(1500));
    kept.truncate(3);
    let more = black_box(vec![1u8; 9 * MIB]);
    // Others are answered meanwhile.
    assert!(metrics(address)["heapwise_heap_live_bytes"].1 >= 12.0 * MIB as f64);
    assert!(!difference.is_finished());
    let read = difference.join().expect("it is read");
    assert!(
        (4_900_000_000..60_000_000_000).contains(&read.profile.duration_nanos),
        "{}",
        read.profile.duration_nanos
    );
    assert_eq!(read.sums("fill_large"), [0, 0, -2, -2 << 20]);
    assert_eq!(read.sums("a_difference_is")[2..], [1 - 2, (9 - 2) << 20]);
    drop((kept, more));
}

#[test]
fn metrics_are_those_of_the_profile_and_the_system() {
    let _alone = alone();
    let (server, address) = serve(1 << 30);
    let none = metrics(address);
    assert_eq!(none["heapwise_profile_samples_total"].1, 0.0);
    for of in ["live", "requested"] {
        let error = format!("heapwise_heap_{of}_bytes_standard_error");
        assert!(!none.contains_key(&error), "nothing is known of no samples, and that is not exact");
    }
    drop(server);
    let (_server, address) = serve(512 << 10);
    let kept = keep_large(40);
    let before = metrics(address);
    let value = |name: &str| before[&format!("heapwise_{name}")].1;
    assert_eq!(value("heap_live_bytes") as usize / MIB, 40);
    assert!(value("heap_requested_bytes_total") >= value("heap_live_bytes"));
    assert!(value("heap_live_bytes_standard_error") < MIB as f64, "blocks of a MiB are all there");
    assert!(value("process_resident_bytes") > 40.0 * MIB as f64);
    assert_eq!(value("profile_period_bytes"), 524_288.0);
    assert_eq!(value("profile_lost_samples_total"), 0.0);
    assert!(value("profile_live_samples") >= 40.0 && value("profile_memory_bytes") < 32.0 * MIB as f64);
    if cfg!(target_os = "linux") {
        assert!(value("process_anonymous_bytes") < value("process_resident_bytes"));
        let ratio = 1.0 - value("heap_live_bytes") / value("process_anonymous_bytes");
        assert!((value("heap_fragmentation_ratio_estimate") - ratio).abs() < 1e-9);
    }
    drop(kept);
    drop_small(1_000_000);
    let after = metrics(address);
    for (name, (kind, value)) in &before {
        assert!(kind != "counter" || after[name].1 >= *value, "{name} counts down");
    }
    let requested = after["heapwise_heap_requested_bytes_total"].1 - value("heap_requested_bytes_total");
    assert!((1.4e8..2.6e8).contains(&requested), "{requested}");
    assert!(after["heapwise_heap_live_bytes"].1 < 20.0 * MIB as f64);
}

#[test]
fn what_is_not_a_plain_question_is_refused() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let status = |request: &str| send(address, request).map(|answer| answer.status);
    let host = format!("Host: {address}\r\n");
    assert_eq!(status(&format!("GET /debug/pprof/heap HTTP/1.1\r\n{host}\r\n")), Some(200));
    assert_eq!(
        status(&format!("POST /debug/pprof/heap HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\nab")),
        Some(405)
    );
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: evil.example:6061\r\n\r\n"), Some(403));
    assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n"), Some(403));
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), Some(200));
    assert_eq!(
        status(&format!("GET /metrics HTTP/1.1\r\n{host}Sec-Fetch-Site: cross-site\r\n\r\n")),
        Some(403)
    );
    assert_eq!(
        status(&format!("GET /metrics HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(1 << 20))),
        Some(431)
    );
    assert_eq!(status("what is this?\r\n\r\n"), Some(400));
    for wrong in ["seconds=0", "seconds=x", "seconds=99999", "seconds=1&debug=1"] {
        assert_eq!(get(address, &format!("/debug/pprof/heap?{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(get(address, "/debug/pprof/profile").status, 404);
    assert_eq!(get(address, "/debug/pprof/").status, 200);
    let head = send(address, &format!("HEAD /metrics HTTP/1.1\r\n{host}\r\n")).expect("an answer");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

const CANARY: &str = "HEAPWISE_TEST_CANARY";

/// What a second process does, which has a secret in its environment, in its command line and in its memory: serves until its input ends.
#[test]
fn keeps_a_secret() {
    let Ok(secret) = std::env::var(CANARY) else { return };
    let (_server, address) = serve(512 << 10);
    let blocks: Vec<Vec<u8>> = (0..10).map(|_| secret.as_bytes().repeat(MIB / 16)).collect();
    println!("at {address}");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("it can be read");
    drop(black_box(blocks));
}

#[test]
fn secrets_of_the_program_are_in_no_answer() {
    let _alone = alone();
    let secret = format!("canary{:x}", std::process::id() as u64 + (1 << 40));
    let mut child = Command::new(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", "keeps_a_secret", "--nocapture", &secret])
        .env(CANARY, &secret)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started again");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut addresses =
        lines.map_while(Result::ok).filter_map(|line| line.split_once("at ")?.1.parse::<SocketAddr>().ok());
    let address = addresses.next().expect("it says where it is");
    for path in ["/metrics", "/debug/pprof/", "/debug/pprof/heap?debug=1", "/secret"] {
        let answer = get(address, path);
        let all = [answer.head.clone(), answer.text()].concat();
        assert!(!all.contains(&secret) && !all.contains("keeps_a_secret --nocapture"), "{path}: {all}");
    }
    for path in ["/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/heap?seconds=1"] {
        let read = Read::of(address, path);
        let has_secret = |text: &String| text.contains(&secret) || text == "--nocapture" || text == CANARY;
        assert_eq!(read.profile.string_table.iter().find(|text| has_secret(text)), None, "{path}");
        // It is the profile of that program. What printing and reading allocate there is in the sample by chance.
        let large = read.samples.iter().filter(|(stack, _, size)| {
            *size > MIB as i64 && stack.iter().any(|(name, ..)| name.contains("keeps_a_secret"))
        });
        let live: i64 = large.map(|(_, values, _)| values[2]).sum();
        assert!(path.contains("seconds") || live == 10, "{path}: {live}");
    }
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn idle_connections_take_no_place() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let mut idle: Vec<TcpStream> =
        (0..32).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let begin = Instant::now();
    // Half of a request is none.
    idle[0].write_all(b"GET /met").expect("it is still there");
    assert_eq!(get(address, "/metrics").status, 200);
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        assert!(read(stream).is_none_or(|answer| answer.status == 408), "it was answered");
    }
    assert!(begin.elapsed() < Duration::from_secs(12), "{:?}", begin.elapsed());
    let many: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(address).ok()).collect();
    drop(many);
    let begin = Instant::now();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    while send(address, &request).map(|answer| answer.status) != Some(200) {
        assert!(begin.elapsed() < Duration::from_secs(8), "it does not recover");
    }
}

#[test]
fn others_are_answered_while_differences_are_waited_for() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let request = |method: &str, more: &str| {
        format!("{method} /debug/pprof/heap?seconds=3600 HTTP/1.1\r\nHost: {address}\r\n{more}\r\n")
    };
    let begin = Instant::now();
    let mut waiting: Vec<TcpStream> =
        (0..20).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    for (number, stream) in waiting.iter_mut().enumerate() {
        // Some send what is no part of the request: then hyper does not look whether they are still there.
        let more = ["", "Connection: close\r\n", "\r\nand more"][number % 3];
        stream.write_all(request("GET", more).as_bytes()).expect("it is still there");
        stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    }
    // Four wait, others are refused; which ones is a matter of chance.
    waiting.retain_mut(|stream| read(stream).is_none_or(|answer| answer.status != 503));
    assert_eq!(waiting.len(), 4);
    assert_eq!(get(address, "/metrics").status, 200);
    let head = send(address, &request("HEAD", "")).expect("an answer");
    assert_eq!((head.status, head.body.len()), (200, 0));
    drop(waiting);
    let short = format!("GET /debug/pprof/heap?seconds=1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let are_answered = || {
        let ask = || send(address, &short).is_some_and(|answer| answer.status == 200);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            all.into_iter().all(|one| one.join().expect("it asks"))
        })
    };
    while !are_answered() {
        assert!(begin.elapsed() < Duration::from_secs(30), "they have left, and keep their places");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn it_ends_when_it_is_dropped_and_begins_anew() {
    let _alone = alone();
    let (server, address) = serve(512 << 10);
    let kept = keep_large(2);
    assert_eq!(start("127.0.0.1:0").expect_err("one at a time").kind(), ErrorKind::ResourceBusy);
    assert_eq!(start(address).expect_err("in use").kind(), ErrorKind::AddrInUse);
    assert_eq!(Read::of(address, "/debug/pprof/heap").sums("fill_large")[2], 2);
    let begin = Instant::now();
    drop(server);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(TcpStream::connect(address).is_err());
    for _ in 0..20 {
        let server = start(address).expect("the port is free again");
        assert_eq!(server.address(), address);
        let more = keep_large(1);
        assert_eq!(
            Read::of(address, "/debug/pprof/heap").sums("fill_large")[2],
            1,
            "blocks from before are not in it"
        );
        drop(more);
    }
    drop(kept);
}

/// What begins on a thread of the caller's runtime must not end there.
#[test]
fn an_error_in_async_code_is_an_error() {
    let _alone = alone();
    let (server, address) = serve(512 << 10);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let error = runtime.block_on(async { start("127.0.0.1:0") }).expect_err("one at a time");
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    drop(server);
    let server = runtime.block_on(async { start(address) }).expect("nothing is left of either");
    metrics(address);
    runtime.block_on(async { drop(server) });
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn an_address_that_others_reach_has_to_be_wanted() {
    let _alone = alone();
    let error = start("0.0.0.0:0").expect_err("it is not a loopback address");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("allow_remote"), "{error}");
    let server = Options::new().allow_remote().start("0.0.0.0:0").expect("it is wanted");
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let answer = send(address, "GET /metrics HTTP/1.1\r\nHost: profiles.example\r\n\r\n").expect("an answer");
    assert_eq!(answer.status, 200);
}

/// A service that waits for SIGTERM on a thread of its own would otherwise die of it.
#[cfg(target_os = "linux")]
#[test]
fn its_threads_take_no_signal_of_the_program() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    metrics(address);
    let tasks = || std::fs::read_dir("/proc/self/task").expect("the system lists threads");
    let own = || -> Vec<(String, u64)> {
        let of_task = |task: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
            let of =
                |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
            let mask = u64::from_str_radix(&of("SigBlk:")?, 16).ok()?;
            of("Name:").filter(|name| name.starts_with("heapwise-")).map(|name| (name, mask))
        };
        tasks().filter_map(of_task).collect()
    };
    // A thread has the name of the one that made it until the system lets it begin.
    let (begin, mut seen) = (Instant::now(), own());
    while seen.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(20), "{seen:?}");
        std::thread::sleep(Duration::from_millis(1));
        seen = own();
    }
    // That of the test before may still be there, and Linux keeps 15 bytes of a name.
    let names: BTreeSet<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["heapwise-profil", "heapwise-serve"]));
    for (name, mask) in seen {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM] {
            assert!(mask >> (signal - 1) & 1 == 1, "{name} takes {signal}: {mask:x}");
        }
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads allocate, free each other's blocks, start and end, while profiles are made.
#[test]
fn it_stands_a_program_under_load() {
    let _alone = alone();
    let (server, address) = serve(4 << 10);
    let stop = AtomicBool::new(false);
    let (at_work, began) = channel();
    std::thread::scope(|scope| {
        for seed in 0..4usize {
            let (stop, at_work) = (&stop, at_work.clone());
            scope.spawn(move || {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                let mut n = seed;
                while !stop.load(Ordering::Relaxed) {
                    n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    kept.push(black_box(vec![0; n >> 33 & 0xfff]));
                    if kept.len() > 1000 {
                        let all = std::mem::take(&mut kept);
                        std::thread::spawn(move || drop(all)).join().expect("it only frees");
                        let _ = at_work.send(());
                    }
                }
            });
        }
        // Also if a check fails, or the threads would go on for ever.
        let _stop = Stop(&stop);
        drop(at_work);
        // Threads begin when the system lets them; until then there is nothing to be seen.
        began.recv().expect("a thread is at work");
        let begin = Instant::now();
        let mut rounds = 0;
        while begin.elapsed() < Duration::from_secs(4) || rounds < 3 {
            assert!(begin.elapsed() < Duration::from_secs(120), "{rounds} rounds");
            let read = Read::of(address, "/debug/pprof/heap");
            let allocated = read.sums("it_stands_a_program")[0];
            assert!(allocated > 0, "round {rounds}: {:?}", metrics(address));
            metrics(address);
            rounds += 1;
        }
    });
    // All was freed, whatever was lost meanwhile.
    let read = Read::of(address, "/debug/pprof/heap");
    let [allocated, _, live, _] = read.sums("it_stands_a_program");
    assert!(allocated > 10_000 && live * 100 <= allocated, "{live} of {allocated}");
    drop(server);
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "std has no fork")]
#[test]
fn a_forked_child_serves_nothing_and_does_not_hang() {
    let _alone = alone();
    let (server, address) = serve(512 << 10);
    let kept = keep_large(3);
    // SAFETY: the child allocates a little, which glibc and musl permit, and leaves at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let more = keep_large(2);
        let is_refused = start("127.0.0.1:0").is_err_and(|error| error.to_string().contains("forked"));
        drop(more);
        drop(server);
        // SAFETY: it does not return, and runs nothing of the parent's.
        unsafe { libc::_exit(i32::from(!is_refused)) };
    }
    let begin = Instant::now();
    let mut status = 0;
    // SAFETY: a child of this process, and a number that is written to.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "the child hangs");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status, 0);
    assert_eq!(Read::of(address, "/debug/pprof/heap").sums("fill_large")[2], 3);
    drop((server, kept));
}

/// The real reader, while the program works.
#[cfg(not(windows))]
#[test]
fn pprof_reads_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_server, address) = serve(512 << 10);
    let kept = keep_large(30);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop_small(1000);
            }
        });
        let _stop = Stop(&stop);
        let pprof = |arguments: &[&str], path: &str| {
            let mut command = std::process::Command::new("go");
            command
                .env("GOTOOLCHAIN", "local")
                .env("GOFLAGS", "-buildvcs=false")
                .env("PPROF_TMPDIR", folder.path());
            command
                .args(["tool", "pprof"])
                .args(arguments)
                .arg(format!("http://{address}/debug/pprof/{path}"));
            let output = match command.output() {
                Ok(output) => output,
                Err(_) if std::env::var_os("HEAPWISE_SKIP_MISSING").is_some_and(|value| value == "1") => {
                    return None;
                }
                Err(error) => panic!("go: {error}; install it, or set HEAPWISE_SKIP_MISSING=1"),
            };
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).expect("text"))
        };
        let top = pprof(&["-top", "-cum", "-sample_index=inuse_space"], "heap");
        if let Some(top) = &top {
            assert!(top.contains("Type: inuse_space"), "{top}");
            let line = top
                .lines()
                .find(|line| line.ends_with("serve::fill_large"))
                .unwrap_or_else(|| panic!("{top}"));
            assert!(line.contains("30MB") || line.contains("30.0"), "{line}");
        }
        if let Some(top) = pprof(&["-top", "-cum"], "allocs") {
            assert!(top.contains("Type: alloc_space") && top.contains("serve::drop_small"), "{top}");
        }
        if let Some(list) = pprof(&["-list", "fill_large"], "heap") {
            assert!(list.contains("vec![n as u8 | 1; MIB]") && list.contains("30MB"), "{list}");
        }
        if let Some(difference) = pprof(&["-top", "-cum", "-seconds=1", "-sample_index=alloc_space"], "heap")
        {
            assert!(
                difference.contains("serve::drop_small") && !difference.contains("fill_large"),
                "{difference}"
            );
        }
    });
    drop(kept);
}
