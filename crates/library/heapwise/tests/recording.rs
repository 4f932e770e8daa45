//! Programs that record themselves: what is in the file is what they did.
//!
//! Each test is a separate process: this program starts itself again with one *scene*, and reads what that has recorded.
#![cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]

#[path = "recording/scenes.rs"]
mod scenes;

use heapwise_analysis::{Analysis, Options, Site, Warning, analyze};
use heapwise_trace::file::Reader;
use scenes::{FILE, SCENE, Truth};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// What the second process does instead of the tests.
#[test]
fn scene() {
    if let (Some(scene), Some(file)) = (std::env::var_os(SCENE), std::env::var_os(FILE)) {
        scenes::play(scene.to_str().expect("a name"), Path::new(&file));
    }
}

struct Played {
    analysis: Analysis,
    /// What the program says that it did.
    truth: Truth,
    file: PathBuf,
    output: Output,
    _folder: tempfile::TempDir,
}

fn command(scene: &str, file: &Path) -> Command {
    let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
    again.args(["--exact", "scene", "--nocapture", "--test-threads", "1"]);
    again
        .env(SCENE, scene)
        .env(FILE, file)
        .env_remove("HEAPWISE_RECORD_TO")
        .env_remove("HEAPWISE_RECORD_EVERY");
    again
}

fn play(scene: &str) -> Played {
    play_with(scene, &[])
}

fn play_with(scene: &str, variables: &[(&str, &str)]) -> Played {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("recording.hw");
    let mut command = command(scene, &file);
    let path = file.to_str().expect("a path");
    command.envs(variables.iter().map(|(name, value)| (name, value.replace("FILE", path))));
    let output = command.output().expect("it can be started again");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{scene}: {}\n{said}\n{complained}", output.status);
    let truth = Truth::parse(&said);
    Played { analysis: read(&file), truth, file, output, _folder: folder }
}

fn read(file: &Path) -> Analysis {
    let input = std::fs::File::open(file).expect("a recording");
    let reader = Reader::new(std::io::BufReader::new(input)).expect("a recording");
    analyze(reader, &Options::default(), |_| {}).expect("it can be read")
}

/// The names of a site's frames, innermost first.
fn functions(analysis: &Analysis, site: &Site) -> Vec<String> {
    let frames = analysis.stack(site);
    frames.iter().map(|frame| frame.function.unwrap_or("?").to_owned()).collect()
}

fn site_of<'a>(analysis: &'a Analysis, function: &str) -> &'a Site {
    let all: Vec<_> = analysis.sites().iter().collect();
    let mut of =
        all.iter().filter(|site| functions(analysis, site).iter().any(|name| name.contains(function)));
    of.next().unwrap_or_else(|| {
        let stacks: Vec<_> = all.iter().take(5).map(|site| functions(analysis, site)).collect();
        panic!("no site of {function} in {} sites, such as {stacks:#?}", all.len())
    })
}

fn is_whole(analysis: &Analysis) {
    let odd = analysis.warnings.iter().filter(|w| {
        !matches!(w, Warning::StillRunning { .. } | Warning::Sampled { .. } | Warning::Environment { .. })
    });
    assert_eq!(odd.collect::<Vec<_>>(), Vec::<&Warning>::new());
}

#[test]
fn everything_is_there_when_everything_is_recorded() {
    let Played { analysis, truth, .. } = play("exact");
    is_whole(&analysis);
    assert_eq!(analysis.sampled, None);
    let sum = |count: fn(&Site) -> u64| -> u64 {
        let own = analysis
            .sites()
            .iter()
            .filter(|s| functions(&analysis, s).iter().any(|n| n.contains("scenes::")));
        own.map(count).sum()
    };
    assert_eq!(sum(|s| s.allocations), truth.get("allocations"));
    assert_eq!(sum(|s| s.reallocations), truth.get("reallocations"));
    assert_eq!(sum(|s| s.deallocations), truth.get("deallocations"));
    assert_eq!(sum(|s| s.allocated_bytes.0), truth.get("bytes"));
    assert_eq!(sum(|s| s.live_at_exit_bytes.0), truth.get("live"));
    assert_eq!(sum(|s| s.live_at_exit_blocks), truth.get("live_blocks"));
    // What heapwise itself does is not in it.
    let all = analysis.sites().iter().flat_map(|site| functions(&analysis, site));
    let own: Vec<_> = all
        .filter(|name| name.contains("heapwise::record") || name.contains("heapwise::allocator"))
        .collect();
    assert_eq!(own, Vec::<String>::new());
}

