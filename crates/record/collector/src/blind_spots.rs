//! What a recording has shown to be invisible.

use crate::collect::Outcome;
use crate::inject::children::NotRecorded;
use crate::request::Request;
use crate::session::Session;
use crate::{nested, strays, unreached};
use heapwise_trace::file::records::BlindSpot;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// What was found out to be invisible when the file before ended: to look into all files of a program takes long, and there are
/// rarely new ones.
#[derive(Debug, Default)]
pub(crate) struct KnownSpots(Mutex<Option<([usize; 8], Vec<BlindSpot>)>>);

impl KnownSpots {
    /// The same again, unless more is known since.
    pub(crate) fn again(
        &self,
        outcome: &Outcome,
        session: &Session,
        find: impl FnOnce() -> Vec<BlindSpot>,
    ) -> Vec<BlindSpot> {
        let counted = |count: &AtomicU32| count.load(Ordering::Relaxed) as usize;
        let header = session.header();
        let known = [
            outcome.images.len(),
            outcome.allocators.len(),
            outcome.entered.len(),
            outcome.recorded.len(),
            outcome.silent.len(),
            counted(&header.nested_count),
            counted(&header.unreached.count),
            counted(&header.bare.count),
        ];
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, spots)) = &*last
            && *when == known
        {
            return spots.clone();
        }
        let spots = find();
        *last = Some((known, spots.clone()));
        spots
    }
}

/// Programs whose silence is explained; more would be noise.
const MOST_EXPLAINED: usize = 5;

/// What helps where nothing can be written into a program.
const MAY_TRACE: &str =
    "allow heapwise to trace it (ptrace: not in a container without it, not under a debugger)";

/// What the run showed to be invisible.
pub(crate) fn unseen(
    pid: u32,
    session: &Session,
    outcome: &Outcome,
    request: &Request,
    not_written: Option<&str>,
) -> Vec<BlindSpot> {
    let silent = outcome.silent.iter().take(MOST_EXPLAINED);
    let mut spots: Vec<BlindSpot> = silent.flat_map(|program| (request.explain)(program)).collect();
    let is_known =
        |spot: &BlindSpot| request.blind_spots.iter().any(|known| known == spot || known.is_of(spot));
    spots.retain(|spot| !is_known(spot));
    let is_explained = request.blind_spots.iter().any(|spot| spot.id != BlindSpot::BESIDE_THE_WRAPPER);
    // What has no allocator that is known is written to only for what it starts.
    let is_alone = request.blind_spots.iter().any(|spot| spot.id == BlindSpot::STATIC_EXECUTABLE);
    if let Some(why) = not_written {
        spots.push(BlindSpot {
            id: "not-written".into(),
            what: match is_alone {
                true => format!("static programs that the program starts are not recorded: {why}"),
                false => format!("the program is not recorded: {why}"),
            },
            remedy: match is_alone {
                true => MAY_TRACE.into(),
                false => format!("{MAY_TRACE}, or link it dynamically against glibc"),
            },
            ..BlindSpot::default()
        });
    } else if !outcome.joined.contains(&pid) && !is_explained {
        let (what, remedy) = match request.records_itself {
            true => (
                "the program has heapwise::Allocator, and never joined the recording through it",
                "check that it is not set-uid, has /proc, and keeps HEAPWISE_SESSION; or try --recorder preload",
            ),
            false => (
                "the program never loaded heapwise's preload library",
                "check that it is dynamically linked against glibc, not set-uid, and does not clear LD_PRELOAD",
            ),
        };
        spots.push(BlindSpot {
            id: "never-joined".into(),
            what: what.into(),
            remedy: remedy.into(),
            ..BlindSpot::default()
        });
    }
    let inside = (request.look_inside)(&outcome.images, &outcome.allocators, &outcome.entered);
    spots
        .extend(inside.into_iter().filter(|spot| !request.blind_spots.iter().any(|known| known.is_of(spot))));
    spots.extend(nested::blind_spot(session));
    if request.follow {
        spots.extend(unreached::blind_spots(session, &outcome.recorded));
        spots.extend(unreached::not_recorded(&outcome.not_recorded));
        let NotRecorded { unwritten, not_loaded } = &outcome.not_recorded;
        let named = unwritten.keys().chain(not_loaded.keys()).map(|path| path.to_string_lossy().into_owned());
        spots.extend(strays::blind_spot(
            &outcome.strays,
            &unreached::names(session).into_iter().chain(named).collect(),
        ));
    }
    spots
}
