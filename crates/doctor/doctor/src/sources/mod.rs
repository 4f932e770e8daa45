//! Sources that set `_NO_DEBUG_HEAP` where it comes too late, or does not come at all.
//!
//! `ntdll` reads the variable before `main`, so a program that sets it for itself has the debug heap all the same, and its
//! author believes the opposite. All of these are found in public code. What a program sets for others that it starts
//! (`Command::env`) is fine, and no finding.

mod lexer;

use crate::report::Report;
use crate::rule::is_variable;
use crate::text::Lines;
use heapwise_environment::{Finding, Severity};
use lexer::{Language, Token, tokens};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger files are made by machines.
const LARGEST: u64 = 1 << 20;
/// As much as some seconds can read.
const MOST_BYTES: u64 = 256 << 20;

/// Functions that set a variable of the own process.
const SETTERS: &[&str] = &[
    "set_var",
    "SetEnvironmentVariable",
    "SetEnvironmentVariableA",
    "SetEnvironmentVariableW",
    "_putenv",
    "_wputenv",
    "_putenv_s",
    "_wputenv_s",
    "putenv",
    "setenv",
];

/// Looks through the sources among the files of a project.
pub(crate) fn scan(files: &[PathBuf], report: &mut Report<'_>) {
    let mut left = MOST_BYTES;
    for file in files {
        let Some(kind) = kind(file) else { continue };
        let Some(text) = read(file, left) else { continue };
        left -= text.len() as u64;
        // Nearly all files are done here.
        if !text.to_ascii_uppercase().contains(crate::rule::VARIABLE) {
            continue;
        }
        for late in look(kind, &text) {
            let at = format!("{}:{}", report.places.shown(file), late.line);
            let mut finding = Finding::new(late.check, severity(report, &late), late.title, late.remedy);
            finding = finding.because(format!("{at}: {}", late.evidence));
            report.propose_at(file, finding, None);
        }
    }
}

fn severity(report: &Report<'_>, late: &Late) -> Severity {
    // Cargo's configuration does something for a debugger that Cargo itself starts.
    if late.check == "no-debug-heap-place" { Severity::Note } else { report.places.mistake_severity() }
}

/// What kind of source a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code(Language),
    CargoConfig,
}

fn kind(file: &Path) -> Option<Kind> {
    let name = file.file_name()?.to_str()?;
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match extension {
        "rs" => Some(Kind::Code(Language::Rust)),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "inl" => Some(Kind::Code(Language::C)),
        _ if file.parent()?.ends_with(".cargo") && ["config.toml", "config"].contains(&name) => {
            Some(Kind::CargoConfig)
        }
        _ => None,
    }
}

fn read(file: &Path, left: u64) -> Option<String> {
    let metadata = fs::symlink_metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST.min(left) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    // Sources in other encodings are ASCII where it matters.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A place in a source that sets the variable too late to have an effect.
#[derive(Debug, PartialEq, Eq)]
struct Late {
    check: &'static str,
    line: usize,
    title: &'static str,
    evidence: String,
    remedy: &'static str,
}

fn look(kind: Kind, text: &str) -> Vec<Late> {
    match kind {
        Kind::Code(language) => look_at_code(language, text),
        Kind::CargoConfig => look_at_cargo(text),
    }
}

const REMEDY: &str = "set it where the process is created: in the debugger's configuration, or in the environment of the editor";

fn look_at_code(language: Language, text: &str) -> Vec<Late> {
    let lines = Lines::of(text);
    let late = |at, evidence: String, title| Late {
        check: "no-debug-heap-too-late",
        line: lines.line(at),
        title,
        evidence,
        remedy: REMEDY,
    };
    let mut found = Vec::new();
    let tokens = tokens(language, text);
    for (at, window) in tokens.iter().enumerate() {
        match window {
            Token::Text { at: start, text: string } => {
                let name = string.split('=').next().unwrap_or_default().trim();
                if !is_variable(name) {
                    // A build script can set variables for the compiler only.
                    let to_compiler = ["cargo:rustc-env=_NO_DEBUG_HEAP", "cargo::rustc-env=_NO_DEBUG_HEAP"];
                    let is_printed = matches!(
                        tokens[..at],
                        [
                            ..,
                            Token::Word { text: "println" | "print", .. },
                            Token::Mark('!'),
                            Token::Mark('(')
                        ]
                    );
                    if is_printed && to_compiler.iter().any(|line| string.starts_with(line)) {
                        let title = "_NO_DEBUG_HEAP is set for the compiler, and not for the program";
                        found.push(late(*start, "cargo:rustc-env".to_owned(), title));
                    }
                    continue;
                }
                if let Some(function) = setter(&tokens[..at]) {
                    let title = "_NO_DEBUG_HEAP is set by the program itself, after Windows has read it";
                    found.push(late(*start, format!("{function}(\"_NO_DEBUG_HEAP\")"), title));
                }
            }
            Token::Word { at: start, text: word } if language == Language::C && is_variable(word) => {
                let is_defined =
                    matches!(tokens[..at], [.., Token::Mark('#'), Token::Word { text: "define", .. }]);
                if is_defined {
                    let title = "_NO_DEBUG_HEAP is defined as a macro, which Windows never sees";
                    found.push(late(*start, "#define _NO_DEBUG_HEAP".to_owned(), title));
                }
            }
            _ => {}
        }
    }
    found
}

/// The function that a string is the first argument of, if it sets variables of the own process.
fn setter<'t>(before: &[Token<'t>]) -> Option<&'t str> {
    // `TEXT("…")`, `_T("…")` and `L"…"` are strings in other clothes.
    let before = match before {
        [rest @ .., Token::Word { text: "TEXT" | "_TEXT" | "_T" | "w", .. }, Token::Mark('(')] => rest,
        [rest @ .., Token::Word { text: "L" | "u8" | "u" | "b" | "c", .. }] => rest,
        rest => rest,
    };
    match before {
        [.., Token::Word { text, .. }, Token::Mark('(')] if SETTERS.contains(text) => Some(text),
        _ => None,
    }
}

