//! `--rotate`: what becomes of the files of a recording in several files while it goes on.
//!
//! Each that is complete is given the names of its addresses, as a recording in one file is in the end, and goes where recordings are to
//! go.

mod known;
mod namer;

use crate::args::RecordingArgs;
use crate::delivery::Destinations;
use heapwise_analysis::{Ahead, ImageAddresses, Options, Unnamed, addresses, live_blocks};
use heapwise_collector::Rotation;
use heapwise_trace::file::Reader;
use heapwise_trace::file::carried::Carried;
use namer::Namer;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What names files.
static NAMER: Mutex<Option<Namer>> = Mutex::new(None);

/// What the options say.
pub(crate) fn of(args: &RecordingArgs) -> Option<Rotation> {
    let every = args.rotate?;
    Some(Rotation { every, keep: args.keep as usize, live, closed })
}

/// Makes ready for the files of a recording in several files, which go to these places, too.
pub(crate) fn begin(destinations: Destinations) {
    let namer = Namer::new(destinations);
    *NAMER.lock().unwrap_or_else(PoisonError::into_inner) = Some(namer.clone());
    // Without a thread, files get their names in the end.
    let _ = std::thread::Builder::new().name("names".into()).spawn(move || {
        heapwise_collector::yield_to_others();
        namer.work();
    });
}

/// Names what has no names yet. Returns where the last file goes.
pub(crate) fn finish() -> Destinations {
    let namer = NAMER.lock().unwrap_or_else(PoisonError::into_inner).take();
    namer.map(|namer| namer.finish()).unwrap_or_default()
}

fn live(file: &File) -> Result<Vec<Carried>, String> {
    live_blocks(reader(file)?, &Options::default()).map_err(|error| error.to_string())
}

fn reader(mut file: &File) -> Result<Reader<BufReader<&File>>, String> {
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| error.to_string())
}

fn read(file: &File) -> Result<Unnamed, String> {
    let options = Options::default();
    Ahead::new(reader(file)?, &options).finish(&options, |_| {}).map_err(|error| error.to_string())
}

fn addresses_of(file: &File) -> Result<Vec<ImageAddresses>, String> {
    addresses(reader(file)?, &Options::default(), |_| {}).map_err(|error| error.to_string())
}

fn closed(path: &Path) {
    if let Some(namer) = &*NAMER.lock().unwrap_or_else(PoisonError::into_inner) {
        namer.add(path);
    }
}
