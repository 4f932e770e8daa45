//! The facts that stand in the ELF file itself.

use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};

use super::texts::{Bound, Constants};
use super::{Class, Executable, Inside, Libc, Machine, Privileges, allocators};
use crate::error::{Error, Repr};

/// Describes an ELF file.
pub(super) fn describe(
    path: PathBuf,
    scripts: Vec<PathBuf>,
    data: &[u8],
    privileges: Privileges,
    bound: &mut Bound,
) -> Result<Executable, Error> {
    match crate::elf::parse(&path, data)? {
        object::File::Elf32(file) => describe_class(path, scripts, &file, (privileges, Class::Elf32), bound),
        object::File::Elf64(file) => describe_class(path, scripts, &file, (privileges, Class::Elf64), bound),
        _ => Err(malformed(&path, "unknown class")),
    }
}

/// What allocators are inside a file that was mapped as code.
pub(super) fn inside(path: &Path, data: &[u8], bound: &mut Bound) -> Result<Inside, Error> {
    match crate::elf::parse(path, data)? {
        object::File::Elf32(file) => Ok(inside_class(&file, bound)),
        object::File::Elf64(file) => Ok(inside_class(&file, bound)),
        _ => Err(malformed(path, "unknown class")),
    }
}

fn inside_class<Elf: FileHeader>(file: &ElfFile<'_, Elf>, bound: &mut Bound) -> Inside {
    let symbols = allocators::Symbols::read(file);
    let constants = Constants::of(file);
    let has_table = wrapper_version(file).is_some();
    let allocators = allocators::known(&symbols, |text| !has_table && constants.have(text, bound));
    Inside { allocators, exports_malloc: symbols.exports_malloc }
}

fn describe_class<Elf: FileHeader>(
    path: PathBuf,
    scripts: Vec<PathBuf>,
    file: &ElfFile<'_, Elf>,
    (privileges, class): (Privileges, Class),
    bound: &mut Bound,
) -> Result<Executable, Error> {
    if !matches!(file.elf_header().e_type(file.endian()), elf::ET_EXEC | elf::ET_DYN) {
        return Err(malformed(
            &path,
            "expected an executable, found an object file, a core file, or another kind",
        ));
    }
    let interpreter = interpreter(file).map_err(|error| malformed(&path, &error.to_string()))?;
    let needed = needed(file);
    let libc = libc(interpreter.as_deref(), &needed);
    let symbols = allocators::Symbols::read(file);
    let constants = Constants::of(file);
    // A program that has wrapped its allocator has heapwise's own table of texts in it, so they prove nothing there.
    let wrapper_version = wrapper_version(file);
    let has_text = |text| wrapper_version.is_none() && constants.have(text, bound);
    let own_allocators = allocators::find(&symbols, interpreter.is_some(), has_text);
    Ok(Executable {
        scripts,
        class,
        machine: machine(file.elf_header().e_machine(file.endian())),
        interpreter,
        libc,
        needed,
        privileges,
        own_allocators,
        wrapper_version,
        exports_malloc: symbols.exports_malloc,
        stripped: file.elf_symbol_table().is_empty(),
        path,
    })
}

/// Name and kind of the note by which an executable says that it has heapwise's allocator.
const WRAPPER_NOTE: (&[u8], u32) = (b"heapwise", 1);

/// The version that the note holds, 0 if it holds none.
fn wrapper_version<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Option<u32> {
    let (name, kind) = WRAPPER_NOTE;
    file.elf_program_headers().iter().find_map(|header| {
        let mut notes = header.notes(file.endian(), file.data()).ok().flatten()?;
        let mut notes = std::iter::from_fn(|| notes.next().ok().flatten());
        let note = notes.find(|note| note.name() == name && note.n_type(file.endian()).0 == kind)?;
        let version = note.desc().first_chunk().copied().map(u32::from_le_bytes);
        Some(version.unwrap_or(0))
    })
}

fn malformed(path: &Path, reason: &str) -> Error {
    Repr::Malformed { path: path.to_owned(), reason: reason.to_owned() }.into()
}

fn machine(number: elf::Machine) -> Machine {
    match number {
        elf::EM_386 => Machine::X86,
        elf::EM_X86_64 => Machine::X86_64,
        elf::EM_AARCH64 => Machine::Aarch64,
        elf::EM_RISCV => Machine::RiscV,
        other => Machine::Other(other.0),
    }
}

fn interpreter<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Result<Option<String>, object::Error> {
    for header in file.elf_program_headers() {
        if let Some(name) = header.interpreter(file.endian(), file.data())? {
            return Ok(Some(String::from_utf8_lossy(name).into_owned()));
        }
    }
    Ok(None)
}

/// The names in `DT_NEEDED`. What cannot be read is left out: it would keep the program from starting anyway.
fn needed<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Vec<String> {
    let Ok(table) = file.elf_dynamic_table() else { return Vec::new() };
    table
        .iter()
        .filter(|entry| entry.tag == elf::DT_NEEDED)
        .filter_map(|entry| table.string(entry).ok())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// The dynamic linker of each C library has a distinct name; distributions only move it to other directories.
fn libc(interpreter: Option<&str>, needed: &[String]) -> Libc {
    let Some(interpreter) = interpreter else { return Libc::Static };
    let name = interpreter.rsplit('/').next().unwrap_or_default();
    match () {
        () if name.starts_with("ld-musl-") => Libc::Musl,
        () if name.starts_with("linker") => Libc::Bionic,
        () if name.starts_with("ld-linux") || name.starts_with("ld64.so") || name == "ld.so.1" => Libc::Glibc,
        // Some package managers name it by hand, but the C library keeps its name.
        () if needed.iter().any(|library| library == "libc.so.6") => Libc::Glibc,
        () => Libc::Unknown,
    }
}
