//! Sections of a recording, one after another; while one is gone through, the next one is read and unpacked on a second thread.

use heapwise_trace::file::reader::{Reader, Section};
use heapwise_trace::file::{Error, ErrorKind};
use std::io::Read;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// What comes next in a recording.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Where it begins in the file.
    pub(crate) at: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// As [`Reader::next_section`] returned it.
    pub(crate) section: Result<Option<Section>, Error>,
}

impl Arrived {
    pub(crate) fn next<R: Read>(reader: &mut Reader<R>) -> Self {
        let at = reader.offset();
        let section = reader.next_section();
        Self { at, end: reader.offset(), section }
    }

    /// Whether something may come behind it.
    fn goes_on(&self) -> bool {
        match &self.section {
            Ok(section) => section.is_some(),
            Err(error) => matches!(error.kind(), ErrorKind::Damaged { .. }),
        }
    }
}

/// Hands over what comes until `take` says `false` or fails, which it has to at the end. By then the reader may be one section further, for which
/// a stream that is not at its end may be waited for.
///
/// # Errors
/// Those of `take`.
pub(crate) fn each<R: Read + Send, E>(
    reader: &mut Reader<R>,
    mut take: impl FnMut(Arrived) -> Result<bool, E>,
) -> Result<(), E> {
    // Only one of the two threads ever reads.
    let reader = Mutex::new(reader);
    let next = || Arrived::next(&mut reader.lock().unwrap_or_else(PoisonError::into_inner));
    std::thread::scope(|scope| {
        // What was read waits there for being taken, so there is one at most.
        let (sender, arrived) = sync_channel(0);
        let read = move || {
            let mut goes_on = true;
            while goes_on {
                let next = next();
                goes_on = next.goes_on();
                goes_on &= sender.send(next).is_ok();
            }
        };
        if Builder::new().spawn_scoped(scope, read).is_ok() {
            for next in arrived {
                if !take(next)? {
                    break;
                }
            }
            return Ok(());
        }
        while take(next())? {}
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::Writer;
    use heapwise_trace::file::records::{Meta, RunEnd};
    use std::io;

    /// A stream that fails at its end.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::other("it is gone"));
            }
            self.0.read(into)
        }
    }

    fn sections(n: usize) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
        (1..n).for_each(|_| writer.run_end(&RunEnd::default()).expect("memory"));
        writer.into_inner()
    }

    fn reader_offset_after_one(file: &[u8]) -> u64 {
        let mut reader = Reader::new(file).expect("own file");
        Arrived::next(&mut reader).end
    }

    #[test]
    fn all_come_in_their_order_and_the_end_once() {
        let file = sections(100);
        let mut reader = Reader::new(file.as_slice()).expect("own file");
        let (mut ends, mut last) = (0, None);
        each(&mut reader, |arrived| {
            assert!(last.is_none_or(|last| last == arrived.at));
            last = Some(arrived.end);
            let is_there = arrived.section.expect("own file").is_some();
            ends += u32::from(!is_there);
            Ok::<_, ()>(is_there)
        })
        .expect("nothing fails");
        assert_eq!((ends, last), (1, Some(file.len() as u64)));
    }

    #[test]
    fn it_ends_where_it_is_to() {
        let file = sections(100);
        for stop in [1, 2, 50] {
            for fails in [false, true] {
                let mut reader = Reader::new(file.as_slice()).expect("own file");
                let (mut taken, mut at) = (0, 0);
                let result = each(&mut reader, |arrived| {
                    (taken, at) = (taken + 1, arrived.end);
                    if taken == stop && fails { Err("enough") } else { Ok(taken < stop) }
                });
                assert_eq!((result.is_err(), taken), (fails, stop));
                // One more at most was read, and all but the first are alike.
                let one = (file.len() as u64 - reader_offset_after_one(&file)) / 99;
                assert!([at, at + one].contains(&reader.offset()), "{} {at}", reader.offset());
            }
        }
    }

    #[test]
    fn after_a_failure_of_the_stream_it_is_read_no_more() {
        let file = sections(3);
        let mut reader = Reader::new(Failing(&file)).expect("own file");
        let mut taken = 0;
        let result = each(&mut reader, |arrived| {
            taken += 1;
            arrived.section.map(|section| section.is_some())
        });
        assert!(result.is_err() && taken == 4, "{taken}");
    }
}