#[test]
fn stacks_have_names_files_and_lines_of_what_was_compiled_in_too() {
    let Played { analysis, .. } = play("exact");
    let site = site_of(&analysis, "scenes::outer");
    let names = functions(&analysis, site);
    let at = |part: &str| {
        names.iter().position(|name| name.contains(part)).unwrap_or_else(|| panic!("{part}: {names:?}"))
    };
    assert!(
        at("scenes::inner") < at("scenes::outer") && at("scenes::outer") < at("scenes::play"),
        "{names:?}"
    );
    let frames = analysis.stack(site);
    let inner = &frames[at("scenes::inner")];
    assert!(inner.file.is_some_and(|file| file.ends_with("tests/recording/scenes.rs")), "{inner:?}");
    assert!(inner.line.is_some_and(|line| line > 10), "{inner:?}");
    assert!(inner.module.is_some(), "{inner:?}");
    let user = site.user_frame.expect("a user's frame");
    assert!(names[user].contains("scenes::"), "{names:?}");
}

#[test]
fn a_sample_tells_what_the_program_did_within_what_chance_allows() {
    let Played { analysis, truth, .. } = play("sampled");
    is_whole(&analysis);
    let (t, sampled) = (analysis.totals, analysis.sampled.expect("it is a sample"));
    let near = |what: &str, reported: u64, truth: u64, error: u64| {
        // Six standard errors, and a percent for what is not the scene's.
        assert!(
            reported.abs_diff(truth) <= 6 * error + truth / 100,
            "{what}: {reported} instead of {truth}, ± {error}"
        );
        assert!(error < truth / 10, "{what}: {truth} ± {error} says nothing");
    };
    near("requests", t.allocations + t.reallocations, truth.get("requests"), sampled.requests_error);
    near("bytes", t.allocated_bytes.0, truth.get("bytes"), sampled.allocated_bytes_error.0);
    near("live", t.live_at_exit_bytes.0, truth.get("live"), sampled.live_at_exit_bytes_error.0);
    near("peak", t.peak_live_bytes.0, truth.get("peak"), sampled.peak_live_bytes_error.0);
    assert_eq!((t.unknown_frees, t.implicit_frees, t.lost_events), (0, 0, 0));
    // Few of them were recorded.
    assert!(sampled.requests * 20 < truth.get("requests"), "{sampled:?}");
}

#[test]
fn threads_have_names_and_blocks_that_others_give_back() {
    let Played { analysis, truth, .. } = play("threads");
    is_whole(&analysis);
    let workers: Vec<_> = analysis.threads.iter().filter(|t| t.name.starts_with("worker-")).collect();
    // Wine does not report the names of threads.
    let have_names = !cfg!(windows) || !workers.is_empty();
    if have_names {
        assert_eq!(workers.len() as u64, truth.get("threads"), "{:?}", analysis.threads);
    }
    let site = site_of(&analysis, "scenes::hand_over");
    assert_eq!(site.allocations, truth.get("handed"));
    assert_eq!((site.deallocations, site.freed_on_other_thread), (truth.get("handed"), truth.get("handed")));
    assert_eq!(analysis.totals.implicit_frees, 0);
}

