//! Recordings of some kilobytes that claim gigabytes: whoever reads them says so in a line, and takes little memory and time.

use heapwise_tests::bombs::{self, Bomb};
use heapwise_tests::recording::report_on;
use heapwise_tests::{run, tool};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::Writer;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::live::words;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Address space in KiB that heapwise may have. A bomb that is believed takes 1 to 6 GiB.
const MOST_KIB: u64 = 1 << 20;
/// What takes longer hangs; it is far more than a slow and busy machine needs for an unoptimised heapwise.
const HANGS: Duration = Duration::from_secs(60);

fn written(bomb: &Bomb, folder: &Path) -> PathBuf {
    let path = folder.join(format!("{}.hw", bomb.name));
    std::fs::write(&path, &bomb.bytes).expect("a file can be written");
    path
}

/// Runs heapwise with little address space, so that an allocation which is too large ends it.
fn confined(folder: &Path, arguments: &[&str]) -> run::Outcome {
    let mut command = run::command("bash", folder);
    command
        .args(["-c", &format!("ulimit -v {MOST_KIB}; exec \"$@\""), "bash"])
        .arg(tool::heapwise())
        .args(arguments);
    run::finish(&mut command, folder, "confined")
}

#[test]
fn a_bomb_takes_little_memory_and_is_damage() {
    let folder = run::private_folder();
    // By hand, to have them as files.
    let kept = std::env::var_os("HEAPWISE_BOMBS");
    // Those that take long to be read are for the long run.
    let long = if std::env::var_os("HEAPWISE_ATTACKS").is_some() { bombs::long() } else { Vec::new() };
    // Where it has to be built, that is no part of the time.
    tool::heapwise();
    for bomb in bombs::all().into_iter().chain(long) {
        assert!(bomb.bytes.len() < 1 << 20, "{}: {} bytes are no small file", bomb.name, bomb.bytes.len());
        if let Some(kept) = &kept {
            written(&bomb, Path::new(kept));
        }
        let path = written(&bomb, folder.path());
        let began = Instant::now();
        let outcome = confined(folder.path(), &["report", &path.display().to_string()]);
        assert_eq!(outcome.code(), 0, "{}: {}", bomb.name, outcome.stderr);
        assert!(began.elapsed() < HANGS, "{}: {:?}", bomb.name, began.elapsed());
        let is_reported = outcome.text().contains("the recording is damaged from byte");
        assert_eq!(is_reported, bomb.is_damage, "{}:\n{}", bomb.name, outcome.text());
    }
}

#[test]
fn what_is_behind_sections_of_unknown_kinds_is_read_and_they_are_not_unpacked() {
    let folder = run::private_folder();
    let path = written(&bombs::unknown_kinds(), folder.path());
    let (outcome, report) = report_on(&path, folder.path());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let report = report.expect("a report");
    assert!(!report.mentions("no-end") && !report.mentions("damaged"), "{:?}", report.warnings);
}

#[test]
fn whoever_reads_a_bomb_says_so_in_one_line() {
    let folder = run::private_folder();
    for bomb in [bombs::nodes(), bombs::empty_blocks(), bombs::empty_strings(), bombs::readings()] {
        let path = written(&bomb, folder.path()).display().to_string();
        let is_reported = |text: &str| text.contains("the recording is damaged from byte");
        for (format, out) in
            [("dhat", "out"), ("firefox", "out"), ("folded", "out"), ("pprof", "out"), ("parquet", "tables")]
        {
            let outcome = confined(folder.path(), &["export", &path, "--to", format, "--force", "-o", out]);
            assert_eq!(outcome.code(), 0, "{} to {format}: {}", bomb.name, outcome.stderr);
            let lines: Vec<&str> = outcome.stderr.lines().filter(|line| is_reported(line)).collect();
            assert_eq!(lines.len(), 1, "{} to {format}: {}", bomb.name, outcome.stderr);
        }
        let outcome = confined(folder.path(), &["diff", &path, &path]);
        assert_eq!(outcome.code(), 0, "{}: {}", bomb.name, outcome.stderr);
        for command in ["replay", "tune"] {
            let outcome = confined(folder.path(), &[command, &path]);
            assert_eq!(outcome.code(), 4, "{command} {}: {}", bomb.name, outcome.stderr);
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert_eq!(lines.len(), 1, "{command} {}: {}", bomb.name, outcome.stderr);
            assert!(lines[0].starts_with("heapwise: error: ") && is_reported(lines[0]), "{}", lines[0]);
        }
    }
}

