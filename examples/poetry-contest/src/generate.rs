//! The data of the contest, made from a seed.
//!
//! The interesting data set is a few hundred megabytes, too much to keep in a repository, so it is made when
//! it is needed. It has the shape of a real contest instead of the worst case for one version: most poems
//! have several lines, a few are too long or empty, some titles name many themes and others none.
//!
//! The files are a `manifest.json`, which holds the categories and the names of the rounds, and one
//! `round_N.json` per round, which holds the entries.

mod json;
mod poem;
mod rng;
mod world;

use json::{Style, push_string};
use poem::Entries;
use rng::Rng;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use world::World;

/// Changes whenever the same options begin to give other files, so that stored data is not mistaken for
/// current.
pub const FORMAT: u32 = 1;

/// What data to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Where the random numbers begin: the same options give the same files.
    pub seed: u64,
    /// The number of rounds, each of which is a file.
    pub rounds: u64,
    /// The number of entries in each round.
    pub entries: u64,
}

impl Default for Options {
    /// The contest for which the first version makes about ten million allocations.
    fn default() -> Options {
        Options { seed: 1, rounds: 50, entries: 12_000 }
    }
}

/// Writes the files of a contest into `dir`, which is created if necessary.
///
/// Entries go to the file as they are made, so the memory needed does not grow with the options.
///
/// # Errors
///
/// When the directory or one of the files cannot be written.
pub fn write_contest(dir: &Path, options: &Options) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let world = World::new(options.seed);
    for round in 1..=options.rounds {
        write_round(
            &dir.join(round_file_name(round)),
            &world,
            Rng::new(options.seed, round),
            options.entries,
        )?;
    }
    // The manifest comes last: a directory that has one is complete.
    write_manifest(&dir.join("manifest.json"), &world, options.rounds)
}

fn round_file_name(round: u64) -> String {
    format!("round_{round}.json")
}

fn write_round(path: &Path, world: &World, rng: Rng, count: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut entries = Entries::new(world, rng);
    file.write_all(b"{\"entries\":[")?;
    for index in 0..count {
        file.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        file.write_all(entries.next_json().as_bytes())?;
    }
    file.write_all(b"\n]}\n")?;
    file.flush()
}

fn write_manifest(path: &Path, world: &World, rounds: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut text = String::new();
    file.write_all(b"{\"categories\":[")?;
    for (index, category) in world.categories.iter().enumerate() {
        text.clear();
        for &keyword in category {
            text.push_str(if text.is_empty() { "{\"keywords\":[" } else { "," });
            push_string(&mut text, &world.lexicon[keyword], Style::Utf8);
        }
        file.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write!(file, "{text}]}}")?;
    }
    file.write_all(b"\n],\"rounds\":[")?;
    for round in 1..=rounds {
        file.write_all(if round == 1 { b"\n" } else { b",\n" })?;
        write!(file, "\"{}\"", round_file_name(round))?;
    }
    file.write_all(b"\n]}\n")?;
    file.flush()
}
