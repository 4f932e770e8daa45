//! What all formats for heap profiles say: four numbers of each stack, when and how they were taken, and the object files.
//!
//! Addresses are as linked, and each object file is mapped where it was linked to be: that is the same in every run, and tools find the
//! instructions in the file without a load address.

use crate::export::moment::Moment;
use crate::export::text;
use heapwise_analysis::{Analysis, Numbers};
use heapwise_trace::pprof::{Loaded, signed};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

/// The numbers of a stack, in the order of [`SAMPLE_TYPES`](heapwise_trace::pprof::SAMPLE_TYPES).
pub(crate) fn values(numbers: &Numbers, moment: Moment) -> [i64; 4] {
    let (blocks, bytes) = match moment {
        Moment::Peak => (numbers.peak_blocks, numbers.peak_bytes),
        Moment::Exit => (numbers.live_at_exit_blocks, numbers.live_at_exit_bytes),
        Moment::End => (numbers.live_at_end_blocks, numbers.live_at_end_bytes),
    };
    [numbers.allocations, numbers.allocated_bytes, blocks, bytes].map(signed)
}

/// Bytes between two recorded blocks: 1 if all were recorded.
pub(crate) fn period(analysis: &Analysis) -> i64 {
    signed(analysis.sampled.as_ref().map_or(1, |sampled| sampled.every.0))
}

/// What the numbers do not say of themselves, in a line each.
pub(crate) fn comments(analysis: &Analysis, moment: Moment) -> Vec<String> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let when = match moment {
        Moment::Peak => {
            // The recorder's clock is coarser than that of the run's end.
            let at = seconds(analysis.memory.live_peak_at.0);
            format!("inuse is what was live {at:.3} s after the start, when the live bytes were highest")
        }
        Moment::Exit => "inuse is what was live when each process ended".to_owned(),
        Moment::End => {
            "inuse is what was live when the recording ended, of the processes that ran then or ended last"
                .to_owned()
        }
    };
    let command: Vec<_> = analysis.meta.command.iter().map(|part| text::harmless(part)).collect();
    let mut comments = vec![
        format!("heapwise {}: {}", text::harmless(&analysis.meta.heapwise), command.join(" ")),
        when,
        format!(
            "alloc_space includes the bytes of {} reallocations, which are no objects in alloc_objects",
            analysis.totals.reallocations
        ),
    ];
    comments.extend(analysis.warnings.iter().map(|w| format!("warning: {}", text::harmless(&w.to_string()))));
    comments
}

/// The id of one of its profiles: the same whenever the same recording is written, so that what arrives twice is recognised.
pub(crate) fn id(analysis: &Analysis, of: &str) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update(of);
    hasher.update(analysis.identity());
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize()[..16]);
    id
}

/// Object files that occur, with the addresses that each has to cover.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    ranges: FxHashMap<usize, (u64, u64)>,
}

/// An object file.
#[derive(Debug)]
pub(crate) struct Mapped {
    /// Its number among the images of the analysis.
    pub(crate) image: usize,
    /// The first and the last of the addresses that occur.
    pub(crate) covers: (u64, u64),
    /// Where it was, if that is known.
    pub(crate) loaded: Option<Loaded>,
    pub(crate) path: String,
    /// In hexadecimal digits; empty if there is none.
    pub(crate) build_id: String,
}

impl Mappings {
    /// An address in the object file of that number occurs.
    pub(crate) fn cover(&mut self, image: usize, address: u64) {
        let (from, to) = self.ranges.entry(image).or_insert((address, address));
        (*from, *to) = ((*from).min(address), (*to).max(address));
    }

    /// All of them. The program itself has to come first.
    pub(crate) fn list(self, analysis: &Analysis) -> Vec<Mapped> {
        let images = analysis.images();
        let mut used: Vec<_> = self.ranges.into_iter().filter(|(image, _)| *image < images.len()).collect();
        used.sort_unstable();
        let program = analysis.processes.first().and_then(|p| p.command.first());
        let program = program.map_or("", |name| text::last_part(name));
        // What was started may be a link: `python3` is a file `python3.11`.
        used.sort_by_key(|&(image, _)| {
            let name = text::last_part(&images[image].path);
            (name != program, !name.starts_with(program), name.contains(".so") || name.starts_with('['))
        });
        let mapped = used.into_iter().map(|(at, covers)| {
            let image = &images[at];
            let mut infos = analysis.processes.iter().flat_map(|p| &p.modules);
            let info = infos.find(|info| info.path == image.path && info.build_id == image.build_id);
            Mapped {
                image: at,
                covers,
                loaded: info.map(|info| Loaded { start: info.start, end: info.end, bias: info.bias }),
                path: text::harmless(&image.path).into_owned(),
                build_id: text::harmless(&image.build_id).into_owned(),
            }
        });
        mapped.collect()
    }
}
