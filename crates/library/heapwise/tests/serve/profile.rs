//! What is in a profile, and what others read in it.

use crate::client::{Read, get, metrics};
use crate::{MIB, Stop, alone, drop_small, grow, keep_large, keep_small, serve};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
        assert!(file.ends_with("tests/serve/main.rs") && *line > 0, "{file}:{line}");
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
            && text.contains("tests/serve/main.rs:"),
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
