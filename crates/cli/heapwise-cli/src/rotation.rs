//! `--rotate`: what becomes of the files of a recording in several files while it goes on.
//!
//! Each that is complete is given the names of its addresses, as a recording in one file is in the end, and goes where recordings are to
//! go. A thread of its own does that, one file after the other, and yields to everything else on the machine.

use crate::args::RecordingArgs;
use crate::delivery::Destinations;
use crate::{blind_spots, symbolize};
use heapwise_analysis::{Analysis, ImageAddresses, Options, addresses, analyze, live_blocks};
use heapwise_collector::Rotation;
use heapwise_trace::file::Reader;
use heapwise_trace::file::carried::Carried;
use heapwise_trace::file::tables::Symbols;
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// The thread that names files, and the way to it.
static NAMER: Mutex<Option<(Sender<PathBuf>, JoinHandle<Destinations>)>> = Mutex::new(None);

/// What the options say.
pub(crate) fn of(args: &RecordingArgs) -> Option<Rotation> {
    let every = args.rotate?;
    Some(Rotation { every, keep: args.keep as usize, live, closed })
}

/// Makes ready for the files of a recording in several files, which go to these places, too.
pub(crate) fn begin(mut destinations: Destinations) {
    let (files, closed) = channel::<PathBuf>();
    let thread = std::thread::spawn(move || {
        heapwise_collector::yield_to_others();
        let mut known = Known::default();
        for path in closed {
            known.name(&path, &mut destinations);
        }
        destinations
    });
    *NAMER.lock().unwrap_or_else(PoisonError::into_inner) = Some((files, thread));
}

/// Waits until all files have their names. Returns where the last one goes.
pub(crate) fn finish() -> Destinations {
    let namer = NAMER.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((files, thread)) = namer else { return Destinations::default() };
    drop(files);
    thread.join().unwrap_or_default()
}

fn live(file: &File) -> Result<Vec<Carried>, String> {
    live_blocks(reader(file)?, &Options::default()).map_err(|error| error.to_string())
}

fn reader(mut file: &File) -> Result<Reader<BufReader<&File>>, String> {
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| error.to_string())
}

fn analysis_of(file: &File) -> Result<Analysis, String> {
    analyze(reader(file)?, &Options::default(), |_| {}).map_err(|error| error.to_string())
}

fn addresses_of(file: &File) -> Result<Vec<ImageAddresses>, String> {
    addresses(reader(file)?, &Options::default(), |_| {}).map_err(|error| error.to_string())
}

fn closed(path: &Path) {
    if let Some((files, _)) = &*NAMER.lock().unwrap_or_else(PoisonError::into_inner) {
        let _ = files.send(path.to_owned());
    }
}

/// The names that earlier files have, whose addresses are not looked up again: most files have the same ones.
#[derive(Default)]
struct Known {
    /// By path and build id of their object file.
    addresses: HashMap<(String, String), BTreeSet<u64>>,
    names: Vec<Symbols>,
}

impl Known {
    /// Names a file, and sends it on its way. One that was removed meanwhile, since there are enough newer ones, needs no names.
    fn name(&mut self, path: &Path, destinations: &mut Destinations) {
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
            return destinations.miss(path);
        };
        let named = match destinations.is_empty() {
            true => addresses_of(&file).and_then(|needed| self.keep(&file, needed).map(|()| None)),
            false => analysis_of(&file)
                .and_then(|analysis| self.keep(&file, analysis.needed_addresses()).map(|()| Some(analysis))),
        };
        match named {
            Ok(None) => {}
            Ok(Some(mut analysis)) => {
                analysis.add_symbols(self.names.iter().cloned());
                blind_spots::complete(&mut analysis);
                destinations.take(path, &analysis);
            }
            Err(error) => {
                heapwise_report::say!("heapwise: warning: {} has no names: {error}", path.display())
            }
        }
    }

    /// Stores the names of these addresses in a file.
    fn keep(&mut self, file: &File, needed: Vec<ImageAddresses>) -> Result<(), String> {
        let new = self.unknown(needed);
        if !new.is_empty() {
            self.names.push(symbolize::look_up(new));
        }
        let keep = |names| symbolize::keep(file, names).map_err(|error| format!("{error:#}"));
        self.names.iter().try_for_each(keep)
    }

    /// Those of the addresses that were not looked up before.
    fn unknown(&mut self, images: Vec<ImageAddresses>) -> Vec<ImageAddresses> {
        let new = images.into_iter().map(|mut image| {
            let known = self.addresses.entry((image.path.clone(), image.build_id.clone())).or_default();
            image.addresses.retain(|&address| known.insert(address));
            image
        });
        new.filter(|image| !image.addresses.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_looked_up_once() {
        let image = |path: &str, addresses: &[u64]| ImageAddresses {
            path: path.to_owned(),
            build_id: "1".to_owned(),
            addresses: addresses.to_vec(),
        };
        let mut known = Known::default();
        assert_eq!(known.unknown(vec![image("/a", &[1, 2])]), [image("/a", &[1, 2])]);
        assert_eq!(
            known.unknown(vec![image("/a", &[2, 3]), image("/b", &[2])]),
            [image("/a", &[3]), image("/b", &[2])]
        );
        assert_eq!(known.unknown(vec![image("/a", &[1]), image("/b", &[2])]), []);
    }
}
