//! `cargo heapwise test` as it is typed.

use super::{Build, RecordingOptions, Targets};
use clap::Args;
use std::ffi::OsString;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo heapwise test                                  all tests of the package
  cargo heapwise test --lib parser::                   tests of the library whose names contain parser::
  cargo heapwise test --test server -- --test-threads 1
  cargo heapwise test --release --workspace --no-fail-fast

Recordings are <target folder>/heapwise/recordings/<executable>.hw and are replaced by the next run; look at one with \
`heapwise report FILE`. Documentation tests run, and are not recorded. It ends with the exit code of `cargo test`.";

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Only tests whose names contain this.
    #[arg(value_name = "TESTNAME")]
    pub(crate) name: Option<String>,
    /// Which tests.
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// What to build, and how.
    #[command(flatten)]
    pub(crate) build: Build,
    /// Build with the profile `release`.
    #[arg(short, long, help_heading = "Options of cargo", conflicts_with = "profile")]
    pub(crate) release: bool,
    /// Only documentation tests, which are not recorded.
    #[arg(long, hide = true)]
    pub(crate) doc: bool,
    /// How they are recorded.
    #[command(flatten)]
    pub(crate) recording: RecordingOptions,
    /// Arguments of the test executables, behind `--`.
    #[arg(last = true, value_name = "TEST ARGS")]
    pub(crate) arguments: Vec<OsString>,
}
