//! `heapwise report`, and the diagnosis at the end of `heapwise run`.

use crate::args::{Format, Look, ReportArgs};
use crate::progress::Progress;
use crate::symbolize::symbolize;
use crate::{Failure, exit};
use anyhow::{Context, anyhow};
use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_diagnosis::diagnose;
use heapwise_report::{JsonOptions, Style, TextOptions};
use heapwise_trace::file::{Reader, tables::Symbols};
use std::fs::File;
use std::io::{BufReader, IsTerminal, Write};
use std::path::Path;

/// Prints the diagnosis of a recording.
pub(crate) fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let analysis = open(&args.recording)?;
    match &args.output {
        Some(out) => {
            let text = render(&analysis, args.look, Style { color: false, width: 100 });
            std::fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))?;
        }
        None => {
            let style = style_of(&std::io::stdout(), anstream::AutoStream::choice(&std::io::stdout()));
            std::io::stdout().write_all(render(&analysis, args.look, style).as_bytes())?;
        }
    }
    Ok(exit::SUCCESS)
}

/// Reads and analyses a recording that lies in a file, with names.
pub(crate) fn open(path: &Path) -> Result<Analysis, Failure> {
    let unreadable = |error: anyhow::Error| Failure::new(exit::UNREADABLE, error);
    let file =
        File::open(path).with_context(|| format!("cannot read {}", path.display())).map_err(unreadable)?;
    let mut analysis = read(&file, path).map_err(unreadable)?;
    if !analysis.has_symbols() {
        // The recording was cut off before its symbols were written; this machine may still have the files.
        add_symbols(&mut analysis);
    }
    Ok(analysis)
}

/// Reads and analyses a recording.
pub(crate) fn read(file: &File, path: &Path) -> anyhow::Result<Analysis> {
    let total = file.metadata().map_or(0, |m| m.len());
    let name = || format!("cannot read {}", path.display());
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(anyhow!("cannot read {}: it is a folder, not a recording", path.display()));
    }
    let reader = Reader::new(BufReader::with_capacity(1 << 20, file)).with_context(name)?;
    let progress = Progress::new();
    analyze(reader, &Options::default(), |at| progress.at("analysing", at, total)).with_context(name)
}

/// Resolves the addresses of a recording and says in a line each what could not be read.
pub(crate) fn add_symbols(analysis: &mut Analysis) -> Symbols {
    let progress = Progress::new();
    let (symbols, problems) = symbolize(analysis, &progress);
    drop(progress);
    for problem in problems {
        anstream::eprintln!("heapwise: warning: no names for some frames: {problem}");
    }
    analysis.set_symbols(symbols.clone());
    symbols
}

/// The diagnosis as text.
pub(crate) fn render(analysis: &Analysis, look: Look, style: Style) -> String {
    let diagnosis = diagnose(analysis);
    match look.format {
        Format::Text => {
            let folder = std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
            let options =
                TextOptions { top: look.top, stacks: look.stacks, folder, ..TextOptions::default() };
            heapwise_report::text(analysis, &diagnosis, &options, style)
        }
        Format::Json => heapwise_report::json(analysis, &diagnosis, &JsonOptions::default()),
    }
}

/// How a stream wants to be written to.
pub(crate) fn style_of(stream: &impl IsTerminal, choice: anstream::ColorChoice) -> Style {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let terminal = stream.is_terminal();
    let width = columns.or_else(|| terminal_width().filter(|_| terminal)).unwrap_or(100);
    Style { color: choice != anstream::ColorChoice::Never, width }
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns))
}