/// `[env]` of `.cargo/config.toml`, line by line: what Cargo gives to processes that it starts itself.
fn look_at_cargo(text: &str) -> Vec<Late> {
    let mut is_env = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            is_env = section.split(']').next().is_some_and(|name| {
                let name = name.trim();
                name == "env" || name.strip_prefix("env.").is_some_and(|v| is_variable(v.trim_matches('"')))
            });
            if !is_env || !line.starts_with("[env.") {
                continue;
            }
        }
        let key = line.split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        let key = key.strip_prefix("env.").unwrap_or(key);
        if is_env && (is_variable(key) || line.starts_with("[env.")) {
            found.push(Late {
                check: "no-debug-heap-place",
                line: number + 1,
                title: "_NO_DEBUG_HEAP in Cargo's configuration reaches what `cargo run` starts, which has no debug heap anyway",
                evidence: "[env]".to_owned(),
                remedy: "set it in the debugger's configuration as well: debuggers start the program without Cargo",
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(kind: Kind, text: &str) -> Vec<usize> {
        look(kind, text).into_iter().map(|late| late.line).collect()
    }

    const RUST: Kind = Kind::Code(Language::Rust);
    const C: Kind = Kind::Code(Language::C);

    #[test]
    fn what_a_program_sets_for_itself_is_found() {
        assert_eq!(
            lines(RUST, "fn main() {\n    unsafe { std::env::set_var(\n\"_NO_DEBUG_HEAP\", \"1\") };\n}"),
            [3]
        );
        assert_eq!(lines(RUST, "env::set_var(r#\"_NO_DEBUG_HEAP\"#, x)"), [1]);
        assert_eq!(lines(C, "int main() {\n  _putenv(\"_NO_DEBUG_HEAP=1\");\n"), [2]);
        assert_eq!(lines(C, "::SetEnvironmentVariableW( L\"_NO_DEBUG_HEAP\", L\"1\" );"), [1]);
        assert_eq!(lines(C, "SetEnvironmentVariable(TEXT(\"_NO_DEBUG_HEAP\"), TEXT(\"1\"))"), [1]);
        assert_eq!(lines(C, "//\n#  define _NO_DEBUG_HEAP 1\n"), [2]);
        assert_eq!(lines(RUST, "println!(\"cargo:rustc-env=_NO_DEBUG_HEAP=1\")"), [1]);
    }

    #[test]
    fn what_is_no_code_or_is_for_others_is_not() {
        for text in [
            "// std::env::set_var(\"_NO_DEBUG_HEAP\", \"1\")",
            "/* /* */ set_var(\"_NO_DEBUG_HEAP\", \"1\") */",
            "let text = \"set_var(\\\"_NO_DEBUG_HEAP\\\")\";",
            "let text = r#\"set_var(\"_NO_DEBUG_HEAP\")\"#;",
            "Command::new(program).env(\"_NO_DEBUG_HEAP\", \"1\")",
            "std::env::var(\"_NO_DEBUG_HEAP\")",
            "set_var(\"OTHER\", \"_NO_DEBUG_HEAP\")",
            "let text = [\"cargo:rustc-env=_NO_DEBUG_HEAP\"];",
        ] {
            assert_eq!(lines(RUST, text), [0; 0], "{text}");
        }
        assert_eq!(lines(C, "#undef _NO_DEBUG_HEAP\n#if _NO_DEBUG_HEAP\n"), [0; 0]);
    }

    #[test]
    fn cargos_configuration_is_read_by_section() {
        assert_eq!(
            lines(Kind::CargoConfig, "[build]\n_NO_DEBUG_HEAP = 1\n[env]\n# x\n_NO_DEBUG_HEAP = \"1\"\n"),
            [5]
        );
        assert_eq!(lines(Kind::CargoConfig, "[env]\nA = \"_NO_DEBUG_HEAP\"\n"), [0; 0]);
        assert_eq!(lines(Kind::CargoConfig, "[env._NO_DEBUG_HEAP]\nvalue = \"1\"\n"), [1]);
    }

    #[test]
    fn files_are_recognised_by_their_names() {
        assert_eq!(kind(Path::new("a/main.rs")), Some(RUST));
        assert_eq!(kind(Path::new("a/main.hpp")), Some(C));
        assert_eq!(kind(Path::new(".cargo/config.toml")), Some(Kind::CargoConfig));
        assert_eq!(kind(Path::new("config.toml")), None);
    }
}
