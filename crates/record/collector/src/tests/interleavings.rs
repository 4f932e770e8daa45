//! Threads that write while the collector reads, as it comes.

use super::{Random, Reader, recorder, seeds, thread_of, write};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

const WRITERS: u64 = 3;
/// Some threads write more than their ring has room for.
const MOST_EVENTS: u64 = 150_000;

/// Does nothing for a while that is different each time.
fn dawdle(random: &mut Random) {
    match random.below(8) {
        0 => thread::sleep(Duration::from_micros(random.below(3000))),
        1..4 => thread::yield_now(),
        _ => (0..random.below(2000)).for_each(|_| std::hint::spin_loop()),
    }
}

fn try_seed(seed: u64) {
    let mut reader = Reader::new();
    let recorder = recorder(&reader.session);
    let mut reading = reader.take_in(recorder);
    let (working, mut random) = (AtomicU32::new(WRITERS as u32), Random(seed));
    let sent: BTreeMap<u32, u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|nth| {
                let (working, mut random) = (&working, Random(seed << 8 | nth));
                scope.spawn(move || {
                    let thread = thread_of(recorder);
                    let count = random.below(if nth == 0 { MOST_EVENTS } else { 5000 });
                    for n in 1..=count {
                        write(recorder, thread, n);
                        if random.below(1 + count / 20) == 0 {
                            dawdle(&mut random);
                        }
                    }
                    working.fetch_sub(1, Ordering::Release);
                    (recorder.thread_id(), count)
                })
            })
            .collect();
        while working.load(Ordering::Acquire) > 0 {
            let room = if random.below(4) == 0 { random.below(1 << 22) as usize } else { usize::MAX };
            reading.read(&mut reader, room, false);
            match random.below(30) {
                // What has arrived so far can be understood, whenever one looks.
                0 => reading.words.keys().for_each(|&thread| _ = reading.events(thread)),
                1 => reading.check_threads(&mut reader),
                // The rings fill meanwhile.
                3 => thread::sleep(Duration::from_millis(random.below(40))),
                2 => _ = reader.session.tick(),
                _ => dawdle(&mut random),
            }
        }
        writers.into_iter().map(|writer| writer.join().expect("it ends")).collect()
    });
    // Without room everything is left, and that is said: a file must not end there.
    let (none, has_left) = reading.read(&mut reader, 0, false);
    let (rest, has_more) = reading.read(&mut reader, usize::MAX, false);
    assert_eq!((none, has_left, has_more), (0, rest > 0, false));
    let end = reading.end(&mut reader);
    assert_eq!(reading.tids.len(), sent.len());
    for (&index, tid) in &reading.tids {
        let events = reading.events(index);
        assert!(events.is_sorted_by(|a, b| a < b), "they are not in order");
        let lost = reading.lost.get(&index).expect("its end was noted");
        assert_eq!(events.len() as u64 + lost, sent[tid], "{lost} were counted as lost");
    }
    assert_eq!(end.lost_events, reading.lost.values().sum::<u64>());
    assert_eq!(reader.refusals.into_records(), []);
}

#[test]
fn what_threads_write_arrives_in_order_and_nothing_is_lost_that_is_not_counted() {
    seeds(4).for_each(try_seed);
}

/// When a thread has ended says which blocks an allocator kept for it until then. Its words may be handed on much later.
#[test]
fn the_end_of_a_thread_is_noticed_soon_after_its_last_event() {
    let mut reader = Reader::new();
    let recorder = recorder(&reader.session);
    let mut reading = reader.take_in(recorder);
    let writer = thread::spawn(move || {
        write(recorder, thread_of(recorder), 1);
        recorder.thread_id()
    });
    let tid = writer.join().expect("it ends");
    // The kernel still knows a thread for a moment after others may go on.
    while !crate::sys::thread_is_gone(std::process::id(), tid) {
        thread::yield_now();
    }
    let mut news = crate::news::News::default();
    let mut round = |reader: &mut Reader, reading: &mut super::Reading| {
        reader.session.tick();
        reading.process.drain(&mut reader.common(), usize::MAX, &mut news);
        reader.session.epoch()
    };
    round(&mut reader, &mut reading);
    let soon = (0..3).map(|_| round(&mut reader, &mut reading)).last().expect("there were some");
    (0..100).for_each(|_| _ = round(&mut reader, &mut reading));
    reading.note(news);
    reading.check_threads(&mut reader);
    assert_eq!(reading.ends, [], "its words were not handed on");
    reading.read(&mut reader, usize::MAX, false);
    reading.check_threads(&mut reader);
    assert!(reading.ends.len() == 1 && reading.ends[0] <= soon, "{:?}, {soon:?}", reading.ends);
}

#[test]
fn rings_that_are_handed_from_thread_to_thread_keep_their_events_apart() {
    for seed in seeds(2) {
        let mut reader = Reader::new();
        let recorder = recorder(&reader.session);
        let (mut reading, mut random) = (reader.take_in(recorder), Random(seed));
        let mut sent = Vec::new();
        for _ in 0..40 {
            let count = 1 + random.below(50);
            let writer = thread::spawn(move || {
                let thread = thread_of(recorder);
                (1..=count).for_each(|n| write(recorder, thread, n));
            });
            writer.join().expect("it ends");
            sent.push(count);
            if random.below(3) > 0 {
                reading.read(&mut reader, usize::MAX, false);
                reading.check_threads(&mut reader);
                // What was drained while looking is handed on here; then the ring is free.
                reading.read(&mut reader, usize::MAX, false);
                reading.check_threads(&mut reader);
            }
        }
        reading.end(&mut reader);
        let all: Vec<u64> = reading.words.keys().map(|&thread| reading.events(thread).len() as u64).collect();
        let (mut all, mut sent) = (all, sent);
        all.sort_unstable();
        sent.sort_unstable();
        assert_eq!(all, sent, "each thread has its own");
        let header = recorder.header().expect("it has joined");
        let rings = header.ring_count.load(Ordering::Relaxed);
        assert!(rings < 40, "{rings} rings for threads of which one was there at a time");
    }
}
