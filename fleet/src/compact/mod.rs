//! `heapwise fleet compact`: puts small files together.
//!
//! Written first, then switched: new files lie beside the old ones and do not count until the log has an entry with them, and old ones
//! are removed after that. So it may be killed at any moment, and a query beside it finds each recording once.

mod clean;
mod plan;
mod write;

use crate::engine::{Left, Session};
use crate::failure::{Failure, UNREADABLE};
use crate::given;
use crate::progress::Progress;
use crate::store::live::{Live, Range};
use crate::store::log::{self, Compacted};
use crate::store::{Name, Place, Stem};
use anyhow::{Result, anyhow};
use heapwise_report::{note, say, units};
use heapwise_tables::words::CompactArgs;
use plan::Group;
use std::collections::BTreeSet;
use std::time::Instant;
use write::Inputs;

/// How often others may be faster.
const MOST_LOST: usize = 100;

pub(crate) async fn compact(args: &CompactArgs) -> Result<u8, Failure> {
    let place = Place::open(&args.place)?;
    let range = given::range(&args.range);
    let session = Session::new(vec![place.clone()], range.clone(), given::settings(args.limits), None)?;
    log::check(&place).await?;
    let removed = clean::leftovers(&place, &range).await?;
    let mut done = Done::default();
    'fleet: loop {
        let live = Live::read(&place, &range).await?;
        let sizes = plan::sizes(&place, &range).await?;
        let groups = plan::groups(&live, &sizes, &done.refused);
        let progress = Progress::new("days and services", groups.len() as u64);
        for group in groups {
            let inputs = Inputs::of(&session, &group).await?;
            let outcome = match inputs.unreadable() {
                left if left.is_empty() => switch(&session, &place, &group, &inputs, &mut done).await,
                left => Ok(Outcome::Unreadable(left)),
            };
            let outcome = match outcome {
                Ok(Outcome::Switched) => {
                    progress.step();
                    continue;
                }
                // What others replaced is gone, which is no damage.
                _ if !is_live(&place, &group).await? => Outcome::Lost,
                Ok(outcome) => outcome,
                // A footer says nothing of the values.
                Err(error) => match inputs.damaged(&session).await? {
                    left if left.is_empty() => return Err(error.into()),
                    left => Outcome::Unreadable(left),
                },
            };
            if let Outcome::Unreadable(left) = outcome {
                done.refuse(left);
            } else {
                done.lost += 1;
            }
            if done.lost > MOST_LOST {
                return Err(anyhow!("{place} is compacted by others all the time").into());
            }
            continue 'fleet;
        }
        break;
    }
    log::forget_old(&place).await?;
    if done.files_before == 0 && removed == 0 {
        note!("heapwise: {place} has nothing to be put together");
    } else {
        note!(
            "heapwise: {} files of {place} became {} ({} became {}); {} were left from what was broken off",
            units::count(done.files_before),
            units::count(done.files_after),
            units::bytes(done.bytes_before),
            units::bytes(done.bytes_after),
            units::count(removed)
        );
    }
    Ok(if done.refused.is_empty() { 0 } else { UNREADABLE })
}

#[derive(Debug, Default)]
struct Done {
    files_before: u64,
    files_after: u64,
    bytes_before: u64,
    bytes_after: u64,
    /// What cannot be read, and stays as it is.
    refused: BTreeSet<Name>,
    /// How often others were faster.
    lost: usize,
}

impl Done {
    fn refuse(&mut self, left: Vec<Left>) {
        for left in left {
            let Some(name) = left.name else { continue };
            if self.refused.insert(name) {
                say!("heapwise: warning: {} is left as it is: {}", left.path, left.why);
            }
        }
    }
}

/// What came of a group.
enum Outcome {
    Switched,
    /// The fleet has changed in the meantime.
    Lost,
    /// These files cannot be read, in any table.
    Unreadable(Vec<Left>),
}

/// Whether all of a group still counts.
async fn is_live(place: &Place, group: &Group) -> Result<bool> {
    let live = Live::read(place, &Range::of(&group.partition)).await?;
    Ok(group.inputs.iter().all(|name| live.names.contains(name)))
}

/// Writes the files of a group, makes them count, and removes what they replace.
async fn switch(
    session: &Session,
    place: &Place,
    group: &Group,
    inputs: &Inputs,
    done: &mut Done,
) -> Result<Outcome> {
    let begin = Instant::now();
    let live = Live::read(place, &Range::of(&group.partition)).await?;
    if !group.inputs.iter().all(|name| live.names.contains(name)) {
        return Ok(Outcome::Lost);
    }
    let recordings = recordings(&live.state, group);
    let name = Name { partition: group.partition.clone(), stem: Stem::new_compacted() };
    let bytes = inputs.write(session, place, &name).await?;
    place.settle().await?;
    let file = name.stem.as_str().to_owned();
    let new = Compacted { partition: group.partition.clone(), file, recordings, bytes };
    if begin.elapsed() > clean::LONGEST || !commit(place, group, live.state, new.clone()).await? {
        clean::remove(place, &[name]).await?;
        return Ok(Outcome::Lost);
    }
    place.settle().await?;
    // Whatever was written meanwhile: nothing is removed but what is in the files that count now.
    let newest = log::State::read(place).await?;
    let replaced: Vec<Name> = group.inputs.iter().filter(|name| newest.has_replaced(name)).cloned().collect();
    clean::remove(place, &replaced).await?;
    let (before, after) = inputs.count();
    done.files_before += before;
    done.files_after += after;
    done.bytes_before += group.bytes;
    done.bytes_after += bytes;
    Ok(Outcome::Switched)
}

/// Makes a new file count in the place of a group. `false` if others have replaced something of the group.
async fn commit(place: &Place, group: &Group, mut state: log::State, new: Compacted) -> Result<bool> {
    let stems: BTreeSet<&str> = group.inputs.iter().map(|name| name.stem.as_str()).collect();
    for _ in 0..MOST_LOST {
        state.files.retain(|one| !stems.contains(one.file.as_str()));
        state.files.push(new.clone());
        if state.commit(place).await? {
            return Ok(true);
        }
        // Mostly another day or service was switched.
        state = log::State::read(place).await?;
        if state.files.contains(&new) {
            // The entry was made, and the store was asked a second time because its answer was lost.
            return Ok(true);
        }
        if group.inputs.iter().any(|name| state.has_replaced(name)) {
            return Ok(false);
        }
    }
    Err(anyhow!("{place} is compacted by others all the time"))
}

/// The recordings that a group has the rows of.
fn recordings(state: &log::State, group: &Group) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for name in &group.inputs {
        match &name.stem {
            Stem::Recording(id) => {
                all.insert(id.clone());
            }
            Stem::Compacted(file) => {
                let of_file = state.files.iter().filter(|one| one.file == *file);
                all.extend(of_file.flat_map(|one| one.recordings.iter().cloned()));
            }
        }
    }
    all
}
