//! A terminal of a certain size, with a shell in it: tmux, with a server of its own.

use crate::programs;
use crate::run::{PATIENCE, command, finish};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The terminal. It ends when it is dropped, with what runs in it.
#[derive(Debug)]
pub struct Tmux {
    program: PathBuf,
    folder: PathBuf,
    socket: PathBuf,
}

impl Tmux {
    /// A shell in `folder`, in a terminal with so many columns and lines. `None` if tmux is missing, as [`programs::find`] has it.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(folder: &Path, columns: u16, lines: u16) -> Option<Self> {
        let program = programs::find("tmux")?;
        let tmux = Self { program, folder: folder.to_owned(), socket: folder.join(".tmux") };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        tmux.tell(&["new-session", "-d", "-x", &columns, "-y", &lines, "env PS1='ready> ' sh"]);
        tmux.wait_for("ready>");
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut tmux = command(&self.program, &self.folder);
        // Its own configuration, and none of the user's; characters of all kinds.
        tmux.env("LC_ALL", "C.UTF-8").args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        tmux
    }

    fn tell(&self, arguments: &[&str]) -> String {
        let outcome = finish(self.command().args(arguments), &self.folder, "tmux");
        assert_eq!(outcome.code(), 0, "tmux {arguments:?}: {}", outcome.stderr);
        outcome.text()
    }

    /// Types a line.
    pub fn line(&self, text: &str) {
        self.tell(&["send-keys", "-l", text]);
        self.key("Enter");
    }

    /// Presses keys, each by its name as tmux has it.
    pub fn key(&self, name: &str) {
        self.tell(&["send-keys", name]);
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, lines: u16) {
        self.tell(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.tell(&["capture-pane", "-p"])
    }

    /// The same with its colours, as sequences of characters.
    pub fn screen_with_colours(&self) -> String {
        self.tell(&["capture-pane", "-e", "-p"])
    }

    /// Whether the cursor is shown, and whether the screen is another one than the shell's.
    pub fn state(&self) -> (bool, bool) {
        let flags = self.tell(&["display-message", "-p", "#{cursor_flag}#{alternate_on}"]);
        (flags.starts_with('1'), flags.trim_end().ends_with('1'))
    }

    /// Waits until the screen holds a text, and returns it.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, and returns it.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "the screen does not show {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = self.command().arg("kill-server").output();
    }
}
