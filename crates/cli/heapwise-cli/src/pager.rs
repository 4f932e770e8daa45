//! A long text on a terminal goes through the user's pager, as git does it.

use heapwise_report::escape::terminal;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// Shows a text on standard output: through the pager if that is a terminal that the text does not fit on.
pub(crate) fn print(text: &str, is_styled: bool) -> std::io::Result<()> {
    let height = terminal_size::terminal_size().map(|(_, terminal_size::Height(lines))| usize::from(lines));
    let fits = height.is_none_or(|height| text.lines().count() < height);
    if !std::io::stdout().is_terminal() || fits || !page(text, is_styled) {
        terminal::print(text, is_styled)?;
    }
    Ok(())
}

/// Whether the pager has shown it.
fn page(text: &str, is_styled: bool) -> bool {
    let Some(mut command) = command(std::env::var_os("PAGER").as_deref()) else { return false };
    // Colours, no clearing of the screen, and no paging of what fits; as git has it.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // A reader who has seen enough closes the pipe.
        let _ = input.write_all(terminal::page(text, is_styled).as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// What a shell ends with if there is no such command.
const NOT_FOUND: i32 = 127;

const DEFAULT: &str = "less";

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The pager: a command with arguments; `less` if none is chosen, none if it is chosen to be nothing or `cat`.
fn command(chosen: Option<&std::ffi::OsStr>) -> Option<Command> {
    let default = || is_installed(DEFAULT).then_some(DEFAULT.as_ref());
    let chosen = chosen.or_else(default).filter(|chosen| !chosen.is_empty() && *chosen != "cat")?;
    if cfg!(windows) {
        return None;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(chosen);
    Some(command)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_the_users() {
        let shown = |chosen: Option<&str>| {
            let command = command(chosen.map(std::convert::AsRef::as_ref))?;
            Some(command.get_args().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(shown(None).is_some(), is_installed(DEFAULT));
        assert_eq!(shown(Some("more -d")).as_deref(), Some("-c more -d"));
        assert_eq!((shown(Some("")), shown(Some("cat"))), (None, None));
    }
}
