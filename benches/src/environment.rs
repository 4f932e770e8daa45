//! `bench environment`: the cost of each thing that `heapwise doctor` looks for, in a map of strings that is filled and dropped.
//! Runs with a setting and plain runs of the same size take turns.

use crate::launcher::compile;
use anyhow::{Context, Result, ensure};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Entries of the map, unless a setting makes it so slow that fewer have to do.
const USUAL: u64 = 1_000_000;

/// Something that is set up around the program.
struct Setting {
    /// Which check of `doctor` finds it.
    check: &'static str,
    variables: &'static [(&'static str, &'static str)],
    /// What runs the program, such as valgrind.
    under: &'static [&'static str],
    entries: u64,
}

const fn setting(check: &'static str, variables: &'static [(&'static str, &'static str)]) -> Setting {
    Setting { check, variables, under: &[], entries: USUAL }
}

const JEMALLOC: (&str, &str) = ("LD_PRELOAD", "libjemalloc.so.2");
const MIMALLOC: (&str, &str) = ("LD_PRELOAD", "libmimalloc.so.2");

const SETTINGS: &[Setting] = &[
    setting("malloc-check", &[("MALLOC_CHECK_", "3")]),
    setting("malloc-check", &[("LD_PRELOAD", "libc_malloc_debug.so.0")]),
    setting("malloc-check", &[("LD_PRELOAD", "libc_malloc_debug.so.0"), ("MALLOC_CHECK_", "3")]),
    setting("malloc-perturb", &[("MALLOC_PERTURB_", "165")]),
    setting("malloc-perturb", &[("GLIBC_TUNABLES", "glibc.malloc.perturb=165")]),
    setting("malloc-trace", &[("MALLOC_TRACE", "/dev/null")]),
    setting("arena-max", &[("MALLOC_ARENA_MAX", "1")]),
    setting("glibc-tunables", &[("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")]),
    setting("glibc-tunables", &[("GLIBC_TUNABLES", "glibc.malloc.mxfast=0")]),
    setting("glibc-tunables", &[("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=0")]),
    Setting {
        entries: 20_000,
        ..setting(
            "glibc-tunables",
            &[("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=0:glibc.malloc.mmap_max=100000000")],
        )
    },
    setting("transparent-huge-pages", &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]),
    setting("checking-library", &[("LD_PRELOAD", "libmemusage.so")]),
    Setting {
        entries: 200_000,
        ..setting("checking-library", &[("LD_PRELOAD", "libtcmalloc_minimal_debug.so.4")])
    },
    Setting {
        entries: 5_000,
        ..setting(
            "checking-library",
            &[("LD_PRELOAD", "libefence.so.0"), ("EF_ALLOW_MALLOC_0", "1"), ("EF_ALIGNMENT", "16")],
        )
    },
    Setting {
        entries: 5_000,
        ..setting(
            "checking-library",
            &[("LD_PRELOAD", "libduma.so.0"), ("DUMA_ALLOW_MALLOC_0", "1"), ("DUMA_ALIGNMENT", "16")],
        )
    },
    setting("jemalloc-options", &[JEMALLOC]),
    setting("jemalloc-options", &[JEMALLOC, ("MALLOC_CONF", "junk:true")]),
    setting("jemalloc-options", &[JEMALLOC, ("MALLOC_CONF", "zero:true")]),
    setting("jemalloc-options", &[JEMALLOC, ("MALLOC_CONF", "tcache:false")]),
    setting("jemalloc-options", &[JEMALLOC, ("MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")]),
    setting("jemalloc-options", &[JEMALLOC, ("MALLOC_CONF", "prof:true")]),
    setting("mimalloc-options", &[MIMALLOC]),
    setting("mimalloc-options", &[MIMALLOC, ("MIMALLOC_PURGE_DELAY", "0")]),
    setting("tcmalloc-options", &[("LD_PRELOAD", "libtcmalloc.so.4")]),
    Setting {
        entries: 200_000,
        ..setting("tcmalloc-options", &[("LD_PRELOAD", "libtcmalloc.so.4"), ("HEAPCHECK", "normal")])
    },
    setting("tcmalloc-options", &[("LD_PRELOAD", "libtcmalloc.so.4"), ("TCMALLOC_AGGRESSIVE_DECOMMIT", "1")]),
    Setting { under: &["valgrind", "--quiet", "--tool=none"], entries: 20_000, ..setting("valgrind", &[]) },
    Setting { under: &["valgrind", "--quiet"], entries: 20_000, ..setting("valgrind", &[]) },
];

