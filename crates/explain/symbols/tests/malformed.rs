//! Files that are not what they say: fewer names, an error, but never a panic and never a hang.

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Bench, code_addresses, nowhere};
use heapwise_symbols::inspect::inspect;
use heapwise_symbols::{ErrorKind, ModuleSymbols, Svma};

/// Does all that can be done with a file.
fn exercise(path: &Path, addresses: &[u64]) {
    let _ = inspect(path, None);
    let Ok(module) = ModuleSymbols::open(path, &[], &nowhere()) else { return };
    for &address in addresses {
        assert!(!module.resolve(Svma(address)).is_empty());
    }
}

/// A small generator of numbers, so that every run tries the same damage.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Damages a file in many ways. The damaged copy gets a new name each time, because the old one may still be mapped.
fn check(bench: &Bench, path: &Path, n_truncations: usize, n_flips: usize) {
    let addresses: Vec<u64> = code_addresses(path, 97).into_iter().chain([0, u64::MAX]).collect();
    let whole = fs::read(path).unwrap();
    let started = Instant::now();
    let try_bytes = |bytes: &[u8]| {
        let damaged = bench.path("damaged");
        let _ = fs::remove_file(&damaged);
        fs::write(&damaged, bytes).unwrap();
        let one = Instant::now();
        exercise(&damaged, &addresses);
        assert!(one.elapsed() < Duration::from_secs(20), "one file took {:?}", one.elapsed());
    };
    for i in 0..n_truncations {
        try_bytes(&whole[..whole.len() * i / n_truncations]);
    }
    for length in 0..128 {
        try_bytes(&whole[..length]);
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..n_flips {
        let mut bytes = whole.clone();
        // One round in four aims at the headers, where one byte does most.
        let (first, count) = match round % 4 {
            0 => (0, 1024.min(bytes.len())),
            1 => (bytes.len() - 4096.min(bytes.len()), 4096.min(bytes.len())),
            _ => (0, bytes.len()),
        };
        for _ in 0..=dice.roll(1 + round % 200) {
            let at = first + dice.roll(count);
            bytes[at] = dice.roll(256) as u8;
        }
        try_bytes(&bytes);
    }
    eprintln!("{} took {:?}", path.display(), started.elapsed());
}

#[test]
fn a_damaged_c_program_does_no_harm() {
    let bench = Bench::new();
    check(&bench, &bench.c("poem", &["-g", "-O2"]), 300, 1500);
}

#[test]
fn a_damaged_c_program_in_an_older_dwarf_does_no_harm() {
    let bench = Bench::new();
    check(&bench, &bench.c("poem", &["-gdwarf-3", "-O2"]), 100, 1000);
}

#[test]
fn a_damaged_cpp_program_does_no_harm() {
    let bench = Bench::new();
    check(&bench, &bench.cpp("poem", &["-g", "-O2"]), 50, 200);
}

#[test]
fn damaged_compressed_sections_do_no_harm() {
    let bench = Bench::new();
    check(&bench, &bench.c("zlib", &["-g", "-O2", "-gz=zlib"]), 50, 500);
    if bench.try_run("objcopy", &["--compress-debug-sections=zstd", "zlib", "zstd"]) {
        check(&bench, &bench.path("zstd"), 50, 500);
    }
}

#[test]
fn a_damaged_rust_program_does_no_harm() {
    let bench = Bench::new();
    let source = "fn main() { println!(\"{:?}\", std::env::args().map(|a| a.len()).collect::<Vec<_>>()); }";
    let path = bench.rust_source("small", source, &["-g", "-O", "-Cprefer-dynamic"]);
    check(&bench, &path, 50, 300);
}

#[test]
fn a_section_that_claims_to_be_huge_is_refused() {
    let bench = Bench::new();
    let path = bench.c("zlib", &["-g", "-gz=zlib"]);
    let mut bytes = fs::read(&path).unwrap();
    let at = {
        use object::{Object, ObjectSection};
        let object = object::File::parse(&*bytes).unwrap();
        object.section_by_name(".debug_info").unwrap().compressed_file_range().unwrap().offset as usize - 16
    };
    // The header before the data: type, reserved, size, alignment.
    bytes[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let claiming = bench.path("claiming");
    fs::write(&claiming, bytes).unwrap();
    let module = common::open(&claiming);
    let warning = module.warnings().first().expect("a warning").to_string();
    assert!(warning.contains("claims to grow"), "{warning}");
}

#[test]
fn what_is_no_program_is_named() {
    let bench = Bench::new();
    let check = |path: &Path, kind: ErrorKind, message: &str| {
        for error in
            [inspect(path, None).unwrap_err(), ModuleSymbols::open(path, &[], &nowhere()).unwrap_err()]
        {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.path(), path);
            assert!(error.to_string().contains(message), "{error}");
        }
    };
    check(&bench.path("nowhere"), ErrorKind::NotFound, "no such file");
    check(&bench.write("empty", ""), ErrorKind::Empty, "found an empty file");
    check(&bench.write("text", "roses are red"), ErrorKind::NotElf, "starts with \"roses ar\"");
    check(&bench.write("elfish", "\x7fELF and nothing else"), ErrorKind::Malformed, "damaged or truncated");
    check(&bench.path(""), ErrorKind::Unreadable, "found a directory");
    check("/dev/null".as_ref(), ErrorKind::Unreadable, "found a device");
    bench.run("mkfifo", &["pipe"]);
    check(&bench.path("pipe"), ErrorKind::Unreadable, "found a named pipe");
}
