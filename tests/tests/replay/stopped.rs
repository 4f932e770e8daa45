//! Replays that find no room, or are interrupted.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use super::accounts::check_parts;
use super::candidates::misbehaving;
use super::command::{candidate, candidates, number, parsed, record, replay_command, small};
use heapwise_tests::run::{self, private_folder};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Limits of the process that replays, as a shell sets them.
fn limited(command: &mut Command, resource: libc::__rlimit_resource_t, bytes: u64) -> &mut Command {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the closure makes a system call with its own structure and nothing else.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    }
}

#[test]
fn a_script_that_finds_no_room_is_an_error_in_one_line() {
    let folder = private_folder();
    let file = small(folder.path());
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
    let outcome = run::finish(limited(&mut command, libc::RLIMIT_FSIZE, 16 << 10), folder.path(), "limited");
    // Root may go beyond the limit for shared memory, but not for the script.
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("TMPDIR"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.trim().lines().count(), 1, "{}", outcome.stderr);
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
    command.env("TMPDIR", folder.path().join("nowhere"));
    let outcome = run::finish(&mut command, folder.path(), "nowhere");
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nowhere"), "{}", outcome.stderr);
}

#[test]
fn too_little_address_space_is_reported_for_each_candidate() {
    let folder = private_folder();
    let file = small(folder.path());
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc,jemalloc", "--runs", "0"]);
    let outcome = run::finish(limited(&mut command, libc::RLIMIT_AS, 2 << 30), folder.path(), "limited");
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let all = parsed(&outcome);
    for candidate in candidates(&all) {
        assert_eq!(candidate["outcome"], "unavailable", "{candidate}");
        assert!(candidate["trouble"].as_str().is_some_and(|t| t.contains("memory")), "{candidate}");
    }
}

#[test]
fn an_interrupt_ends_with_what_was_measured() {
    let folder = private_folder();
    let file = record("temporary_pairs", folder.path()).file;
    // Its first replay goes well, and so does glibc's, for the second round begins behind both. The next one gets stuck, and
    // leaves a sign of that.
    let [first, stuck] = ["first", "stuck"].map(|name| folder.path().join(name));
    let what = format!(
        "static int state; if (!state) {{ state = 1; \
         int fd = open(\"{}\", O_CREAT | O_EXCL | O_WRONLY, 0600); \
         if (fd < 0) {{ state = 2; fd = open(\"{}\", O_CREAT | O_WRONLY, 0600); }} close(fd); }} \
         while (state == 2) sleep(1);",
        first.display(),
        stuck.display()
    );
    let hangs = misbehaving(folder.path(), "hangs", &what);
    let list = format!("glibc,{hangs}");
    let mut command =
        replay_command(&file, folder.path(), &["--with", &list, "--runs", "3", "--stall-timeout", "10m"]);
    let running = run::start(&mut command, folder.path(), "interrupted");
    let began = Instant::now();
    while !stuck.exists() {
        assert!(began.elapsed() < run::PATIENCE, "nothing got stuck");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal_group(libc::SIGINT);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let all = parsed(&outcome);
    assert_eq!(all["is_interrupted"], true);
    for name in ["glibc", &hangs] {
        let candidate = candidate(&all, name);
        assert_eq!(candidate["outcome"], "complete", "it was heapwise that ended it: {candidate}");
        assert!(number(candidate, "peak_rss_bytes") > 0, "{candidate}");
        check_parts(&candidate["at_peak"]);
    }
}
