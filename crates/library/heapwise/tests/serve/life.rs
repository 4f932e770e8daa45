//! When a server begins and ends, and what the program does meanwhile.

use crate::client::{Read, metrics, send};
use crate::{Stop, alone, keep_large, serve};
use heapwise::serve::{Options, start};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

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
