//! `heapwise report`, and the diagnosis at the end of `heapwise run`.

use crate::args::{Format, Look, ReportArgs};
use crate::lines;
use crate::progress::Progress;
use crate::sources::{self, SourceFiles};
use crate::symbolize::symbolize;
use crate::{Failure, exit, result};
use anyhow::{Context, anyhow};
use heapwise_analysis::{Ahead, Analysis, ImageAddresses, Options, Unnamed};
use heapwise_diagnosis::{Diagnosis, diagnose_with_source};
use heapwise_report::{
    HtmlOptions, JsonOptions, MarkdownOptions, SourceLines, Sources, Style, TextOptions, ThreadMatrix,
    write_json,
};
use heapwise_trace::file::{Reader, tables::Symbols};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Prints the diagnosis of a recording.
pub(crate) fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let path = &args.recording;
    let form = args.look.form;
    result::check_page(form, &args.destination, &[path], &path.with_extension("html"))?;
    sources::check(&args.look.source_root).map_err(|error| Failure::new(exit::USAGE, error))?;
    let mut analysis = load(path)?;
    lines::explain(&mut analysis);
    if form.format == Format::Json {
        let sources = sources_of(path, &args.look);
        let diagnosis = diagnosis_of(&analysis, sources.as_ref());
        let json = |out: &mut dyn Write| write_json(&analysis, &diagnosis, &JsonOptions::default(), out);
        result::write_by(&args.destination, json)?;
        return Ok(exit::SUCCESS);
    }
    result::write_page(form, &args.destination, |style| render(&analysis, path, &args.look, style))?;
    Ok(exit::SUCCESS)
}

/// A recording from a file, with names.
pub(crate) fn load(path: &Path) -> Result<Analysis, Failure> {
    let read = read(&open(path)?, path).map_err(|error| Failure::new(exit::UNREADABLE, error))?;
    Ok(named(read))
}

/// A recording's file.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

/// Why the system does not open a recording.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        ErrorKind::NotFound => "No such file; `heapwise run -o FILE.hw CMD` makes a recording".to_owned(),
        ErrorKind::PermissionDenied => {
            format!("{error}; a recording is for the user who made it, who can `chmod` it for others")
        }
        _ => error.to_string(),
    };
    Failure::new(exit::UNREADABLE, anyhow!("cannot read {}: {why}", path.display()))
}

/// Reads a recording.
pub(crate) fn read(file: &File, path: &Path) -> anyhow::Result<Unnamed> {
    read_from(BufReader::with_capacity(1 << 20, file), file, path)
}

/// The same for a given reader of the file.
pub(crate) fn read_from(input: impl Read + Send, file: &File, path: &Path) -> anyhow::Result<Unnamed> {
    let name = || format!("cannot read {}", path.display());
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(anyhow!("cannot read {}: it is a folder, not a recording", path.display()));
    }
    let reader = Reader::new(input).with_context(name)?;
    let mut options = Options::default();
    options.memory = memory();
    finish(Ahead::new(reader, &options), file, path)
}

/// The analysis of a recording of which a part may have been read.
pub(crate) fn finish(ahead: Ahead<impl Read + Send>, file: &File, path: &Path) -> anyhow::Result<Unnamed> {
    let total = file.metadata().map_or(0, |m| m.len());
    let (began, before) = (Instant::now(), ahead.offset());
    let progress = Progress::new();
    let read = ahead
        .finish(&Options::default(), |at| progress.at("analysing", at, total))
        .with_context(|| format!("cannot read {}", path.display()))?;
    heapwise_report::detail!(
        "heapwise: analysed {} in {:.1?}, {before} of {total} bytes ahead",
        path.display(),
        began.elapsed()
    );
    Ok(read)
}

/// How many bytes an analysis may take now. If the available memory is unknown, the default limit applies.
pub(crate) fn memory() -> Option<u64> {
    heapwise_environment::available_memory().map(|available| available / 4 * 3)
}

/// The analysis of what was read, with names, and with what only they show.
pub(crate) fn named(read: Unnamed) -> Analysis {
    // A recording that was cut off has no symbols; this machine may still have the files. It may be from elsewhere, so nothing is
    // started for it.
    let missing = (!read.has_symbols()).then(|| look_up(read.needed_addresses(), false));
    #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "there are no programs to look into"))]
    let mut analysis = read.named(missing);
    #[cfg(target_os = "linux")]
    crate::blind_spots::complete(&mut analysis);
    analysis
}

