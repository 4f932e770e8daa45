//! Any bytes as a recording.

#![no_main]

use heapwise_fuzz::drain::drain;
use heapwise_fuzz::frame::header;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    drain(bytes);
    // The same behind a right header, since few inputs bring one along.
    let mut file = Vec::with_capacity(bytes.len() + 16);
    header(&mut file);
    file.extend_from_slice(bytes);
    drain(&file);
});
