//! Events as words in a ring, and as columns in a file.

#![no_main]

use arbitrary::Arbitrary;
use heapwise_fuzz::recording::{AnyEvent, words_of};
use heapwise_trace::event::{BlockAddress, Epoch, Event};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ThreadIndex};
use heapwise_trace::file::{Reader, Section, Writer};
use heapwise_trace::live::words;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    events: Vec<AnyEvent>,
    words: Vec<u64>,
    first: u64,
}

fuzz_target!(|input: Input| {
    let events: Vec<Event> = input.events.iter().filter_map(AnyEvent::event).collect();
    let words = words_of(&events);
    assert_eq!(decoded(&words), events, "what is encoded is decoded");
    for (&event, short) in events.iter().zip(0..) {
        let w = words::encode(event);
        let cut = short % w.len;
        assert_eq!(words::decode(&w.words[..cut]), None, "an event cut to {cut} words is none");
    }

    // Any words: what is decoded of them is encoded and decoded again as the same.
    let found = decoded(&input.words);
    assert_eq!(decoded(&words_of(&found)), found);

    columns(&events, input.first);
    // Allocators hand out multiples of eight, and the columns rely on it. Only the second address of a reallocation can be
    // another in any words: all others have no room for it.
    let found: Vec<Event> = found.into_iter().map(aligned).collect();
    columns(&found, input.first);
});

fn decoded(mut words: &[u64]) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some((event, used)) = words::decode(words) {
        assert!(used > 0 && used <= words::MAX_WORDS);
        events.push(event);
        words = &words[used..];
    }
    events
}

fn aligned(event: Event) -> Event {
    let down = |address: BlockAddress| BlockAddress(address.0 & !7);
    match event {
        Event::Realloc { old, new, size, stack, touched, allocator } => {
            Event::Realloc { old, new: down(new), size, stack, touched, allocator }
        }
        Event::ReallocEnd { new, size, stack, allocator } => {
            Event::ReallocEnd { new: down(new), size, stack, allocator }
        }
        other => other,
    }
}

/// Two blocks with the same events, through the encoder, the file and back.
fn columns(events: &[Event], first: u64) {
    let mut encoder = EventsEncoder::default();
    for thread in 0..2 {
        encoder.add_block(ThreadIndex(thread), Epoch(first), &words_of(events));
    }
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory takes everything");
    writer.events(&encoder.finish(Epoch(first))).expect("memory takes everything");
    let file = writer.into_inner();
    let mut reader = Reader::new(file.as_slice()).expect("a recording was written");
    assert!(matches!(reader.next_section(), Ok(Some(Section::Meta(_)))));
    let Ok(Some(Section::Events(section))) = reader.next_section() else { panic!("events were written") };
    assert_eq!(section.blocks().count(), 2);
    for block in section.blocks() {
        assert_eq!(block.events().collect::<Vec<_>>(), events, "columns keep events");
    }
}
