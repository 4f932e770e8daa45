//! `cargo heapwise flamegraph`: records a program and shows which calls allocate.
//!
//! The graph is that of the HTML report, which has all measures, search and zoom. A picture (SVG) is drawn by inferno-flamegraph,
//! if it is installed: this program does not contain it, since inferno's licence requires more than attribution (`deny.toml`).

use crate::args::FlamegraphArgs;
use crate::record::{Request, record};
use crate::{Failure, cargo, exit, output, program};
use anyhow::{Context, anyhow};
use heapwise_report::browser;
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::export::Measure;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The part of the report.
const PART: &str = "flame";
/// Draws pictures.
const DRAWER: &str = "inferno-flamegraph";

/// What the graph becomes.
#[derive(Debug, PartialEq, Eq)]
enum Output {
    /// The report next to the recording, or at this path.
    Page(Option<PathBuf>),
    /// One line and number per stack.
    Folded(PathBuf),
    /// A picture, and the program that draws it.
    Picture(PathBuf, PathBuf),
}

/// Records a program and returns its exit code.
pub(crate) fn flamegraph(args: &FlamegraphArgs) -> Result<u8, Failure> {
    let output = destination(args.output.as_deref(), args.measure, args.force)?;
    let mut options = args.recording.words();
    options.extend(args.force.then(|| "--force".to_owned()));
    match &output {
        Output::Page(page) => {
            options.extend(["--format".to_owned(), "html".to_owned()]);
            if let Some(page) = page {
                let page = page.to_str().context("the path of the graph is not UTF-8; choose another one")?;
                options.extend(["--report-file".to_owned(), page.to_owned()]);
            }
        }
        Output::Folded(_) | Output::Picture(..) => options.push("--no-report".to_owned()),
    }
    let (kind, build, arguments) = (&args.kind, &args.build, args.arguments.as_slice());
    let recorded = record(&Request { kind, build, options, file: None, arguments })?;
    let Some(file) = recorded.file.filter(|file| file.exists()) else { return Ok(recorded.code) };
    let measure = args.measure.unwrap_or(Measure::AllocatedBytes);
    let graph = match output {
        Output::Page(page) => page.unwrap_or_else(|| file.with_extension("html")),
        Output::Folded(path) => {
            export(&file, measure, &path, args.force)?;
            path
        }
        Output::Picture(path, drawer) => {
            draw(&file, measure, &path, &drawer, args.force)?;
            path
        }
    };
    let is_page = graph.extension().is_some_and(|e| e == "html");
    if graph.exists() {
        if is_page {
            heapwise_report::say!("heapwise: flame graph in {}", browser::address(&graph, PART));
        } else {
            heapwise_report::say!("heapwise: flame graph in {}", graph.display());
        }
        if browser::is_watched() && !args.no_open && graph.extension().is_none_or(|e| e != "folded") {
            browser::open(&graph, is_page.then_some(PART));
        }
    }
    Ok(recorded.code)
}

/// Finds errors of the command line before anything is built.
fn destination(path: Option<&Path>, measure: Option<Measure>, force: bool) -> Result<Output, Failure> {
    let usage = |error| Failure::new(exit::USAGE, error);
    let path = path.map(std::path::absolute).transpose().context("there is no current folder")?;
    let extension =
        path.as_deref().and_then(Path::extension).unwrap_or_default().to_string_lossy().into_owned();
    let is_known = ["html", "folded", "svg"].contains(&extension.as_str());
    if let Some(path) = path.as_deref().filter(|_| is_known) {
        output::check(path, force)?;
    }
    let output = match (path, extension.as_str()) {
        (None, _) => Output::Page(None),
        (Some(path), "html") => Output::Page(Some(path)),
        (Some(path), "folded") => Output::Folded(path),
        (Some(path), "svg") => Output::Picture(path, drawer()?),
        (Some(path), _) => {
            let path = path.display();
            return Err(usage(anyhow!(
                "unknown format of {path}: its name has to end in .svg, .html or .folded"
            )));
        }
    };
    if measure.is_some() && matches!(output, Output::Page(_)) {
        return Err(usage(anyhow!(
            "--measure cannot be used with a report, in which the measure is chosen; name a picture with -o FILE.svg"
        )));
    }
    Ok(output)
}

fn drawer() -> Result<PathBuf, Failure> {
    let found = program::in_path(DRAWER, std::env::var_os("PATH").as_deref());
    found.ok_or_else(|| {
        let error =
            anyhow!("{DRAWER}, which draws pictures, is not in PATH; install it (cargo install inferno)");
        Failure::new(exit::NO_SUCH_PROGRAM, error)
    })
}

fn exporting(recording: &Path, measure: Measure) -> Result<Command, Failure> {
    let mut command = Command::new(program::heapwise()?);
    command.args(["export", "--to", "folded", "--measure", measure.name()]).arg(recording);
    Ok(command)
}

fn export(recording: &Path, measure: Measure, path: &Path, force: bool) -> Result<(), Failure> {
    let mut command = exporting(recording, measure)?;
    command.args(force.then_some("--force"));
    let status = command.arg("-o").arg(path).status().context("cannot start heapwise")?;
    finished(status, "heapwise export")
}

fn draw(recording: &Path, measure: Measure, path: &Path, drawer: &Path, force: bool) -> Result<(), Failure> {
    let mut exporter = exporting(recording, measure)?;
    let mut exporter = exporter.stdout(Stdio::piped()).spawn().context("cannot start heapwise")?;
    let stacks = exporter.stdout.take().context("the stacks were to be piped")?;
    let cannot_write = || format!("cannot write {}", path.display());
    let picture = file::Output::create(path, Existing::of(force)).with_context(cannot_write)?;
    let file = picture.handle().with_context(cannot_write)?;
    let mut drawing = Command::new(drawer);
    let counted = match measure {
        Measure::AllocatedBytes => "bytes",
        Measure::PeakBytes => "bytes at the peak",
        Measure::LiveAtExitBytes => "bytes at the exit",
        _ => measure.name(),
    };
    drawing.args(["--title", "heapwise", "--countname", counted]);
    let drawn = drawing.stdin(stacks).stdout(file).status().with_context(|| format!("cannot start {DRAWER}"));
    // It holds the end of the pipe into which the exporter writes.
    drop(drawing);
    let exported = exporter.wait().context("cannot wait for heapwise")?;
    let drawn = drawn?;
    finished(exported, "heapwise export")?;
    finished(drawn, DRAWER)?;
    Ok(picture.finish().with_context(cannot_write)?)
}

fn finished(status: std::process::ExitStatus, name: &str) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let code = cargo::code(status);
    Err(Failure::new(exit::UNEXPECTED, anyhow!("{name} ended with {code}; there is no flame graph")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_said_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let named = |name: &str| folder.path().join(name);
        let code = |name: &str, measure| destination(Some(&named(name)), measure, false).map_err(|f| f.code);
        assert_eq!(destination(None, None, false).expect("the report"), Output::Page(None));
        assert_eq!(code("x.html", None), Ok(Output::Page(Some(named("x.html")))));
        assert_eq!(code("x.folded", Some(Measure::PeakBytes)), Ok(Output::Folded(named("x.folded"))));
        assert_eq!(code("no/such/x.folded", None), Err(exit::UNEXPECTED));
        assert_eq!(code("x.html", Some(Measure::PeakBytes)), Err(exit::USAGE));
        assert_eq!(code("x.png", None), Err(exit::USAGE));
        assert_eq!(code("x", None), Err(exit::USAGE));
    }
}
