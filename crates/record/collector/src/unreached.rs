//! Programs that recorded processes have started and into which nothing can be preloaded.
//!
//! The recorder leaves their names in the shared memory. Without them a statically linked child would be missing in silence.

use crate::distrust;
use crate::session::Session;
use heapwise_trace::file::records::BlindSpot;
use heapwise_trace::live::layout::{NAME_IN_THE_MAKING, SessionHeader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// What a session does not hold because it could not be preloaded into. Static programs may record themselves: `recorded` are the
/// files of those that did.
pub(crate) fn blind_spot(session: &Session, recorded: &BTreeSet<PathBuf>) -> Option<BlindSpot> {
    describe(session.header(), |name| {
        let real = Path::new(name).canonicalize();
        real.is_ok_and(|path| recorded.contains(&path))
    })
}

fn describe(header: &SessionHeader, is_recorded: impl Fn(&str) -> bool) -> Option<BlindSpot> {
    let starts = header.unreached_count.load(Ordering::Relaxed);
    let is_there = |len: u32| len != 0 && len != NAME_IN_THE_MAKING;
    let places = header.unreached.iter().filter(|place| is_there(place.len.load(Ordering::Acquire)));
    let names = places.map(|place| distrust::text(&place.bytes, &place.len));
    let mut names: Vec<String> = names.filter(|name| !is_recorded(name)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
    let more = if names.len() < header.unreached.len() { "" } else { " and perhaps more" };
    let times = if starts == 1 { "once".to_owned() } else { format!("{starts} times") };
    let what = format!(
        "{}{more} {is} statically linked, and {it} not recorded: the recorded program started that {times}",
        names.join(", ")
    );
    let remedy = "link it dynamically against glibc (for Rust: a *-gnu target without +crt-static), or wrap its allocator in \
                  heapwise::Allocator";
    Some(BlindSpot { id: "static-child".into(), what, remedy: remedy.into(), ..BlindSpot::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Settings;

    fn note(header: &SessionHeader, place: usize, name: &str) {
        let place = &header.unreached[place];
        place.bytes.iter().zip(name.bytes()).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
        place.len.store(name.len() as u32, Ordering::Release);
    }

    #[test]
    fn each_program_is_named_once() {
        let session = Session::new(Settings::default()).expect("shared memory");
        assert_eq!(blind_spot(&session, &BTreeSet::new()), None);
        let header = session.header();
        note(header, 0, "/bin/busybox");
        header.unreached_count.store(1, Ordering::Relaxed);
        let what = || blind_spot(&session, &BTreeSet::new()).expect("something was noted").what;
        assert_eq!(
            what(),
            "/bin/busybox is statically linked, and it is not recorded: the recorded program started that once"
        );
        note(header, 1, "./a");
        note(header, 2, "/bin/busybox");
        header.unreached[3].len.store(NAME_IN_THE_MAKING, Ordering::Relaxed);
        header.unreached_count.store(7, Ordering::Relaxed);
        assert!(what().starts_with("./a, /bin/busybox are statically linked"), "{}", what());
        assert!(what().ends_with("7 times"), "{}", what());
        let spot = describe(header, |name| name != "./a").expect("one is left");
        assert!(spot.what.starts_with("./a is statically linked"), "{}", spot.what);
        assert_eq!(describe(header, |_| true), None, "they record themselves");
    }
}
