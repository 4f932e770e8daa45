//! Sections with a right checksum and any payload, so that the decoders behind the checksum are reached.

#![no_main]

use heapwise_fuzz::drain::drain;
use heapwise_fuzz::frame::{RawSection, header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|sections: Vec<RawSection>| {
    let mut file = Vec::new();
    header(&mut file);
    for section in sections.iter().take(8) {
        section.write(&mut file);
    }
    drain(&file);
});
