//! Programs that recorded processes have started and that are not recorded.
//!
//! The recorder leaves their names in the shared memory. Without them a statically linked child, or one with an empty environment, would
//! be missing in silence.

use crate::distrust;
use crate::inject::children::NotRecorded;
use crate::session::Session;
use heapwise_trace::file::records::BlindSpot;
use heapwise_trace::live::layout::{NAME_IN_THE_MAKING, ProgramNames};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// What a session does not hold for one of these reasons. Such programs may record themselves: `recorded` are the files of those that
/// did.
pub(crate) fn blind_spots(session: &Session, recorded: &BTreeSet<PathBuf>) -> Vec<BlindSpot> {
    let is_recorded = |name: &str| {
        let real = Path::new(name).canonicalize();
        real.is_ok_and(|path| recorded.contains(&path))
    };
    let header = session.header();
    [of_static(&header.unreached, is_recorded), of_bare(&header.bare)].into_iter().flatten().collect()
}

/// All names that the recorder has left.
pub(crate) fn names(session: &Session) -> BTreeSet<String> {
    let header = session.header();
    names_of(&header.unreached).chain(names_of(&header.bare)).collect()
}

const REMEDY: &str = "keep its symbols, or have its debug file below /usr/lib/debug; link it dynamically against glibc (for Rust: a *-gnu target without +crt-static), or wrap \
                      its allocator in heapwise::Allocator";

const BARE_REMEDY: &str = "have these two variables passed on (not `env -i`; add to LD_PRELOAD, do not replace it), or record that program by itself";

/// Programs without a loader.
fn of_static(list: &ProgramNames, is_recorded: impl Fn(&str) -> bool) -> Option<BlindSpot> {
    let Named { names, is_one, times } = named(list, is_recorded)?;
    let (is, it) = if is_one { ("is", "it is") } else { ("are", "they are") };
    let what = format!(
        "{names} {is} statically linked, and {it} not recorded: the recorded program started that {times}"
    );
    Some(BlindSpot { id: "static-child".into(), what, remedy: REMEDY.into(), ..BlindSpot::default() })
}

/// Programs into which the recorder could not be written, or that could not be given the variables that they lack.
pub(crate) fn not_recorded(programs: &NotRecorded) -> Vec<BlindSpot> {
    let unwritten = programs.unwritten.iter().map(|(path, why)| BlindSpot {
        id: "static-child".into(),
        what: format!("{} is statically linked, and {why}: it is not recorded", path.display()),
        remedy: REMEDY.into(),
        ..BlindSpot::default()
    });
    let not_loaded = programs.not_loaded.iter().map(|(path, why)| BlindSpot {
        id: "bare-child".into(),
        what: format!(
            "{} is not recorded: started without heapwise in LD_PRELOAD and HEAPWISE_SESSION, and {why}",
            path.display()
        ),
        remedy: BARE_REMEDY.into(),
        ..BlindSpot::default()
    });
    unwritten.chain(not_loaded).collect()
}

/// Programs whose environment has not what heapwise needs. The same file may have been recorded where it was started with it.
fn of_bare(list: &ProgramNames) -> Option<BlindSpot> {
    let Named { names, is_one, times } = named(list, |_| false)?;
    let is = if is_one { "is" } else { "are" };
    let what = format!(
        "{names} {is} not recorded: started {times} without heapwise in LD_PRELOAD and HEAPWISE_SESSION, which could not be \
         added: it gains rights, is another user's, or may not be traced"
    );
    Some(BlindSpot { id: "bare-child".into(), what, remedy: BARE_REMEDY.into(), ..BlindSpot::default() })
}

/// What a list says.
struct Named {
    names: String,
    is_one: bool,
    /// How often they were started.
    times: String,
}

fn names_of(list: &ProgramNames) -> impl Iterator<Item = String> {
    let is_there = |len: u32| len != 0 && len != NAME_IN_THE_MAKING;
    let places = list.names.iter().filter(move |place| is_there(place.len.load(Ordering::Acquire)));
    places.map(|place| distrust::text(&place.bytes, &place.len))
}

/// The names of a list; `None` if there is none that counts.
fn named(list: &ProgramNames, is_recorded: impl Fn(&str) -> bool) -> Option<Named> {
    let starts = list.count.load(Ordering::Relaxed);
    let mut names: Vec<String> = names_of(list).filter(|name| !is_recorded(name)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let more = if names.len() < list.names.len() { "" } else { " and perhaps more" };
    Some(Named {
        is_one: names.len() == 1,
        names: format!("{}{more}", names.join(", ")),
        times: if starts == 1 { "once".to_owned() } else { format!("{starts} times") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Settings;

    fn note(list: &ProgramNames, place: usize, name: &str) {
        let place = &list.names[place];
        place.bytes.iter().zip(name.bytes()).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
        place.len.store(name.len() as u32, Ordering::Release);
    }

    #[test]
    fn each_program_is_named_once() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let spots = || blind_spots(&session, &BTreeSet::new());
        assert_eq!(spots(), []);
        let list = &session.header().unreached;
        note(list, 0, "/bin/busybox");
        list.count.store(1, Ordering::Relaxed);
        let what = || spots().remove(0).what;
        assert_eq!(
            what(),
            "/bin/busybox is statically linked, and it is not recorded: the recorded program started that once"
        );
        note(list, 1, "./a");
        note(list, 2, "/bin/busybox");
        list.names[3].len.store(NAME_IN_THE_MAKING, Ordering::Relaxed);
        list.count.store(7, Ordering::Relaxed);
        assert!(what().starts_with("./a, /bin/busybox are statically linked"), "{}", what());
        assert!(what().ends_with("7 times"), "{}", what());
        let spot = of_static(list, |name| name != "./a").expect("one is left");
        assert!(spot.what.starts_with("./a is statically linked"), "{}", spot.what);
        assert_eq!(of_static(list, |_| true), None, "they record themselves");
    }

    #[test]
    fn a_program_without_the_variables_is_named_beside_those_without_a_loader() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let list = &session.header().bare;
        note(list, 0, "/usr/bin/sqlite3");
        list.count.store(2, Ordering::Relaxed);
        let spots = blind_spots(&session, &BTreeSet::new());
        assert_eq!(spots.iter().map(|spot| &*spot.id).collect::<Vec<_>>(), ["bare-child"]);
        assert!(
            spots[0].what.starts_with("/usr/bin/sqlite3 is not recorded: started 2 times"),
            "{}",
            spots[0].what
        );
    }
}
