//! `heapwise run`: record a program, then say where its memory comes from.

use crate::ahead::Ahead;
use crate::args::{Format, Look, RecorderChoice, RecordingArgs, RunArgs};
use crate::delivery::Destinations;
use crate::watch::live::{self, Watched};
use crate::{
    Failure, blind_spots, doctor, executable, exit, inherited, lines, nested, preload, report, result,
    rotation, sources, symbolize,
};
use anyhow::{Context, anyhow};
use heapwise_allocators::{c_library_path, c_library_version};
use heapwise_analysis::Analysis;
use heapwise_collector::{Error, ErrorKind, Limits, Recorded, Request, command, output, record};
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::escape::terminal;
use heapwise_report::{Style, browser};
use heapwise_symbols::entry_points;
use heapwise_trace::file::records::CLibrary;
use heapwise_trace::file::tables::Symbols;
use heapwise_trace::sampling;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records a program and prints the diagnosis.
pub(crate) fn run(args: RunArgs) -> Result<u8, Failure> {
    let through_preload = args.recorder == RecorderChoice::Preload;
    let found = executable::of_command(&args.command[0]);
    // A program that cannot be found is reported when it is started.
    let executable = found.as_ref().and_then(|found| found.as_ref().ok());
    let blind_spots =
        executable.map(|found| blind_spots::of_program(found, args.recorder)).unwrap_or_default();
    blind_spots::print(&args.command[0], &blind_spots);
    let library = preload::library_for(executable);
    let image = executable.and_then(preload::image_for);
    let recording = &args.recording;
    check(recording)?;
    rotation::begin(Destinations::of(&recording.delivery)?);
    let environment_findings = found.as_ref().map(doctor::before).unwrap_or_default();
    doctor::warn(&environment_findings);
    let mut request = Request {
        through_preload,
        records_itself: !through_preload && executable.is_some_and(blind_spots::records_itself),
        wait: args.wait,
        end_together: args.end_together,
        blind_spots,
        environment: command::environment(heapwise_environment::is_heap_variable),
        environment_findings,
        preload: library,
        image,
        ..request(recording, args.command)
    };
    let ahead = read_ahead(recording, args.watch, &mut request);
    let program = request.command[0].clone();
    nested::announce(&program, "recorded");
    // The program's id is not known yet, and the view needs a name.
    let named = || output::default_name(&program.to_string_lossy(), std::process::id());
    let watched = match args.watch {
        true => {
            let path = request.output.get_or_insert_with(named);
            let watched = Watched::program(path, recording)?;
            request.prepare = live::without_keys;
            Some(watched)
        }
        false => None,
    };
    let recorded = record(request);
    if let Some((watched, written)) = watched {
        watched.end(recorded.is_err());
        live::say_written(&written);
    }
    let recorded = recorded.map_err(failure)?;
    let Some(status) = recorded.exit else {
        heapwise_report::say!(
            "heapwise: interrupted; what was recorded is in {0}: heapwise report {0}",
            recorded.path.display()
        );
        return Ok(exit::INTERRUPTED);
    };
    let code = u8::try_from(status.shell_code()).unwrap_or(exit::UNEXPECTED);
    conclude(&recorded, args.recording, ahead)?;
    match recorded.error {
        None => Ok(code),
        Some(error) => {
            Err(incomplete(&recorded.path, &error, &format!(" (the program itself ended with code {code})")))
        }
    }
}

/// Reports before the recording what would fail after it.
pub(crate) fn check(args: &RecordingArgs) -> Result<(), Failure> {
    sources::check(&args.look.source_root).map_err(|error| Failure::new(exit::USAGE, error))?;
    if args.no_report {
        return Ok(());
    }
    check_page(args.output.as_deref(), &args.look, args.report_file.as_deref(), args.force)
}

