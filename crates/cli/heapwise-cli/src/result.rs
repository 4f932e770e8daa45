//! Where the result of a command goes: a file, standard output, or the browser.

use crate::args::{Destination, Form, Format};
use crate::{Failure, exit, pager};
use anyhow::{Context, anyhow};
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::escape::terminal;
use heapwise_report::{Style, browser};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

pub(crate) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Checks that a result can be written, before hours of work for it. An existing file is left unchanged; the recordings that the
/// result is made from are refused.
pub(crate) fn check(destination: &Destination, inputs: &[&Path]) -> Result<(), Failure> {
    let Some(out) = destination.output.as_deref() else { return Ok(()) };
    let place = |path: &Path| path.canonicalize().ok();
    if place(out).is_some_and(|out| inputs.iter().any(|input| place(input).as_ref() == Some(&out))) {
        let error = anyhow!("-o {} would overwrite the recording itself; name another file", out.display());
        return Err(Failure::new(exit::USAGE, error));
    }
    Ok(file::check(out, Existing::of(destination.force)).with_context(|| cannot_write(out))?)
}

/// The same for a result that can be a page: pages go to files or to the browser, and only pages go there. `name` is an example of
/// a file for it.
pub(crate) fn check_page(
    form: Form,
    destination: &Destination,
    inputs: &[&Path],
    name: &Path,
) -> Result<(), Failure> {
    let usage = |text| Err(Failure::new(exit::USAGE, anyhow!("{text}")));
    if form.open && form.format != Format::Html {
        return usage("--open shows HTML in the browser: leave --format out".to_owned());
    }
    if form.format == Format::Html
        && !form.open
        && destination.output.is_none()
        && std::io::stdout().is_terminal()
    {
        return usage(format!(
            "HTML is for a browser, not for a terminal; show it with --open, or write it to a file with -o {}",
            name.display()
        ));
    }
    check(destination, inputs)
}

/// A file for a result, which appears when it is complete.
pub(crate) fn create<'a>(path: &'a Path, destination: &Destination) -> std::io::Result<file::Output<'a>> {
    file::Output::create(path, Existing::of(destination.force))
}

/// Writes what `render` makes to a file, or to standard output.
pub(crate) fn write(destination: &Destination, render: impl FnOnce(Style) -> String) -> Result<(), Failure> {
    let out = std::io::stdout();
    let style = match destination.output {
        Some(_) => Style { color: false, width: 100 },
        None => style_of(&out, anstream::AutoStream::choice(&out)),
    };
    put_out(destination, style.color, |out| out.write_all(render(style).as_bytes()))
}

/// Writes what `put` puts piece by piece to a file, or to standard output. For what may be long.
pub(crate) fn write_by(
    destination: &Destination,
    put: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    put_out(destination, false, put)
}

fn put_out(
    destination: &Destination,
    is_styled: bool,
    put: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    if let Some(out) = destination.output.as_deref() {
        let to_file = || {
            let mut file = BufWriter::with_capacity(1 << 16, create(out, destination)?);
            put(&mut file)?;
            file.into_inner()?.finish()
        };
        to_file().with_context(|| cannot_write(out))?;
        return Ok(());
    }
    if std::io::stdout().is_terminal() {
        let mut text = Vec::new();
        put(&mut text)?;
        pager::print(&String::from_utf8_lossy(&text), is_styled)?;
        return Ok(());
    }
    Ok(terminal::put_out_by(put)?)
}

/// Writes what `render` makes, and shows it in the browser if that was asked for. Without a name it is in a temporary file that stays:
/// browsers read it later.
pub(crate) fn write_page(
    form: Form,
    destination: &Destination,
    render: impl FnOnce(Style) -> String,
) -> Result<(), Failure> {
    if !form.open {
        return write(destination, render);
    }
    if let Some(out) = destination.output.as_deref() {
        write(destination, render)?;
        browser::open(out, None);
        return Ok(());
    }
    let page = tempfile::Builder::new().prefix("heapwise-").suffix(".html").tempfile();
    let (mut page, path) = page.and_then(|page| Ok(page.keep()?)).context("cannot make a temporary file")?;
    let text = render(Style { color: false, width: 100 });
    page.write_all(text.as_bytes()).with_context(|| cannot_write(&path))?;
    heapwise_report::note!("heapwise: report in {}", path.display());
    browser::open(&path, None);
    Ok(())
}

/// Colours and width for a stream.
pub(crate) fn style_of(stream: &impl IsTerminal, choice: anstream::ColorChoice) -> Style {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let terminal = stream.is_terminal();
    let width = columns.or_else(|| terminal_width().filter(|_| terminal)).unwrap_or(100);
    Style { color: choice != anstream::ColorChoice::Never, width }
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns))
}
