//! Whatever is wrong with what heapwise is given, it says so in one line with a remedy and ends with a code that
//! scripts can rely on.

use heapwise_tests::recording::{Recording, report_on};
use heapwise_tests::{programs, run, tool};
use heapwise_trace::file::HEADER_BYTES;
use heapwise_trace::file::reader::{FRAME_BYTES, section_bytes};
use heapwise_trial::supervise::{Child, Ended};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise")
}

/// The one line of an error.
fn one_line(outcome: &run::Outcome) -> &str {
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "not one line:\n{}", outcome.stderr);
    assert!(lines[0].starts_with("heapwise: error: "), "{}", lines[0]);
    lines[0]
}

fn recording(folder: &Path) -> std::path::PathBuf {
    let recorded = Recording::new(folder).record("ls", &["/"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    recorded.file
}

#[test]
fn a_program_that_does_not_exist_ends_with_127() {
    let folder = run::private_folder();
    let outcome = heapwise(folder.path(), &["run", "-o", "a.hw", "--", "no-such-program-anywhere"]);
    assert_eq!(outcome.code(), 127);
    assert!(one_line(&outcome).contains("no-such-program-anywhere"));
    assert!(!folder.path().join("a.hw").exists(), "there is nothing to keep");
}

#[test]
fn a_file_that_cannot_be_executed_ends_with_126() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("plain"), "text").expect("a file can be written");
    let outcome = heapwise(folder.path(), &["run", "-o", "a.hw", "--", "./plain"]);
    assert_eq!(outcome.code(), 126);
    assert!(one_line(&outcome).contains("./plain"));
    assert!(!folder.path().join("a.hw").exists(), "there is nothing to keep");
}

#[test]
fn launch_is_for_windows_and_says_what_is_for_linux() {
    let folder = run::private_folder();
    let outcome = heapwise(folder.path(), &["launch", "--", "touch", "started"]);
    assert_eq!(outcome.code(), 2);
    assert!(one_line(&outcome).contains("heapwise doctor"), "{}", outcome.stderr);
    assert!(!folder.path().join("started").exists());
}