#[test]
fn marks_and_spans_are_in_it() {
    let Played { analysis, .. } = play("marks");
    is_whole(&analysis);
    let span = |begin: &str| {
        let mut spans = analysis.marks.spans.iter();
        spans
            .find(|span| span.name.starts_with(begin))
            .unwrap_or_else(|| panic!("{:?}", analysis.marks.spans))
    };
    let round = span("round");
    assert_eq!((round.count, round.allocations, round.allocated_bytes.0), (3, 6, 900));
    assert!(round.shortest.0 > 0 && round.longest.0 <= round.time.0, "{round:?}");
    let long = span("xxx");
    assert_eq!((long.count, long.allocations), (1, 1));
    assert!(long.name.len() == 200 && long.name.ends_with('…'), "{}", long.name);
    let moments: Vec<_> = analysis.marks.list.iter().map(|mark| mark.name.to_string()).collect();
    assert!(moments.contains(&"begun".to_owned()), "{moments:?}");
}

#[test]
fn a_recording_that_is_dropped_or_left_to_the_exit_is_whole() {
    for scene in ["dropped", "left"] {
        let Played { analysis, truth, output, .. } = play(scene);
        is_whole(&analysis);
        assert!(analysis.end.is_some());
        // What is live at the exit is not to be freed any more.
        let goes_on = analysis.warnings.iter().any(|w| matches!(w, Warning::StillRunning { .. }));
        assert_eq!(goes_on, scene == "dropped", "{scene}");
        assert_eq!(site_of(&analysis, "scenes::keep").allocations, truth.get("kept"), "{scene}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("heapwise: "), "{scene}");
    }
}

#[test]
fn the_environment_begins_a_recording_without_a_word_of_code() {
    let variables = [("HEAPWISE_RECORD_TO", "FILE"), ("HEAPWISE_RECORD_EVERY", "1")];
    let Played { analysis, truth, output, .. } = play_with("nothing-of-its-own", &variables);
    is_whole(&analysis);
    assert_eq!(site_of(&analysis, "scenes::keep").allocations, truth.get("kept"));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("heapwise: "));
    // From the first call on. The writer's thread may free blocks of its own start before it is excluded from the recording.
    assert!(analysis.totals.unknown_frees <= 2, "{}", analysis.totals.unknown_frees);
}

#[test]
fn a_file_that_exists_is_not_touched_and_the_program_runs_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("exists.hw");
    std::fs::write(&file, "another's").expect("it can be written");
    let output =
        command("nothing-of-its-own", &file).env("HEAPWISE_RECORD_TO", &file).output().expect("started");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<_> = said.lines().filter(|line| line.starts_with("heapwise: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("exists.hw exists"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "another's");
}

#[test]
fn only_one_recording_at_a_time_and_another_one_afterwards() {
    let Played { file, truth, _folder, .. } = play("twice");
    let second = read(&file.with_extension("second"));
    is_whole(&second);
    assert_eq!(site_of(&second, "scenes::keep").allocations, truth.get("kept"));
    assert!(!file.with_extension("refused").exists());
}

#[test]
#[cfg(unix)]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let Played { file, _folder, .. } = play("dropped");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
#[cfg(unix)]
fn a_child_that_was_forked_is_not_in_it_and_does_no_harm() {
    let Played { analysis, truth, .. } = play("fork");
    is_whole(&analysis);
    assert_eq!(site_of(&analysis, "scenes::keep").allocations, truth.get("kept"));
    assert_eq!(analysis.processes.len(), 1);
}

#[test]
fn a_program_that_is_killed_leaves_what_was_written_with_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("killed.hw");
    let output = command("killed", &file).output().expect("it can be started again");
    assert!(!output.status.success());
    let analysis = read(&file);
    assert!(analysis.warnings.contains(&Warning::NoEnd), "{:?}", analysis.warnings);
    assert!(site_of(&analysis, "scenes::keep").allocations > 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_what_was_written_can_be_read() {
    let Played { analysis, truth, .. } = play("full");
    assert_eq!(truth.get("refused"), 1);
    assert!(analysis.totals.allocations > 0);
}
