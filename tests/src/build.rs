//! Compiles victims, once for each set of flags, into the target folder.

use crate::folders::{exclusively, target_folder};
use crate::victim::{Language, Victim};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// How a victim is compiled. The flag sets differ in what affects heapwise: whether functions are inlined, whether rbp leads from
/// frame to frame, whether there are names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagSet {
    /// Without optimisation, with debug information.
    Debug,
    /// Optimised, without frame pointers, with debug information.
    Release,
    /// Optimised, with frame pointers, without debug information.
    FramePointer,
    /// Optimised, without any symbols.
    Stripped,
    /// Optimised, with debug information, and linked with all libraries in it.
    Static,
}

impl FlagSet {
    pub const ALL: [Self; 5] = [Self::Debug, Self::Release, Self::FramePointer, Self::Stripped, Self::Static];

    /// Its name, which is also that of the folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
            Self::FramePointer => "framepointer",
            Self::Stripped => "stripped",
            Self::Static => "static",
        }
    }

    /// Whether a report can distinguish functions by their names.
    pub fn has_names(self) -> bool {
        self != Self::Stripped
    }

    fn of_c(self) -> &'static [&'static str] {
        match self {
            Self::Debug => &["-O0", "-g"],
            Self::Release => &["-O2", "-g"],
            Self::FramePointer => &["-O2", "-fno-omit-frame-pointer"],
            Self::Stripped => &["-O2", "-s"],
            Self::Static => &["-O2", "-g", "-static"],
        }
    }

    fn of_rust(self) -> &'static [&'static str] {
        match self {
            Self::Debug => &["-Copt-level=0", "-g"],
            Self::Release => &["-Copt-level=3", "-g"],
            Self::FramePointer => &["-Copt-level=3", "-Cforce-frame-pointers=yes"],
            Self::Stripped => &["-Copt-level=3", "-Cstrip=symbols"],
            Self::Static => &["-Copt-level=3", "-g", "-Ctarget-feature=+crt-static"],
        }
    }
}

/// The plugins that victims expect in their own folder.
const PLUGINS: [&str; 2] = ["plugin_one", "plugin_two"];

/// Compiles a victim, and what it loads, unless that was done since its source changed. Returns the executable.
pub fn build(victim: &Victim, flags: FlagSet) -> PathBuf {
    if victim.flags.iter().any(|f| f == "-ldl") {
        for plugin in PLUGINS {
            compile(&Victim::named(plugin), flags);
        }
    }
    compile(victim, flags)
}

fn compile(victim: &Victim, flags: FlagSet) -> PathBuf {
    let folder = target_folder().join("victims").join(flags.name());
    std::fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot create {}: {e}", folder.display()));
    let file = if victim.plugin { format!("{}.so", victim.name) } else { victim.name.clone() };
    let executable = folder.join(file);
    let _held = exclusively(&format!("{}-{}", flags.name(), victim.name));
    if modified(&executable)
        .is_some_and(|built| modified(&victim.source).is_some_and(|source| source < built))
    {
        return executable;
    }
    // Another test may be running the old one, so the new one replaces it in one step.
    let temporary = folder.join(format!(".{}.{}", victim.name, std::process::id()));
    let mut compiler = compiler(victim, flags, &temporary);
    let output = compiler.output().unwrap_or_else(|e| panic!("cannot start {compiler:?}: {e}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} does not compile: {compiler:?}\n{messages}", victim.name);
    std::fs::rename(&temporary, &executable)
        .unwrap_or_else(|e| panic!("cannot name {}: {e}", executable.display()));
    executable
}

fn compiler(victim: &Victim, flags: FlagSet, output: &Path) -> Command {
    let program = match victim.language {
        Language::C => "cc",
        Language::Cpp => "c++",
        Language::Rust => "rustc",
    };
    let mut command = Command::new(program);
    match victim.language {
        Language::C | Language::Cpp => command.args(flags.of_c()),
        // By default rustc derives a crate's name from that of the file.
        Language::Rust => command.args(flags.of_rust()).args(["--crate-name", &victim.name]),
    };
    command.arg(&victim.source).arg("-o").arg(output).args(&victim.flags);
    command
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// Compiles a program in C from its text, with threads and line tables.
///
/// # Panics
/// If it does not compile.
pub fn compile_text(compiler: &str, flags: &[&str], source: &str, folder: &Path, name: &str) -> PathBuf {
    let (file, program) = (folder.join(name).with_extension("c"), folder.join(name));
    std::fs::write(&file, source).expect("it can be written");
    let mut command = Command::new(compiler);
    command.args(["-O2", "-g", "-w", "-pthread", "-o"]).arg(&program).arg(&file).args(flags);
    assert!(command.status().expect("a compiler").success(), "{command:?}");
    program
}