/// What all recordings have in common.
pub(crate) fn request(args: &RecordingArgs, command: Vec<OsString>) -> Request {
    Request {
        command,
        output: args.output.clone(),
        force: args.force,
        follow: !args.no_follow,
        wait: false,
        end_together: false,
        limits: Limits {
            delay: args.delay,
            snapshot_every: args.snapshot_every,
            duration: args.duration,
            max_bytes: args.max_size.map(|size| size.as_u64()),
        },
        reader: None,
        rotation: rotation::of(args),
        verify_every: args.verify,
        sample_bytes: args.sample.map_or(0, |bytes| sampling::distance(bytes.as_u64())),
        through_preload: false,
        records_itself: false,
        blind_spots: Vec::new(),
        explain: blind_spots::of_file,
        look_inside: blind_spots::inside,
        plan: |path, in_front| entry_points::plan(path, in_front).ok(),
        build: crate::bundled::build,
        environment: BTreeMap::new(),
        environment_findings: Vec::new(),
        examine: doctor::of_recorded,
        prepare: inherited::forward,
        give_up,
        version: env!("CARGO_PKG_VERSION").into(),
        c_library: CLibrary { path: c_library_path(), version: c_library_version() },
        preload: &[],
        image: None,
    }
}

/// Has the recording read while it grows, if that is worth it: not of a sample, which is small and may take days, not where a view
/// reads it already, and not for names alone.
pub(crate) fn read_ahead(args: &RecordingArgs, is_watched: bool, request: &mut Request) -> Option<Ahead> {
    let is_for_names = args.no_report && args.delivery.fleet.is_none();
    if is_watched || is_for_names || args.sample.is_some() || args.rotate.is_some() {
        return None;
    }
    let (ahead, sender) = Ahead::begin()?;
    request.reader = Some(sender);
    Some(ahead)
}

/// Names what was recorded, sends it where it is to go, and prints the diagnosis.
pub(crate) fn conclude(
    recorded: &Recorded,
    args: RecordingArgs,
    ahead: Option<Ahead>,
) -> Result<(), Failure> {
    let mut destinations = rotation::finish();
    if args.no_report && destinations.is_empty() {
        name_unread(recorded)?;
        say_where(recorded);
        return Ok(());
    }
    let analysis = name(recorded, ahead)?;
    if recorded.error.is_none() {
        destinations.take(&recorded.path, &analysis);
    }
    if !args.no_report {
        print(recorded, &analysis, &args.look, args.report_file, args.force)?;
    }
    destinations.end();
    say_where(recorded);
    Ok(())
}

/// The recording lacks its end. `beside` is what else happened.
pub(crate) fn incomplete(path: &Path, error: &heapwise_trace::file::Error, beside: &str) -> Failure {
    Failure::new(
        exit::RUN_FAILED,
        anyhow!(
            "the recording is incomplete, {} could not be written on: {error}; make room on the disk, bound the recording with \
             --max-size, or choose another place with -o{beside}",
            path.display()
        ),
    )
}

/// Exits after a second interrupt, whatever the other threads are doing.
fn give_up(recording: &Path) {
    live::give_back();
    let file = recording.display().to_string();
    // A terminal that accepts no more output must not delay the exit.
    std::thread::spawn(move || {
        heapwise_report::say!(
            "heapwise: interrupted twice, and left without waiting for the end of the recording; what was written of it is \
             in {file}"
        );
    });
    std::thread::sleep(Duration::from_millis(200));
    std::process::exit(exit::INTERRUPTED.into());
}

pub(crate) fn failure(error: Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NoSuchProgram { .. } => exit::NO_SUCH_PROGRAM,
        ErrorKind::NotExecutable { .. } => exit::NOT_EXECUTABLE,
        _ => exit::RUN_FAILED,
    };
    Failure::new(code, error)
}

/// Stores the names in a recording of which no report is wanted, without going through its events.
fn name_unread(recorded: &Recorded) -> Result<(), Failure> {
    let failed = |error: anyhow::Error| Failure::new(exit::RUN_FAILED, error);
    if recorded.error.is_some() {
        return Ok(());
    }
    let mut file = &recorded.file;
    file.seek(SeekFrom::Start(0)).context("cannot read the recording").map_err(failed)?;
    let addresses = report::addresses(file, &recorded.path).map_err(failed)?;
    store(file, &report::look_up(addresses, true)).map_err(failed)
}

fn store(file: &File, symbols: &Symbols) -> anyhow::Result<()> {
    symbolize::keep(file, symbols).context("cannot write symbols to the recording")
}

