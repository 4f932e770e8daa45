//! Small programs, compiled when the tests run, and the tools that say what is true about them.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use heapwise_symbols::{DebugSearch, Frame, ModuleSymbols, Svma};

/// A separate directory for each test.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

pub(crate) const C: &str = r#"
#include <stdlib.h>
#include <stdio.h>
static inline __attribute__((always_inline)) void *innermost(size_t n) { return malloc(n + 1); }
static inline __attribute__((always_inline)) void *middle(size_t n) { void *p = innermost(n * 2); if (!p) abort(); return p; }
__attribute__((noinline)) void *outer(size_t n) { void *p = middle(n); *(char *)p = 1; return p; }
__attribute__((noinline)) static int local_function(int n) { char *p = outer(n); int r = p[0] + n; free(p); return r; }
int main(int argc, char **argv) { (void)argv; int s = 0; for (int i = 0; i < argc + 3; i++) s += local_function(i); printf("%d\n", s); return 0; }
"#;

pub(crate) const CPP: &str = r#"
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <cstdio>
namespace poets {
template <typename T> struct Verse { std::vector<T> words; void add(T word) { words.push_back(std::move(word)); } };
class Poet { public: explicit Poet(std::string n) : name(std::move(n)) {} virtual ~Poet() = default;
  virtual int recite(int times) const { int s = 0; for (int i = 0; i < times; i++) s += (int)name.size() * i; return s; }
  std::string name; };
namespace { int hidden(const Poet &p) { Verse<std::string> v; v.add(p.name); v.add("x"); return (int)v.words.size(); } }
}
int main(int argc, char **) {
  std::map<std::string, std::unique_ptr<poets::Poet>> all;
  for (int i = 0; i < argc + 4; i++) { auto n = std::to_string(i); all[n] = std::make_unique<poets::Poet>(n); }
  int s = 0; for (auto &[k, v] : all) { s += v->recite(3) + poets::hidden(*v) + (int)k.size(); }
  auto f = [&](int x) { return std::string(x, 'a') + "b"; };
  std::printf("%d %s\n", s, f(s % 7).c_str());
}
"#;

pub(crate) const RUST: &str = r#"
use std::collections::BTreeMap;
#[derive(Debug, Clone)] struct Poem { lines: Vec<String> }
impl Poem {
    #[inline(always)] fn push<T: ToString>(&mut self, line: T) { self.lines.push(line.to_string()); }
    #[inline(never)] fn shout(&self) -> Vec<String> { self.lines.iter().map(|line| line.to_uppercase()).collect() }
}
trait Judge { fn judge(&self, poem: &Poem) -> usize; }
struct Strict; impl Judge for Strict { #[inline(never)] fn judge(&self, poem: &Poem) -> usize { poem.shout().len() } }
fn main() {
    let mut all = BTreeMap::new();
    for i in 0..std::env::args().count() + 5 {
        let mut poem = Poem { lines: Vec::new() };
        for j in 0..i { poem.push(j); poem.push("roses"); }
        all.insert(format!("{i}"), poem);
    }
    let judges: Vec<Box<dyn Judge>> = vec![Box::new(Strict)];
    println!("{}", all.values().map(|poem| judges.iter().map(|j| j.judge(poem)).sum::<usize>()).sum::<usize>());
}
"#;

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs a tool in the directory and expects it to succeed.
    #[track_caller]
    pub(crate) fn run(&self, tool: &str, arguments: &[&str]) {
        assert!(self.try_run(tool, arguments), "{tool} {arguments:?} failed");
    }

    /// Runs a tool that may be missing, or may not know an option.
    pub(crate) fn try_run(&self, tool: &str, arguments: &[&str]) -> bool {
        let output = Command::new(tool).args(arguments).current_dir(self.directory.path()).output();
        output.is_ok_and(|output| {
            if !output.status.success() {
                eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            }
            output.status.success()
        })
    }

    /// Compiles the C program under this name.
    #[track_caller]
    pub(crate) fn c(&self, name: &str, arguments: &[&str]) -> PathBuf {
        self.write("poem.c", C);
        self.run("cc", &[&["poem.c", "-o", name, "-Wl,--build-id"], arguments].concat());
        self.path(name)
    }

    #[track_caller]
    pub(crate) fn cpp(&self, name: &str, arguments: &[&str]) -> PathBuf {
        self.write("poem.cpp", CPP);
        self.run("c++", &[&["poem.cpp", "-std=c++17", "-o", name, "-Wl,--build-id"], arguments].concat());
        self.path(name)
    }

    #[track_caller]
    pub(crate) fn rust(&self, name: &str, arguments: &[&str]) -> PathBuf {
        self.rust_source(name, RUST, arguments)
    }

    #[track_caller]
    pub(crate) fn rust_source(&self, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
        let file = format!("{name}.rs");
        self.write(&file, source);
        self.run(
            "rustc",
            &[&["--edition=2021", &file, "-o", name, "-Clink-arg=-Wl,--build-id"], arguments].concat(),
        );
        self.path(name)
    }
}

/// No debug files but those beside the file.
pub(crate) fn nowhere() -> DebugSearch {
    DebugSearch::new(Vec::<PathBuf>::new())
}

pub(crate) fn open(path: &Path) -> ModuleSymbols {
    ModuleSymbols::open(path, &[], &nowhere()).unwrap()
}

pub(crate) fn build_id(path: &Path) -> Vec<u8> {
    use object::Object;
    let data = fs::read(path).unwrap();
    object::File::parse(&*data).unwrap().build_id().unwrap().unwrap().to_vec()
}

/// The address of a symbol, as `nm` prints it.
#[track_caller]
pub(crate) fn address_of(path: &Path, symbol: &str) -> u64 {
    let output = Command::new("nm").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(&format!(" {symbol}")));
    u64::from_str_radix(line.expect("the symbol exists").split(' ').next().unwrap(), 16).unwrap()
}

/// Every `step`-th address of the code of a file.
pub(crate) fn code_addresses(path: &Path, step: usize) -> Vec<u64> {
    use object::{Object, ObjectSection};
    let data = fs::read(path).unwrap();
    let object = object::File::parse(&*data).unwrap();
    let text = object.section_by_name(".text").unwrap();
    (text.address()..text.address() + text.size()).step_by(step).collect()
}

/// What `addr2line -f -i -C` of binutils says: for each address its frames, innermost first.
pub(crate) fn oracle(path: &Path, addresses: &[u64]) -> Vec<Vec<Frame>> {
    let mut child = Command::new("addr2line")
        .args([
            OsStr::new("-a"),
            "-f".as_ref(),
            "-i".as_ref(),
            "-C".as_ref(),
            "-e".as_ref(),
            path.as_os_str(),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();

    let text = String::from_utf8_lossy(&output.stdout);
    let mut all: Vec<Vec<Frame>> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            continue;
        }
        let place = lines.next().unwrap().split(" (discriminator").next().unwrap();
        let (file, number) = place.rsplit_once(':').unwrap();
        let inlined = lines.peek().is_some_and(|next| !next.starts_with("0x"));
        all.last_mut().unwrap().push(Frame {
            function: Some(line.to_owned()).filter(|name| name != "??"),
            file: Some(file.to_owned()).filter(|file| file != "??"),
            line: number.parse().ok().filter(|number| *number != 0),
            inlined,
            start: None,
        });
    }
    assert_eq!(all.len(), addresses.len());
    all
}

pub(crate) fn functions(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.function.as_deref().unwrap_or("?")).collect()
}

pub(crate) fn resolve(module: &ModuleSymbols, address: u64) -> Vec<Frame> {
    module.resolve(Svma(address))
}
