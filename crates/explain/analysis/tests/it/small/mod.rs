//! Small recordings that are put together by hand.

use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Event, StackId};
use heapwise_trace::file::Writer;
use heapwise_trace::file::records::Meta;
use heapwise_trace::live::words;

pub(crate) fn recording() -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), &Meta::default()).expect("memory takes everything")
}

/// The words of an allocation at the address times 8.
pub(crate) fn alloc(address: u64, stack: u32) -> Vec<u64> {
    let event = Event::Alloc {
        address: BlockAddress(address << 3),
        size: 8,
        align_log2: 0,
        allocator: AllocatorNumber::BY_NAME,
        function: AllocFunction::Malloc,
        stack: StackId(stack),
    };
    let encoded = words::encode(event);
    encoded.words[..encoded.len].to_vec()
}
