//! Options of cargo's own, which are passed on to it.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const CARGO: &str = "Options of cargo";

/// Arguments for cargo.
#[derive(Debug, Default)]
pub(crate) struct Cargo {
    words: Vec<OsString>,
}

impl Cargo {
    /// An option with its value.
    pub(crate) fn option(&mut self, name: &str, value: Option<impl Into<OsString>>) {
        if let Some(value) = value {
            self.words.extend([name.into(), value.into()]);
        }
    }

    /// An option without a value.
    pub(crate) fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.words.push(name.into());
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        values.iter().for_each(|value| self.option(name, Some(value)));
    }

    pub(crate) fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// What to build, and how.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Build {
    /// Package with the target; may be repeated.
    #[arg(short, long, value_name = "SPEC", help_heading = CARGO)]
    pub(crate) package: Vec<String>,
    /// Build with this profile.
    #[arg(long, value_name = "PROFILE", help_heading = CARGO)]
    pub(crate) profile: Option<String>,
    /// Features to activate, separated by commas or spaces; may be repeated.
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = CARGO)]
    features: Vec<String>,
    /// Activate all features.
    #[arg(long, help_heading = CARGO)]
    all_features: bool,
    /// Do not activate the feature `default`.
    #[arg(long, help_heading = CARGO)]
    no_default_features: bool,
    /// Build for this target triple.
    #[arg(long, value_name = "TRIPLE", help_heading = CARGO)]
    pub(crate) target: Vec<String>,
    /// Folder for all that is built, and for recordings and baselines.
    #[arg(long, value_name = "FOLDER", help_heading = CARGO)]
    pub(crate) target_dir: Option<PathBuf>,
    /// Path of Cargo.toml.
    #[arg(long, value_name = "PATH", help_heading = CARGO)]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Number of jobs.
    #[arg(short, long, value_name = "N", help_heading = CARGO, allow_hyphen_values = true)]
    jobs: Option<String>,
    /// Cargo.lock has to stay as it is.
    #[arg(long, help_heading = CARGO)]
    locked: bool,
    /// Do without the network.
    #[arg(long, help_heading = CARGO)]
    offline: bool,
    /// The same as --locked and --offline.
    #[arg(long, help_heading = CARGO)]
    frozen: bool,
    /// Override a value of cargo's configuration; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", help_heading = CARGO)]
    config: Vec<String>,
    /// An unstable option of cargo's.
    #[arg(short = 'Z', value_name = "FLAG", help_heading = CARGO)]
    unstable: Vec<String>,
    /// Say more about the build; may be repeated.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = CARGO)]
    verbose: u8,
    /// Say nothing about the build.
    #[arg(short, long, help_heading = CARGO)]
    quiet: bool,
    /// Colours of cargo's messages: auto, always or never.
    #[arg(long, value_name = "WHEN", help_heading = CARGO)]
    color: Option<String>,
}

impl Build {
    /// Options that say where things are, and how cargo finds them.
    pub(crate) fn place(&self, cargo: &mut Cargo) {
        cargo.option("--manifest-path", self.manifest_path.as_ref());
        cargo.flag("--locked", self.locked);
        cargo.flag("--offline", self.offline);
        cargo.flag("--frozen", self.frozen);
        cargo.list("--config", &self.config);
        cargo.list("-Z", &self.unstable);
        cargo.option("--color", self.color.as_ref());
    }

    /// All of them but the profile, about which commands differ.
    pub(crate) fn all(&self, cargo: &mut Cargo) {
        cargo.list("--package", &self.package);
        cargo.list("--features", &self.features);
        cargo.flag("--all-features", self.all_features);
        cargo.flag("--no-default-features", self.no_default_features);
        cargo.list("--target", &self.target);
        cargo.option("--target-dir", self.target_dir.as_ref());
        cargo.option("--jobs", self.jobs.as_ref());
        (0..self.verbose).for_each(|_| cargo.flag("--verbose", true));
        cargo.flag("--quiet", self.quiet);
        self.place(cargo);
    }
}

/// The one program to run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Kind {
    /// The program, if the package has several.
    #[arg(long, value_name = "NAME", help_heading = CARGO, conflicts_with = "example")]
    bin: Option<String>,
    /// An example in place of a program.
    #[arg(long, value_name = "NAME", help_heading = CARGO)]
    example: Option<String>,
    /// Build with the profile `release`, which is done anyway.
    #[arg(short, long, help_heading = CARGO, conflicts_with_all = ["dev", "profile"])]
    release: bool,
    /// Build with the profile `dev`: without optimisations, which changes what is allocated.
    #[arg(long, help_heading = CARGO, conflicts_with = "profile")]
    dev: bool,
}

impl Kind {
    /// The options for `cargo run`, and the profile that it builds with.
    pub(crate) fn all(&self, build: &Build, cargo: &mut Cargo) -> String {
        cargo.option("--bin", self.bin.as_ref());
        cargo.option("--example", self.example.as_ref());
        let profile = match &build.profile {
            Some(profile) => profile,
            None if self.dev => "dev",
            None => "release",
        };
        cargo.option("--profile", Some(profile));
        profile.to_owned()
    }
}

/// Which of the tests or benchmarks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Targets {
    /// All packages of the workspace.
    #[arg(long, visible_alias = "all", help_heading = CARGO)]
    workspace: bool,
    /// All but this package of the workspace; may be repeated.
    #[arg(long, value_name = "SPEC", help_heading = CARGO, requires = "workspace")]
    exclude: Vec<String>,
    /// Those of the library.
    #[arg(long, help_heading = CARGO)]
    lib: bool,
    /// Those of all programs.
    #[arg(long, help_heading = CARGO)]
    bins: bool,
    /// Those of this program; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = CARGO)]
    bin: Vec<String>,
    /// Those of all examples.
    #[arg(long, help_heading = CARGO)]
    examples: bool,
    /// Those of this example; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = CARGO)]
    example: Vec<String>,
    /// All tests.
    #[arg(long, help_heading = CARGO)]
    tests: bool,
    /// This test; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = CARGO)]
    test: Vec<String>,
    /// All benchmarks.
    #[arg(long, help_heading = CARGO)]
    benches: bool,
    /// This benchmark; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = CARGO)]
    bench: Vec<String>,
    /// All targets.
    #[arg(long, help_heading = CARGO)]
    all_targets: bool,
    /// Go on after an executable that failed.
    #[arg(long, help_heading = CARGO)]
    no_fail_fast: bool,
}

impl Targets {
    pub(crate) fn all(&self, cargo: &mut Cargo) {
        cargo.flag("--workspace", self.workspace);
        cargo.list("--exclude", &self.exclude);
        let kinds = [
            ("--lib", self.lib),
            ("--bins", self.bins),
            ("--examples", self.examples),
            ("--tests", self.tests),
            ("--benches", self.benches),
            ("--all-targets", self.all_targets),
            ("--no-fail-fast", self.no_fail_fast),
        ];
        kinds.into_iter().for_each(|(name, is_set)| cargo.flag(name, is_set));
        cargo.list("--bin", &self.bin);
        cargo.list("--example", &self.example);
        cargo.list("--test", &self.test);
        cargo.list("--bench", &self.bench);
    }

    /// Whether it may be less than what cargo would take of itself.
    pub(crate) fn is_selective(&self) -> bool {
        let kinds = [self.lib, self.bins, self.examples, self.tests];
        let lists = [&self.exclude, &self.bin, &self.example, &self.test, &self.bench];
        kinds.contains(&true) || lists.iter().any(|list| !list.is_empty())
    }
}
