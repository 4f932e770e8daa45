//! Small files that ask for much: found by fuzzing (`fuzz/`) and by thinking about what packs well.

use heapwise_trace::file::reader::Tail;
use heapwise_trace::file::records::Meta;
use heapwise_trace::file::{Claim, Reader, Writer};

/// As many bytes as a payload may have.
const LARGEST: usize = 64 << 20;

/// The highest address space of this process so far, in bytes.
fn peak_address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|l| l.strip_prefix("VmPeak:")).expect("the line is there");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib << 10
}

#[test]
fn a_count_of_blocks_does_not_ask_for_more_memory_than_a_section() {
    // Watermark 0; as many blocks as there are bytes; then a first block that cannot be.
    let mut payload = vec![0u8];
    let mut count = LARGEST as u64 - 16;
    while count >= 0x80 {
        payload.push(count as u8 | 0x80);
        count >>= 7;
    }
    payload.push(count as u8);
    payload.resize(LARGEST, 0xff);
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory takes everything");
    writer.events(&payload).expect("memory takes everything");
    let file = writer.into_inner();
    assert!(file.len() < 10_000);

    let before = peak_address_space();
    let mut reader = Reader::new(file.as_slice()).expect("the header is sound");
    assert!(matches!(reader.next_section(), Ok(Some(_))), "the run facts");
    assert!(matches!(reader.next_section(), Ok(None)), "no section has so many blocks");
    assert_eq!(reader.tail(), Some(Tail::Excessive(Claim::Entries("blocks of events"))));
    let took = peak_address_space() - before;
    assert!(took < 1 << 30, "{} MiB of address space for a file of {} bytes", took >> 20, file.len());
}
