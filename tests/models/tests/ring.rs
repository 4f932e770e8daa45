//! One thread writes to a ring while another one reads it.

use heapwise_trace::event::{BlockAddress, Event};
use heapwise_trace::live::atomics::Ordering;
use heapwise_trace::live::layout::ring_state;
use heapwise_trace::live::words::{decode, encode};
use models::{Arc, Reader, RingMemory, Sleeper, explore, thread};

/// The smallest ring that has room for an event.
const WORDS: usize = 16;

fn event(n: u64) -> Event {
    Event::Free { address: BlockAddress(n * 8), touched: (n % 2 == 1).then_some(n as u32) }
}

/// Which events these words are; each has to be whole.
fn events(mut words: &[u64]) -> Vec<u64> {
    let mut found = Vec::new();
    while !words.is_empty() {
        let (read, used) = decode(words).unwrap_or_else(|| panic!("{words:x?} begins with no event"));
        let Event::Free { address, .. } = read else { panic!("{read:?} was not written") };
        assert_eq!(read, event(address.0 / 8), "an event is torn");
        found.push(address.0 / 8);
        words = &words[used..];
    }
    found
}

/// Writes so many events, which do not all fit into the ring at once, while they are read so often.
///
/// The writer is the first thread: loom looks for another order of a store and the last access before it alone, and that would
/// be the writer's own if the reader's had come first.
fn write_and_read(count: u64, reads: usize, naps: u32) {
    // The events go around the end of the ring.
    let used = (WORDS as u64 - 3) * 8;
    let ring = Arc::new(RingMemory::new(WORDS, used));
    let (mut producer, sleeper) = (ring.producer(), Sleeper::new(naps));
    let reader = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            let (mut reader, mut words) = (Reader { tail: used }, Vec::new());
            for _ in 0..reads {
                reader.drain(&ring, &mut words);
                thread::yield_now();
            }
            (reader, words)
        })
    };
    (1..=count).for_each(|n| producer.push(encode(event(n)), &sleeper));
    let (mut reader, mut words) = reader.join().expect("the reader ends");
    reader.drain(&ring, &mut words);
    let found = events(&words);
    assert!(found.is_sorted_by(|a, b| a < b), "{found:?} are not in order");
    let lost = ring.header.lost_events.load(Ordering::Relaxed);
    assert_eq!(found.len() as u64 + lost, count, "{found:?} arrived and {lost} are counted as lost");
}

#[test]
fn what_is_written_arrives_whole_and_in_order_or_is_counted_as_lost() {
    explore(3, || write_and_read(7, 2, 2));
}

#[test]
fn a_ring_that_nobody_waits_for_loses_what_does_not_fit_and_says_so() {
    explore(2, || write_and_read(12, 1, 0));
}

#[test]
fn a_ring_that_is_set_free_goes_on_where_its_last_thread_has_ended() {
    explore(3, || {
        let ring = Arc::new(RingMemory::new(WORDS, 0));
        ring.header.state.store(ring_state::OWNED, Ordering::Relaxed);
        let first = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || ring.producer().push(encode(event(1)), &Sleeper::new(1)))
        };
        let second = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                let is_free = ring.header.state.load(Ordering::Acquire) == ring_state::FREE;
                if is_free {
                    ring.producer().push(encode(event(2)), &Sleeper::new(1));
                }
                is_free
            })
        };
        first.join().expect("the first thread ends");
        let (mut reader, mut words) = (Reader::default(), Vec::new());
        reader.drain(&ring, &mut words);
        ring.header.state.store(ring_state::FREE, Ordering::Release);
        let has_written = second.join().expect("the second thread ends");
        reader.drain(&ring, &mut words);
        assert_eq!(events(&words), if has_written { vec![1, 2] } else { vec![1] });
    });
}