/// Processor time, in nanoseconds, or how many times as long as without a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    fill: f64,
    drop: f64,
}

/// Runs all settings. Returns a table.
pub(crate) fn measure(rounds: usize, quick: bool, folder: &Path) -> Result<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/strings.rs");
    let program = folder.join("strings");
    compile(&source, &program, &[])?;
    let mut text = String::from(
        "| check | setting | entries | filling, times as long | dropping, times as long |\n\
         |---|---|---:|---:|---:|\n",
    );
    for setting in SETTINGS {
        let name = described(setting);
        if let Some(missing) = missing(setting) {
            eprintln!("bench: {name}: {missing} is not installed");
            continue;
        }
        let entries = if quick { setting.entries / 10 } else { setting.entries };
        let rows = pairs(&program, entries, setting, rounds);
        // A library that makes the program crash costs more than time, and is no reason to measure nothing else.
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                eprintln!("bench: {error:#}");
                text.push_str(&format!("| `{}` | `{name}` | {entries} | crashes | |\n", setting.check));
                continue;
            }
        };
        let fill = Spread::of(rows.iter().map(|row| row.fill));
        let drop = Spread::of(rows.iter().map(|row| row.drop));
        let (Some(fill), Some(drop)) = (fill, drop) else { continue };
        eprintln!("bench: {name}: {fill:.2}, {drop:.2}");
        text.push_str(&format!("| `{}` | `{name}` | {entries} | {fill:.2} | {drop:.2} |\n", setting.check));
    }
    Ok(text)
}

/// The program without and with the setting, in turns.
fn pairs(program: &Path, entries: u64, setting: &Setting, rounds: usize) -> Result<Vec<Times>> {
    let mut both = [Vec::new(), Vec::new()];
    for turn in Rounds::new(2, rounds as u32, 1).without_warm_up() {
        both[turn.who].push(run(program, entries, (turn.who == 1).then_some(setting))?);
    }
    let [plain, set] = both;
    let pairs = plain.into_iter().zip(set);
    Ok(pairs.map(|(plain, set)| Times { fill: set.fill / plain.fill, drop: set.drop / plain.drop }).collect())
}

fn described(setting: &Setting) -> String {
    let variables = setting.variables.iter().map(|(name, value)| format!("{name}={value}"));
    variables.chain(setting.under.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>().join(" ")
}

/// A library or program that the setting needs and that is not there.
fn missing(setting: &Setting) -> Option<String> {
    const LIBRARIES: [&str; 3] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let exists = |folders: &[PathBuf], name: &str| folders.iter().any(|folder| folder.join(name).exists());
    let preload =
        setting.variables.iter().find(|(name, _)| *name == "LD_PRELOAD").map(|(_, library)| *library);
    if let Some(library) = preload.filter(|library| !exists(&LIBRARIES.map(PathBuf::from), library)) {
        return Some(library.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    setting.under.first().filter(|program| !exists(&folders, program)).map(|program| (*program).to_owned())
}

fn run(program: &Path, entries: u64, setting: Option<&Setting>) -> Result<Times> {
    let under = setting.map_or(&[][..], |setting| setting.under);
    let mut command = match under {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.arg(entries.to_string()).stdin(Stdio::null()).stderr(Stdio::null());
    for (name, value) in setting.map_or(&[][..], |setting| setting.variables) {
        command.env(name, value);
    }
    let output = command.output().context("cannot run the program")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Some libraries print something at the end, and some complain about what is left.
    let numbers: Option<(f64, f64)> = text.lines().find_map(|line| {
        let (fill, drop) = line.split_once(' ')?;
        Some((fill.parse().ok()?, drop.parse().ok()?))
    });
    let name = setting.map_or_else(|| "plain".to_owned(), described);
    ensure!(numbers.is_some(), "{name}: the program ended with {} and said {text:?}", output.status);
    let (fill, drop) = numbers.unwrap_or_default();
    Ok(Times { fill, drop })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_sets_something_up() {
        for setting in SETTINGS {
            assert!(!setting.variables.is_empty() || !setting.under.is_empty());
            assert!(setting.entries >= 1_000 && !described(setting).is_empty());
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let setting = setting("x", &[("LD_PRELOAD", "libnobody-has-this.so")]);
        assert_eq!(missing(&setting).as_deref(), Some("libnobody-has-this.so"));
    }
}
