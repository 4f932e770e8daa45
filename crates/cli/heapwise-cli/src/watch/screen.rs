//! The terminal while it is drawn on, and as it was before: restored on every way out.
//!
//! What heapwise says meanwhile, and a program that it has started, would be in the picture. So standard output and standard error are
//! set aside as far as they lead to a terminal.

use super::view::Theme;
use crate::{Failure, exit};
use anyhow::anyhow;
use heapwise_report::escape::terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

/// What is written to.
type Output = Box<dyn Write + Send>;

/// What has to be undone.
struct Taken {
    output: Output,
    #[cfg(unix)]
    _streams: streams::Aside,
}

static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// A terminal to draw on.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Output>>,
    theme: Theme,
    /// Where keys come from.
    #[cfg(unix)]
    keys: File,
}

/// Takes the terminal. What is written to it from now on goes to `log`.
///
/// # Errors
/// If there is none, or it cannot be drawn on.
pub(super) fn take(log: File) -> io::Result<Screen> {
    if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
        return Err(io::Error::other("TERM says that this one is dumb"));
    }
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let (first, second, choice) = match (stdout.is_terminal(), stderr.is_terminal()) {
        (true, _) => (output(&stdout)?, output(&stdout)?, anstream::AutoStream::choice(&stdout)),
        (false, true) => (output(&stderr)?, output(&stderr)?, anstream::AutoStream::choice(&stderr)),
        (false, false) => return Err(io::Error::other("standard output is none")),
    };
    #[cfg(unix)]
    let keys = keys()?;
    restore_on_panic();
    enable_raw_mode()?;
    #[cfg(unix)]
    let aside = streams::Aside::begin(&log).inspect_err(|_| _ = disable_raw_mode())?;
    let taken = Taken {
        output: second,
        #[cfg(unix)]
        _streams: aside,
    };
    #[cfg(not(unix))]
    drop(log);
    *lock() = Some(taken);
    let begin = || {
        let mut first = first;
        execute!(first, EnterAlternateScreen, Hide)?;
        Terminal::new(CrosstermBackend::new(first))
    };
    let terminal = begin().inspect_err(|_| restore())?;
    let theme = Theme::new(choice != anstream::ColorChoice::Never);
    Ok(Screen {
        terminal,
        theme,
        #[cfg(unix)]
        keys,
    })
}

/// Makes the terminal as it was, if it is taken.
pub(super) fn restore() {
    let Some(mut taken) = lock().take() else { return };
    // A terminal that is gone needs nothing.
    let _ = execute!(taken.output, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// What is said where there is no terminal to draw on.
pub(super) fn refused(error: io::Error) -> Failure {
    let what = anyhow!(
        "a live view needs a terminal to draw on: {error}; without one, `heapwise run` and `heapwise report` say where memory comes from"
    );
    Failure::new(exit::USAGE, what)
}

/// Says what was kept in the log while the screen was drawn on.
pub(super) fn say_kept(mut log: File) {
    let mut text = String::new();
    if log.rewind().and_then(|()| log.read_to_string(&mut text)).is_ok() {
        terminal::print_error(&text, false);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the terminal was restored, by a panic on any thread say.
pub(super) fn is_restored() -> bool {
    lock().is_none()
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

impl Screen {
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>, &Theme)) -> io::Result<()> {
        let theme = &self.theme;
        self.terminal.draw(|frame| draw(frame, theme)).map(drop)
    }

    /// Waits until there may be something to read, and says whether the terminal is gone: who reads events from one that is would read
    /// for ever.
    #[cfg(unix)]
    pub(super) fn wait(&self, time: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut keys = [PollFd::new(&self.keys, PollFlags::IN)];
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut keys, Some(&time)) {
            // A signal, of another size say, or one that ends the view.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(keys[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
    }

    #[cfg(not(unix))]
    pub(super) fn wait(&self, time: Duration) -> io::Result<bool> {
        ratatui::crossterm::event::poll(time).map(|_| false)
    }

    #[cfg(not(unix))]
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

/// Has signals that end programs end the view instead, if nothing else looks after them: see [`is_interrupted`].
///
/// # Errors
/// The system's.
pub(super) fn end_by_signals() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            if !crate::inherited::is_ignored(signal) {
                signal_hook::flag::register(signal, Arc::clone(interrupted()))?;
            }
        }
    }
    Ok(())
}

fn interrupted() -> &'static Arc<AtomicBool> {
    static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    INTERRUPTED.get_or_init(Arc::default)
}

/// Whether a signal has come that ends the view.
pub(super) fn is_interrupted() -> bool {
    interrupted().load(Ordering::Relaxed)
}

#[cfg(unix)]
fn output(stream: &impl std::os::fd::AsFd) -> io::Result<Output> {
    Ok(Box::new(File::from(stream.as_fd().try_clone_to_owned()?)))
}

#[cfg(not(unix))]
fn output<S>(_stream: &S) -> io::Result<Output> {
    Ok(Box::new(io::stdout()))
}

/// What keys are read from: standard input if that is a terminal, and the terminal of this process otherwise.
#[cfg(unix)]
fn keys() -> io::Result<File> {
    use std::os::fd::AsFd;
    let stdin = io::stdin();
    match stdin.is_terminal() {
        true => Ok(File::from(stdin.as_fd().try_clone_to_owned()?)),
        false => File::open("/dev/tty"),
    }
}

#[cfg(unix)]
mod streams {
    use rustix::stdio::{dup2_stderr, dup2_stdout};
    use std::fs::File;
    use std::io::{self, IsTerminal, Write};
    use std::os::fd::{AsFd, OwnedFd};

    /// The streams as they were. Dropping it puts them back.
    pub(super) struct Aside {
        stdout: Option<OwnedFd>,
        stderr: Option<OwnedFd>,
    }

    impl Aside {
        pub(super) fn begin(log: &File) -> io::Result<Self> {
            io::stdout().flush()?;
            let kept = |is_terminal: bool, stream: &dyn AsFd| {
                is_terminal.then(|| stream.as_fd().try_clone_to_owned()).transpose()
            };
            let aside = Self {
                stdout: kept(io::stdout().is_terminal(), &io::stdout())?,
                stderr: kept(io::stderr().is_terminal(), &io::stderr())?,
            };
            if aside.stdout.is_some() {
                dup2_stdout(log)?;
            }
            if aside.stderr.is_some() {
                dup2_stderr(log)?;
            }
            Ok(aside)
        }
    }

    impl Drop for Aside {
        fn drop(&mut self) {
            let _ = io::stdout().flush();
            let _ = self.stdout.take().map(dup2_stdout);
            let _ = self.stderr.take().map(dup2_stderr);
        }
    }
}