/// Analyses the recording and stores the names in it, so that it can be read without the program's files: they may be
/// replaced by the next build.
fn name(recorded: &Recorded, ahead: Option<Ahead>) -> Result<Analysis, Failure> {
    let failed = |error: anyhow::Error| Failure::new(exit::RUN_FAILED, error);
    let mut file = &recorded.file;
    file.seek(SeekFrom::Start(0)).context("cannot read the recording").map_err(failed)?;
    let read = ahead.and_then(|ahead| ahead.finish(recorded));
    let read = read.unwrap_or_else(|| report::read(file, &recorded.path)).map_err(failed)?;
    let symbols = report::look_up(read.needed_addresses(), true);
    if recorded.error.is_none() {
        store(file, &symbols).map_err(failed)?;
    }
    let mut analysis = read.named([symbols]);
    lines::explain(&mut analysis);
    Ok(analysis)
}

fn print(
    recorded: &Recorded,
    analysis: &Analysis,
    look: &Look,
    to: Option<PathBuf>,
    force: bool,
) -> Result<(), Failure> {
    let failed = |error: anyhow::Error| Failure::new(exit::RUN_FAILED, error);
    let plain = Style { color: false, width: 100 };
    if let Some(page) = page_beside(&recorded.path, look, to.as_deref()) {
        let text = report::render(analysis, &recorded.path, look, plain);
        write_page(&page, &text, force).map_err(failed)?;
        shown(&page, look);
        return Ok(());
    }
    match to {
        Some(path) => {
            let text = report::render(analysis, &recorded.path, look, plain);
            write_page(&path, &text, force).map_err(failed)?;
            if look.form.format == Format::Html {
                shown(&path, look);
            }
            Ok(())
        }
        None => {
            let style =
                result::style_of(&std::io::stderr(), anstream::AutoStream::choice(&std::io::stderr()));
            let text = report::render(analysis, &recorded.path, look, style);
            terminal::print_error(&text, style.color);
            Ok(())
        }
    }
}

/// Where an HTML report goes if no file is named: next to the recording. A terminal cannot show it.
fn page_beside(recording: &Path, look: &Look, to: Option<&Path>) -> Option<PathBuf> {
    (look.form.format == Format::Html && to.is_none()).then(|| recording.with_extension("html"))
}

/// Reports before the start of the program what would fail after its end.
fn check_page(recording: Option<&Path>, look: &Look, to: Option<&Path>, force: bool) -> Result<(), Failure> {
    let Some(recording) = recording else { return Ok(()) };
    let Some(page) = page_beside(recording, look, to) else { return Ok(()) };
    if page == recording {
        let error = anyhow!(
            "-o names the recording, and {} is called like a report; name the report with --report-file",
            recording.display()
        );
        return Err(Failure::new(exit::USAGE, error));
    }
    // A dangling link occupies the name, too.
    let is_taken = page.symlink_metadata().is_ok();
    if is_taken && !force { Err(Failure::new(exit::RUN_FAILED, exists(&page))) } else { Ok(()) }
}

/// Says where a page is, and opens it if that was asked for.
fn shown(page: &Path, look: &Look) {
    heapwise_report::note!("heapwise: report in {}; open it with a browser", page.display());
    if look.form.open {
        browser::open(page, None);
    }
}

/// As with recordings, a file whose name the user did not type never replaces another one.
fn write_page(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    match file::write(path, text, if force { Existing::ReplaceAnything } else { Existing::Keep }) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(path)),
        result => result.with_context(|| format!("cannot write {}", path.display())),
    }
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!("{} exists; replace it with --force, or choose another file with --report-file", path.display())
}

fn say_where(recorded: &Recorded) {
    let size = recorded.file.metadata().map_or(0, |m| m.len());
    let path = recorded.path.display();
    let size = bytesize::ByteSize(size).display().iec();
    heapwise_report::note!("heapwise: recording in {path} ({size}); look again with: heapwise report {path}");
    if recorded.still_running > 0 {
        let n = recorded.still_running;
        heapwise_report::say!(
            "heapwise: {n} recorded process(es) still run unrecorded; --wait waits for them"
        );
    }
}