/// A recording of one thread that is handed blocks of a size and frees them, each touched as a whole.
fn large_blocks(n: u64, size: u64, peak_rss_bytes: u64) -> Vec<u8> {
    let process = ProcessIndex(0);
    let mut writer = Writer::new(Vec::new(), &Meta { page_bytes: 4096, ..Meta::default() }).expect("memory");
    let info =
        ProcessInfo { index: process, pid: 1, allocator: "/lib/libc.so.6".into(), ..ProcessInfo::default() };
    writer.process(&info).expect("memory");
    writer.thread(&ThreadInfo { index: ThreadIndex(0), process, ..ThreadInfo::default() }).expect("memory");
    let address = |i: u64| BlockAddress((1 << 44) + i * size.next_multiple_of(4096));
    let (function, stack, align_log2) = (AllocFunction::Malloc, StackId(0), 0);
    let allocator = AllocatorNumber::BY_NAME;
    let handed =
        (0..n).map(|i| Event::Alloc { address: address(i), size, align_log2, function, allocator, stack });
    let touched = u32::try_from(size / 4096).ok();
    let freed = (0..n).map(|i| Event::Free { address: address(i), touched });
    let encoded = std::iter::once(Event::Epoch(Epoch(1))).chain(handed).chain(freed).map(words::encode);
    let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(2))).expect("memory");
    writer.run_end(&RunEnd { peak_rss_bytes, ..RunEnd::default() }).expect("memory");
    writer.into_inner()
}

fn replayed(file: &[u8], command: &str, options: &[&str]) -> run::Outcome {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("claims.hw"), file).expect("a file can be written");
    let mut arguments = vec![command, "claims.hw", "--with", "glibc"];
    arguments.extend(options);
    run::finish(run::command(tool::heapwise(), folder.path()).args(arguments), folder.path(), command)
}

#[test]
fn what_a_recording_claims_is_not_touched_above_a_share_of_memory() {
    // 4 TiB, of which any machine that tests run on has less than half.
    let file = large_blocks(64, 64 << 30, 4 << 40);
    assert!(file.len() < 3000, "{}", file.len());
    for command in ["replay", "tune"] {
        let outcome = replayed(&file, command, &[]);
        assert_eq!(outcome.code(), 4, "{command}: {}", outcome.stderr);
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{command}: {}", outcome.stderr);
        assert!(
            lines[0].contains("half of what is available") && lines[0].contains("--memory"),
            "{}",
            lines[0]
        );
    }
    let file = large_blocks(8, 64 << 20, 1 << 30);
    let outcome = replayed(&file, "replay", &["--runs", "0", "--memory", "256MiB"]);
    assert_eq!(outcome.code(), 4, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("would touch 5") && outcome.stderr.contains("may take 256 MiB"),
        "{}",
        outcome.stderr
    );
    let outcome = replayed(&file, "replay", &["--runs", "0", "--memory", "1GiB"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
}

#[test]
fn a_worker_that_takes_more_than_the_recording_lets_expect_is_ended() {
    // The program is said to have been small, and its blocks to have been touched as a whole.
    let file = large_blocks(16, 64 << 20, 1 << 20);
    let outcome = replayed(&file, "replay", &["--runs", "0", "--memory", "100MiB", "--format", "json"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    assert!(outcome.text().contains("took more than 100 MiB of memory"), "{}", outcome.text());
}
