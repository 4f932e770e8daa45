//! What the recorded programs do, and what they say that they did, in lines like `expect kept 100`.

#![cfg_attr(unix, expect(unsafe_code, reason = "forks"))]

use heapwise::{Recorder, record_to};
use heapwise_trace::file::{Reader, Section};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

pub(crate) const SCENE: &str = "HEAPWISE_TEST_SCENE";
pub(crate) const FILE: &str = "HEAPWISE_TEST_FILE";

/// What a program says.
pub(crate) struct Truth(BTreeMap<String, u64>);

impl Truth {
    pub(crate) fn parse(said: &str) -> Self {
        let lines = said.lines().filter_map(|line| {
            let (name, value) = line.split("expect ").nth(1)?.split_once(' ')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        });
        Self(lines.collect())
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("the program does not say {name}: {:?}", self.0))
    }
}

fn expect(name: &str, value: u64) {
    println!("expect {name} {value}");
}

type Blocks = Vec<Vec<u8>>;

fn block(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

#[inline(never)]
fn keep(blocks: &mut Blocks, bytes: usize) {
    blocks.push(block(bytes));
}

#[inline(never)]
fn outer() -> Vec<u8> {
    let block = inner();
    black_box(&block);
    block
}

#[inline(always)]
fn inner() -> Vec<u8> {
    black_box(Vec::with_capacity(77))
}

pub(crate) fn play(scene: &str, file: &Path) {
    match scene {
        "exact" => exact(file),
        "sampled" => sampled(file),
        "threads" => threads(file),
        "dropped" => {
            let recording = everything(file);
            let blocks = kept(300);
            drop(recording);
            drop(blocks);
        }
        "left" => {
            std::mem::forget(everything(file));
            std::mem::forget(kept(300));
        }
        "nothing-of-its-own" => drop(kept(300)),
        "marks" => marks(file),
        "twice" => twice(file),
        "killed" => {
            std::mem::forget(everything(file));
            let _blocks = kept(300);
            // It is killed when names have been written, which takes a while where debug information is read slowly.
            let begin = std::time::Instant::now();
            while !has_names(file) && begin.elapsed().as_secs() < 60 {
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            std::process::abort();
        }
        #[cfg(unix)]
        "fork" => fork(file),
        #[cfg(target_os = "linux")]
        "full" => full(file),
        other => panic!("no scene {other}"),
    }
}

fn has_names(file: &Path) -> bool {
    let file = std::fs::File::open(file).expect("a recording");
    let mut reader = Reader::new(std::io::BufReader::new(file)).expect("a recording");
    std::iter::from_fn(|| reader.next_section().ok().flatten()).any(|s| matches!(s, Section::Symbols(_)))
}

fn everything(file: &Path) -> heapwise::Recording {
    Recorder::options().sample_every_bytes(1).start(file).expect("it begins")
}

fn kept(n: u64) -> Blocks {
    let mut blocks = Vec::with_capacity(n as usize);
    (0..n).for_each(|_| keep(&mut blocks, 40));
    expect("kept", n);
    blocks
}

fn exact(file: &Path) {
    let mut blocks: Blocks = Vec::with_capacity(3000);
    let early = block(1000);
    let recording = everything(file);
    let (mut allocations, mut reallocations, mut deallocations, mut bytes) = (0, 0, 0, 0);
    for i in 0..1000 {
        keep(&mut blocks, 16 + i % 200);
        allocations += 1;
        bytes += 16 + i as u64 % 200;
        if i % 3 == 0 {
            let last = blocks.last_mut().expect("just pushed");
            last.reserve_exact(1000 + i);
            reallocations += 1;
            bytes += 1000 + i as u64;
        }
        if i % 2 == 0 {
            drop(blocks.swap_remove(i * 7 % blocks.len()));
            deallocations += 1;
        }
    }
    let zeroes = black_box(vec![0u8; 5000]);
    blocks.push(outer());
    allocations += 2;
    bytes += 5077;
    // Nothing of this is of before.
    drop(early);
    let live: u64 = blocks.iter().map(|block| block.capacity() as u64).sum::<u64>() + 5000;
    let recorded = recording.finish().expect("it ends");
    // After the end nothing is recorded any more.
    keep(&mut blocks, 16);
    drop(zeroes);
    assert!(recorded.lost_events == 0 && recorded.events >= allocations + reallocations + deallocations);
    assert_eq!(recorded.bytes, std::fs::metadata(file).expect("it is there").len());
    expect("allocations", allocations);
    expect("reallocations", reallocations);
    expect("deallocations", deallocations);
    expect("bytes", bytes);
    expect("live", live);
    expect("live_blocks", blocks.len() as u64 - 1 + 1);
}

fn sampled(file: &Path) {
    let mut blocks: Blocks = Vec::with_capacity(400_000);
    let mut x = 1u64;
    let mut random = move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x >> 33
    };
    let recording = Recorder::options().sample_every_bytes(32 << 10).start(file).expect("it begins");
    let (mut requests, mut bytes, mut live, mut peak) = (0u64, 0u64, 0u64, 0u64);
    for i in 0..400_000u64 {
        let size = match random() % 100 {
            0..60 => 16 + random() % 48,
            60..98 => 100 + random() % 900,
            _ => 4000 + random() % 60_000,
        };
        blocks.push(block(size as usize));
        (requests, bytes, live) = (requests + 1, bytes + size, live + size);
        peak = peak.max(live);
        if i % 10 < 8 {
            let at = random() as usize % blocks.len();
            let mut taken = blocks.swap_remove(at);
            live -= taken.capacity() as u64;
            if i % 10 == 0 {
                taken.reserve_exact(taken.capacity() * 2);
                let size = taken.capacity() as u64;
                (requests, bytes, live) = (requests + 1, bytes + size, live + size);
                peak = peak.max(live);
                blocks.push(taken);
            }
        }
    }
    let recorded = recording.finish().expect("it ends");
    assert_eq!(recorded.lost_events, 0);
    expect("requests", requests);
    expect("bytes", bytes);
    expect("live", live);
    expect("peak", peak);
}

#[inline(never)]
fn hand_over(to: &std::sync::mpsc::SyncSender<Vec<u8>>) {
    to.send(block(123)).expect("the receiver is there");
}

fn threads(file: &Path) {
    let recording = everything(file);
    let (each, n) = (500u64, 4u64);
    std::thread::scope(|scope| {
        for i in 0..n {
            let (to, from) = std::sync::mpsc::sync_channel(4);
            let named = std::thread::Builder::new().name(format!("worker-{i}"));
            named.spawn_scoped(scope, move || (0..each).for_each(|_| hand_over(&to))).expect("a thread");
            scope.spawn(move || from.iter().for_each(drop));
        }
    });
    recording.finish().expect("it ends");
    expect("threads", n);
    expect("handed", each * n);
}

fn twice(file: &Path) {
    let first = everything(file);
    let refused = record_to(file.with_extension("refused")).expect_err("one is under way");
    assert!(refused.to_string().contains("already"), "{refused}");
    first.finish().expect("it ends");
    let second =
        Recorder::options().sample_every_bytes(1).start(file.with_extension("second")).expect("it begins");
    let blocks = kept(200);
    second.finish().expect("it ends");
    drop(blocks);
    let again = record_to(file).expect_err("it exists");
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
}

#[cfg(unix)]
fn fork(file: &Path) {
    let recording = everything(file);
    let mut blocks = kept(100);
    // SAFETY: the child allocates, which is what is tested, and ends; no other thread of this scene holds a lock.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        (0..100).for_each(|_| keep(&mut blocks, 40));
        let is_refused = recording.finish().is_err();
        // SAFETY: it ends the child as `exit` does, with what is to be done at the exit.
        unsafe { libc::exit(if is_refused { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the status is written to where it is.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    recording.finish().expect("it ends");
}

/// The file may not grow beyond a few pages.
#[cfg(target_os = "linux")]
fn full(file: &Path) {
    let limit = libc::rlimit { rlim_cur: 16 << 10, rlim_max: 16 << 10 };
    // SAFETY: the signal that comes with the limit is ignored, and the limit is a structure of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
    let recording = everything(file);
    let mut x = 1u64;
    let mut blocks = Vec::new();
    for i in 0..200_000 {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        keep(&mut blocks, 16 + (x >> 52) as usize);
        if i % 20_000 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(120));
        }
    }
    let error = recording.finish().expect_err("the disk is full");
    let message = error.to_string();
    assert!(
        message.contains("recording.hw") && message.contains("cut off") && message.lines().count() == 1,
        "{message}"
    );
    expect("refused", 1);
}

fn marks(file: &Path) {
    let recording = everything(file);
    heapwise::mark("begun");
    for _ in 0..3 {
        let _span = heapwise::span("round");
        drop((block(100), block(200)));
    }
    std::thread::spawn(|| {
        let _span = heapwise::span("x".repeat(300));
        drop(block(300));
    })
    .join()
    .expect("it does not panic");
    recording.finish().expect("it is written");
}
