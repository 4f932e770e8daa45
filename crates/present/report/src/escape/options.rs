//! Options that every command has: colours, and how much is said.

use super::terminal::Verbosity;
use clap::{ArgAction, Args, ValueEnum};

/// What is said beside the result.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputOptions {
    /// Colours; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    /// Say nothing but results, warnings and errors.
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "verbose")]
    quiet: bool,
    /// Say what is done, and how long each step takes.
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    verbose: bool,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

impl OutputOptions {
    /// The same as words, for another program of ours.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let color = match self.color {
            When::Auto => None,
            When::Always => Some("--color=always"),
            When::Never => Some("--color=never"),
        };
        let said = [(self.quiet, "--quiet"), (self.verbose, "--verbose")];
        color.into_iter().chain(said.into_iter().filter_map(|(is_given, word)| is_given.then_some(word)))
    }

    /// Lets these hold for the whole process.
    pub fn apply(self) {
        match self.color {
            When::Auto => anstream::ColorChoice::Auto,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Usual,
        }
        .apply();
    }
}