/// Looks the names of addresses up and reports, a line each, what could not be read. `may_fetch` is for [`symbolize`].
pub(crate) fn look_up(images: Vec<ImageAddresses>, may_fetch: bool) -> Symbols {
    let progress = Progress::new();
    let began = Instant::now();
    let (symbols, problems) = symbolize(images, may_fetch, &progress);
    drop(progress);
    heapwise_report::detail!(
        "heapwise: {} names of functions in {} files in {:.1?}",
        symbols.frames.len(),
        symbols.images.len(),
        began.elapsed()
    );
    for problem in problems {
        heapwise_report::say!("heapwise: warning: no names for some frames: {problem}");
    }
    symbols
}

/// The addresses of a recording that are to be looked up, without its analysis.
#[cfg(target_os = "linux")]
pub(crate) fn addresses(file: &File, path: &Path) -> anyhow::Result<Vec<ImageAddresses>> {
    let mut options = Options::default();
    options.memory = memory();
    let total = file.metadata().map_or(0, |m| m.len());
    let progress = Progress::new();
    let reader = Reader::new(BufReader::with_capacity(1 << 20, file));
    let name = || format!("cannot read {}", path.display());
    let reader = reader.with_context(name)?;
    heapwise_analysis::addresses(reader, &options, |at| progress.at("reading stacks", at, total))
        .with_context(name)
}

/// The diagnosis in the requested format, of a recording at `path`.
pub(crate) fn render(analysis: &Analysis, path: &Path, look: &Look, style: Style) -> String {
    let sources = sources_of(path, look);
    let text = render_with(analysis, look, style, sources.as_ref());
    // Reports for other programs have no lines of source to miss.
    let shows_lines = matches!(look.form.format, Format::Text | Format::Html);
    if let Some([first, others @ ..]) = sources.filter(|_| shows_lines).map(|s| s.outside()).as_deref() {
        let first = first.display();
        let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        heapwise_report::say!(
            "heapwise: no source lines of {first}{others}: not below the current folder; --source-root DIR names another one"
        );
    }
    text
}

fn sources_of(path: &Path, look: &Look) -> Option<Arc<SourceFiles>> {
    (!look.no_source).then(|| Arc::new(SourceFiles::of(path, &look.source_root)))
}

fn lines_of(sources: Option<&Arc<SourceFiles>>) -> SourceLines {
    sources.map_or_else(SourceLines::default, |sources| Arc::clone(sources).lines())
}

fn diagnosis_of(analysis: &Analysis, sources: Option<&Arc<SourceFiles>>) -> Diagnosis {
    let source = lines_of(sources);
    diagnose_with_source(analysis, &|file, line| source.line(file, line))
}

fn render_with(analysis: &Analysis, look: &Look, style: Style, sources: Option<&Arc<SourceFiles>>) -> String {
    let (source, diagnosis) = (lines_of(sources), diagnosis_of(analysis, sources));
    let folder = current_folder();
    match look.form.format {
        Format::Text => {
            let options = TextOptions {
                top: look.top,
                full: look.full || look.stacks,
                stacks: look.stacks,
                folder,
                source,
                ..TextOptions::default()
            };
            heapwise_report::text(analysis, &diagnosis, &options, style)
        }
        Format::Json => heapwise_report::json(analysis, &diagnosis, &JsonOptions::default()),
        Format::Html => {
            let sources = sources.map(|sources| sources.as_ref() as &dyn Sources);
            let matrix = ThreadMatrix::of(analysis);
            let times: Option<Vec<_>> = analysis
                .allocator_time()
                .and_then(|_| analysis.sites().iter().map(|site| Some(site.allocator_time?.time)).collect());
            let options = HtmlOptions {
                folder: folder.as_deref(),
                sources,
                thread_matrix: Some(&matrix),
                allocator_time: times.as_deref(),
            };
            heapwise_report::html(analysis, &diagnosis, &options)
        }
        Format::Markdown => {
            let options = MarkdownOptions { top: look.top, folder };
            heapwise_report::markdown(analysis, &diagnosis, &options)
        }
    }
}

/// The folder to which source paths are shown relative.
pub(crate) fn current_folder() -> Option<String> {
    std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned())
}
