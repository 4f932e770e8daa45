//! Reads a recording to its end and decodes everything in it.

use heapwise_trace::file::{Error, ErrorKind, Reader, Section};

/// Goes through all sections and all events. Returns how many sections and events there were.
///
/// # Panics
/// If the reader promises something that it does not keep: that it ends, that it counts the bytes of whole sections,
/// that a slice of bytes is never an input or output error, that a block has no more events than it says.
pub fn drain(file: &[u8]) -> (usize, u64) {
    let Ok(mut reader) = Reader::new(file) else { return (0, 0) };
    let (mut n_sections, mut n_events) = (0, 0);
    let mut before = reader.offset();
    loop {
        let section = match reader.next_section() {
            Ok(Some(section)) => Some(section),
            Ok(None) => break,
            Err(error) => {
                assert!(is_damage(&error), "memory cannot fail to be read: {error}");
                None
            }
        };
        assert!(reader.offset() > before, "a section takes bytes, else this would never end");
        before = reader.offset();
        assert!(before <= file.len() as u64, "only what was there can have been read");
        n_sections += 1;
        if let Some(Section::Events(events)) = section {
            for block in events.blocks() {
                let mut decoded = block.events();
                let n = decoded.by_ref().count() as u64;
                assert!(n <= block.n_events() && (n == block.n_events() || decoded.damaged()));
                n_events += n;
            }
        }
    }
    assert!(reader.tail().is_some(), "the end has a reason");
    (n_sections, n_events)
}

fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Damaged { .. })
}