#[test]
fn an_existing_file_is_not_touched_without_force() {
    let folder = run::private_folder();
    let path = folder.path().join("a.hw");
    std::fs::write(&path, "precious").expect("a file can be written");
    let outcome = heapwise(folder.path(), &["run", "-o", "a.hw", "--", "touch", "was-run"]);
    assert_eq!(outcome.code(), 125);
    let line = one_line(&outcome);
    assert!(line.contains("a.hw") && line.contains("--force"), "{line}");
    assert_eq!(std::fs::read(&path).expect("it is there"), b"precious");
    assert!(!folder.path().join("was-run").exists(), "the program was run in vain");
    let outcome = heapwise(folder.path(), &["run", "--force", "-o", "a.hw", "--", "touch", "was-run"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(folder.path().join("was-run").exists());
}

#[test]
fn a_result_does_not_overwrite_the_recording_that_it_comes_from() {
    let folder = run::private_folder();
    let file = recording(folder.path());
    let before = std::fs::read(&file).expect("a recording");
    std::os::unix::fs::symlink(&file, folder.path().join("link.hw")).expect("a link");
    let name = file.display().to_string();
    let commands: [&[&str]; 5] = [
        &["report", &name],
        &["diff", &name, &name],
        &["export", &name, "--to", "folded"],
        &["replay", &name],
        &["tune", &name],
    ];
    for command in commands {
        for out in [name.as_str(), "link.hw"] {
            let outcome = heapwise(folder.path(), &[command, &["-o", out]].concat());
            assert_eq!(outcome.code(), 2, "{command:?}: {}", outcome.stderr);
            assert!(one_line(&outcome).contains("would overwrite the recording"), "{}", outcome.stderr);
            assert!(std::fs::read(&file).expect("a recording") == before, "{command:?} has overwritten it");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_said_before_the_program_runs() {
    let folder = run::private_folder();
    // Not even root can create files in /proc, nor in what does not exist.
    for place in ["/proc/a.hw", "no/such/folder/a.hw"] {
        let outcome = heapwise(folder.path(), &["run", "-o", place, "--", "touch", "was-run"]);
        assert_eq!(outcome.code(), 125);
        assert!(one_line(&outcome).contains(place), "{}", outcome.stderr);
        assert!(!folder.path().join("was-run").exists());
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let folder = run::private_folder();
    for arguments in
        [&["run"][..], &["run", "--"], &["report"], &["run", "--duration", "soon", "--", "ls"], &["dance"]]
    {
        assert_eq!(heapwise(folder.path(), arguments).code(), 2, "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_no_recording_ends_with_4_and_one_line() {
    let folder = run::private_folder();
    let whole = std::fs::read(recording(folder.path())).expect("a recording");
    let mut newer = whole.clone();
    newer[8] = 0xff;
    let cases: [(&str, Option<&[u8]>, &str); 5] = [
        ("missing.hw", None, "No such file; `heapwise run -o FILE.hw CMD`"),
        ("empty.hw", Some(b""), "not a heapwise recording"),
        ("foreign.hw", Some(b"heaptrack version 1.5\nand so on and on"), "not a heapwise recording"),
        ("cut-in-its-first-bytes.hw", Some(&whole[..10]), "not a heapwise recording"),
        ("newer.hw", Some(&newer), "update heapwise"),
    ];
    for (name, content, expected) in cases {
        if let Some(content) = content {
            std::fs::write(folder.path().join(name), content).expect("a file can be written");
        }
        let outcome = heapwise(folder.path(), &["report", name]);
        assert_eq!(outcome.code(), 4, "{name}: {}", outcome.stderr);
        let line = one_line(&outcome);
        assert!(line.contains(name) && line.contains(expected), "{line}");
        assert!(outcome.stdout.is_empty());
    }
    let outcome = heapwise(folder.path(), &["report", "."]);
    assert_eq!(outcome.code(), 4);
    assert!(one_line(&outcome).contains("folder"), "{}", outcome.stderr);
}

#[test]
fn a_truncated_recording_is_read_to_its_last_whole_section_and_says_so() {
    let folder = run::private_folder();
    let whole = std::fs::read(recording(folder.path())).expect("a recording");
    let mut reports = 0;
    for share in [30, 60, 90, 99] {
        let part = folder.path().join("part.hw");
        let cut = whole.len() * share / 100;
        // Between two sections nothing is cut off that could be noticed, but for the end.
        let between = whole[cut..].starts_with(b"HWSE");
        let expected = if between { "no-end" } else { "truncated" };
        std::fs::write(&part, &whole[..cut]).expect("a file can be written");
        let (outcome, report) = report_on(&part, folder.path());
        if outcome.code() == 4 {
            // So little is left that it does not even say what was recorded.
            assert!(one_line(&outcome).contains("part.hw"), "{}", outcome.stderr);
            continue;
        }
        assert_eq!(outcome.code(), 0, "{share} %: {}", outcome.stderr);
        let report = report.expect("a report");
        assert!(report.mentions(expected), "{share} %: {:?}", report.warnings);
        reports += 1;
    }
    assert!(reports >= 2, "hardly anything of a truncated recording was readable");
}

/// Where the section begins and ends that has this byte.
fn section_around(file: &[u8], byte: usize) -> (usize, usize) {
    let mut begin = HEADER_BYTES;
    loop {
        let frame = file[begin..].first_chunk().expect("a whole recording");
        let end = begin + section_bytes(frame).expect("a section") as usize;
        if byte < end {
            return (begin, end);
        }
        begin = end;
    }
}

#[test]
fn a_damaged_recording_is_read_up_to_the_damage() {
    let folder = run::private_folder();
    let whole = std::fs::read(recording(folder.path())).expect("a recording");
    for share in [40, 80] {
        let mut bytes = whole.clone();
        // Where the length of the last section changes, a recording looks like one that was cut off; its content does not.
        let (frame, end) = section_around(&whole, whole.len() * share / 100);
        bytes[(frame + FRAME_BYTES).midpoint(end)] ^= 0xff;
        let path = folder.path().join("damaged.hw");
        std::fs::write(&path, &bytes).expect("a file can be written");
        let (outcome, report) = report_on(&path, folder.path());
        assert_eq!(outcome.code(), 0, "{share} %: {}", outcome.stderr);
        let report = report.expect("a report");
        assert!(report.mentions("damaged"), "{share} %: {:?}", report.warnings);
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let Some(python) = programs::python() else { return };
    let folder = run::private_folder();
    let at = folder.path();
    // A file system of 64 KiB, seen by this command alone. What was written is copied out before it vanishes.
    std::fs::create_dir(at.join("disk")).expect("a folder can be made");
    let script =
        "mount -t tmpfs -o size=64k tmpfs disk || exit 99\n\"$@\"; code=$?\ncp disk/a.hw a.hw; exit $code";
    let work =
        "import random\nd = [bytearray(random.randrange(600, 9999)) for i in range(300000)]\nprint(len(d))";
    let mut command = run::command("unshare", at);
    // Who is not root can be in a separate namespace, where the system allows it.
    command
        .arg(if programs::is_root() { "-m" } else { "-rm" })
        .args(["sh", "-c", script, "sh"])
        .arg(tool::heapwise());
    command.args(["run", "-o", "disk/a.hw", "--"]).arg(python).args(["-c", work]);
    let outcome = run::finish(&mut command, at, "full");
    if outcome.code() == 99 && !programs::is_root() {
        eprintln!("SKIPPED: no file system can be mounted here: {}", outcome.stderr);
        return;
    }
    assert_eq!(outcome.text(), "300000\n", "{}", outcome.stderr);
    assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
    let last = outcome.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("a.hw") && last.contains("--max-size"), "{last}");
    let (outcome, report) = report_on(&at.join("a.hw"), at);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(report.expect("a report").totals.requests() > 0, "what was written is lost");
}

/// Runs `ls` under heapwise with a limit on the size of files; the shared memory is a large file to the kernel.
fn under_a_size_limit(kind: &str) -> run::Outcome {
    let folder = run::private_folder();
    let mut command = run::command("bash", folder.path());
    command
        .args(["-c", &format!("ulimit {kind} -f 1024; exec \"$@\""), "bash"])
        .arg(tool::heapwise())
        .args(["run", "-o", "a.hw", "--", "ls", "/"]);
    run::finish(&mut command, folder.path(), "limited")
}

#[test]
fn a_soft_limit_on_the_size_of_files_is_no_obstacle() {
    let outcome = under_a_size_limit("-S");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
}

#[test]
fn a_hard_limit_on_the_size_of_files_is_named_unless_it_may_be_raised() {
    let outcome = under_a_size_limit("-SH");
    if outcome.code() != 0 {
        assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("ulimit -f"), "{}", outcome.stderr);
    }
}

#[test]
fn the_recording_is_its_owners_alone() {
    let folder = run::private_folder();
    let mode = std::fs::metadata(recording(folder.path())).expect("a recording").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// What a command took at most of resident memory, in bytes, and what it said. Its address space is limited.
fn within(folder: &Path, limit_kib: u64, arguments: &[&str]) -> (u64, String) {
    // The kernel counts what a process had before it was executed, so the one that forks has to be small: this one is not.
    const SMALL: &str = "\
import os, resource, sys
limit = int(sys.argv[1]) * 1024
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
open('peak', 'w').write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
";
    let out = std::fs::File::create(folder.join("said")).expect("a file");
    let mut command = run::command("python3", folder);
    command.args(["-c", SMALL, &limit_kib.to_string()]).arg(tool::heapwise()).args(arguments);
    command.stderr(out.try_clone().expect("a descriptor")).stdout(out);
    let Ended { status, .. } = Child::start(&mut command).expect("it can be started").wait();
    let said = String::from_utf8_lossy(&std::fs::read(folder.join("said")).expect("a file")).into_owned();
    let end: String = said.chars().rev().take(500).collect::<Vec<_>>().into_iter().rev().collect();
    // 3 is what doctor ends with when it has found something.
    assert!([Some(0), Some(3)].contains(&status.code()), "{status}: {end}");
    let peak = std::fs::read_to_string(folder.join("peak")).expect("a number");
    (peak.parse::<u64>().expect("kibibytes") << 10, said)
}

/// The machine itself may give rise to its own findings.
fn launches_with_the_debug_heap(checkup: &serde_json::Value) -> usize {
    let findings = checkup["findings"].as_array().expect("findings");
    findings.iter().filter(|finding| finding["id"] == "ide-debug-heap").count()
}

/// A file of a kind that doctor reads, with so many launches.
type Kind = (&'static str, fn(usize) -> String);

#[test]
fn what_doctor_takes_grows_with_a_repository_and_not_with_its_square() {
    const KINDS: &[Kind] = &[
        (".vscode/launch.json", |n| {
            let one = |n| {
                format!(
                    "  {{\"type\": \"lldb\", \"request\": \"launch\", \"name\": \"number {n}\", \"program\": \"target/debug/deps/program\"}}"
                )
            };
            format!("{{\"configurations\": [\n{}\n]}}", (0..n).map(one).collect::<Vec<_>>().join(",\n"))
        }),
        ("one-line/.vscode/launch.json", |n| {
            let one = |n| {
                format!(
                    "{{\"type\":\"lldb\",\"env\":{{}},\"name\":\"{n}\",\"args\":[\"{}\"]}}",
                    "x".repeat(64)
                )
            };
            format!("{{\"configurations\":[{}]}}", (0..n).map(one).collect::<Vec<_>>().join(","))
        }),
        ("wide/.vscode/launch.json", |n| {
            let one = |n| format!("{{\n\"type\":\"lldb\",\"name\":\"{n}\"}}");
            let blank = " ".repeat(n * 80);
            format!("{{\n{blank}\"configurations\":[{}]}}", (0..n).map(one).collect::<Vec<_>>().join(","))
        }),
        (".idea/workspace.xml", |n| {
            let one = |n| {
                format!(
                    "<configuration name=\"{n}\" type=\"CargoCommandRunConfiguration\"><option name=\"command\" value=\"run\"/></configuration>"
                )
            };
            format!("<project>\n{}</project>", (0..n).map(one).collect::<String>())
        }),
        ("attributes.vcxproj.user", |n| {
            format!("<Project{}/>", (0..n * 12).map(|n| format!(" a{n}=''")).collect::<String>())
        }),
        ("old.vcxproj.user", |n| {
            let one = |n| {
                format!(
                    "<PropertyGroup Condition=\"'$(Configuration)|$(Platform)'=='{n}|x64 of a long name\"></PropertyGroup>"
                )
            };
            format!("<Project ToolsVersion=\"12.0\">\n{}</Project>", (0..n).map(one).collect::<String>())
        }),
        ("A.xcscheme", |n| {
            let one = |_| {
                "<LaunchAction enableAddressSanitizer = \"YES\" buildConfiguration = \"Debug\" selectedDebugger = \"x\"/>".to_owned()
            };
            format!("<Scheme>\n{}</Scheme>", (0..n).map(one).collect::<String>())
        }),
        ("main.rs", |n| {
            let one = |n| {
                format!(
                    "fn f{n}() {{ unsafe {{ std::env::set_var(\"_NO_DEBUG_HEAP\", \"1\") }} }} // {}",
                    "'\\".repeat(20)
                )
            };
            (0..n).map(one).collect::<Vec<_>>().join("\n")
        }),
    ];
    let folder = run::private_folder();
    // Where the loader puts things changes how many pages of the file are resident, by most of a megabyte: the least of
    // some counts, because what a small file takes is no more than that, and is what the larger one is compared with.
    let nothing = (0..5).map(|_| within(folder.path(), 1 << 20, &["doctor", "--format", "json"]).0).min();
    let nothing = nothing.expect("there are five");
    for (name, text) in KINDS {
        let folder = run::private_folder();
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
        let mut took = [0; 2];
        // Half a megabyte of the kind that took 3.5 GB, and less of the others, to be quick.
        let most = if *name == ".vscode/launch.json" { 4_900 } else { 1_200 };
        for (at, n) in [most / 4, most].into_iter().enumerate() {
            let text = text(n);
            assert!(n < 4_900 || text.len() > 460_000, "{name}: {}", text.len());
            std::fs::write(&file, &text).expect("a file");
            let (memory, said) = within(folder.path(), 400 << 10, &["doctor", "--format", "json"]);
            took[at] = memory.saturating_sub(nothing);
            let value: serde_json::Value =
                serde_json::from_str(&said).unwrap_or_else(|e| panic!("{name}: {e}"));
            let found = value["findings"].as_array().map_or(0, Vec::len)
                + value["unread"].as_array().map_or(0, Vec::len);
            assert!(found > 0, "{name}: nothing is reported");
            if name.ends_with("launch.json") {
                assert_eq!(launches_with_the_debug_heap(&value), n, "{name}");
                assert_eq!(value["launches"].as_array().expect("launches").len(), n, "{name}");
            }
        }
        // Four times the file, with room for what is rounded; with the square it would be sixteen times.
        assert!(took[1] <= took[0] * 6 + (4 << 20), "{name}: {took:?}");
        assert!(took[1] < 64 << 20, "{name}: {took:?}");
    }
}

#[test]
fn what_is_left_out_of_a_repository_with_too_much_is_reported() {
    let folder = run::private_folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at(".vscode")).expect("a folder");
    let one = "{\"type\":\"lldb\"}";
    let many = format!("{{\"configurations\":[{}]}}", vec![one; 6_000].join(","));
    std::fs::write(at(".vscode/launch.json"), &many).expect("a file");
    for n in 0..5 {
        std::fs::create_dir_all(at(&format!("p{n}/.vscode"))).expect("a folder");
        std::fs::write(at(&format!("p{n}/.vscode/launch.json")), &many).expect("a file");
    }
    // More than all files together may have; each is within its own limit, and says little.
    for n in 0..11 {
        std::fs::write(at(&format!("{n}.code-workspace")), format!("{{}}{}", " ".repeat(7 << 20)))
            .expect("a file");
    }
    let (memory, said) = within(folder.path(), 600 << 10, &["doctor", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(launches_with_the_debug_heap(&value), 20_000);
    let unread: Vec<&str> =
        value["unread"].as_array().expect("a list").iter().filter_map(|line| line.as_str()).collect();
    for word in
        ["more than 5000 launches or findings", "more than 20000", "more than 64 MiB of configuration"]
    {
        assert!(unread.iter().any(|line| line.contains(word)), "{word}: {unread:?}");
    }
    assert!(memory < 300 << 20, "{memory}");
}
