//! `--rotate`: what becomes of the files of a recording in several files while it goes on.
//!
//! Each that is complete is given the names of its addresses, as a recording in one file is in the end. A thread of its own does
//! that, one file after the other, and yields to everything else on the machine.

use crate::args::RecordingArgs;
use crate::progress::Progress;
use crate::symbolize;
use heapwise_analysis::{Options, analyze, live_blocks};
use heapwise_collector::Rotation;
use heapwise_trace::file::Reader;
use heapwise_trace::file::carried::Carried;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// The thread that names files, and the way to it.
static NAMER: Mutex<Option<(Sender<PathBuf>, JoinHandle<()>)>> = Mutex::new(None);

/// What the options say.
pub(crate) fn of(args: &RecordingArgs) -> Option<Rotation> {
    let every = args.rotate?;
    Some(Rotation { every, keep: args.keep as usize, live, closed })
}

/// Waits until all files have their names.
pub(crate) fn finish() {
    let namer = NAMER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((files, thread)) = namer {
        drop(files);
        let _ = thread.join();
    }
}

fn live(file: &File) -> Result<Vec<Carried>, String> {
    live_blocks(reader(file)?, &Options::default()).map_err(|error| error.to_string())
}

fn reader(mut file: &File) -> Result<Reader<BufReader<&File>>, String> {
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| error.to_string())
}

fn closed(path: &Path) {
    let mut namer = NAMER.lock().unwrap_or_else(PoisonError::into_inner);
    let (files, _) = namer.get_or_insert_with(|| {
        let (files, closed) = channel::<PathBuf>();
        let thread = std::thread::spawn(move || {
            heapwise_collector::yield_to_others();
            for path in closed {
                name(&path);
            }
        });
        (files, thread)
    });
    let _ = files.send(path.to_owned());
}

/// A file that was removed meanwhile, since there are enough newer ones, needs no names.
fn name(path: &Path) {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return };
    let named = reader(&file).and_then(|reader| {
        let analysis = analyze(reader, &Options::default(), |_| {}).map_err(|error| error.to_string())?;
        // What has no names is said of the last file, in the end.
        let (symbols, _) = symbolize::symbolize(&analysis, true, &Progress::hidden());
        symbolize::keep(&file, &symbols).map_err(|error| format!("{error:#}"))
    });
    if let Err(error) = named {
        heapwise_report::say!("heapwise: warning: {} has no names: {error}", path.display());
    }
}
