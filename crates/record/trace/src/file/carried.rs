//! Blocks that go from one file of a recording to the next one.

use super::cursor::{Cursor, Put};
use super::limits::{Excess, MOST_CARRIED};
use super::records::{ProcessIndex, ThreadIndex};
use crate::event::{AllocatorNumber, BlockAddress, StackId};

/// Blocks of a process that were live when the file began, since an earlier file of the recording has their allocations.
///
/// Payload: process, count, then per block: thread, stack, number of the allocator, address (signed difference to the one before, of
/// eighths), size, age.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Whose blocks.
    pub process: ProcessIndex,
    /// The blocks, in no particular order.
    pub blocks: Vec<CarriedBlock>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedBlock {
    /// The thread that allocated it.
    pub thread: ThreadIndex,
    /// Where that was.
    pub stack: StackId,
    pub allocator: AllocatorNumber,
    pub address: BlockAddress,
    /// Requested bytes.
    pub size: u64,
    /// Nanoseconds since it was handed out.
    pub age_ns: u64,
}

impl Carried {
    /// Blocks that one section may have; more of them are several sections.
    pub const MOST_BLOCKS: usize = MOST_CARRIED;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.blocks.len() * 16 + 8);
        out.put(u64::from(self.process.0));
        out.put(self.blocks.len() as u64);
        let mut before = 0u64;
        for block in &self.blocks {
            out.put(u64::from(block.thread.0));
            out.put(u64::from(block.stack.0));
            out.put(u64::from(block.allocator.0));
            out.put_signed(block.address.0.wrapping_sub(before) as i64 >> 3);
            out.put(block.size);
            out.put(block.age_ns);
            before = block.address.0;
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let process = ProcessIndex(u32::try_from(c.get()?).ok()?);
        let count = excess.count(&mut c, MOST_CARRIED, "blocks from before")?;
        let mut blocks = Vec::with_capacity(count.min(c.0.len()));
        let mut address = 0u64;
        for _ in 0..count {
            let thread = ThreadIndex(u32::try_from(c.get()?).ok()?);
            let stack = StackId(u32::try_from(c.get()?).ok()?);
            let allocator = AllocatorNumber(u8::try_from(c.get()?).ok()?);
            address = address.wrapping_add((c.get_signed()? as u64) << 3);
            blocks.push(CarriedBlock {
                thread,
                stack,
                allocator,
                address: BlockAddress(address),
                size: c.get()?,
                age_ns: c.get()?,
            });
        }
        c.is_empty().then_some(Self { process, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_is_what_is_written() {
        let block = |address, size, age_ns| CarriedBlock {
            thread: ThreadIndex(3),
            stack: StackId(7),
            allocator: AllocatorNumber(0),
            address: BlockAddress(address),
            size,
            age_ns,
        };
        let carried =
            Carried { process: ProcessIndex(1), blocks: vec![block(0x1000, 24, 5), block(0x0f80, 100, 0)] };
        let bytes = carried.encode();
        assert_eq!(bytes, [1, 2, 3, 7, 0, 0x80, 0x08, 24, 5, 3, 7, 0, 0x1f, 100, 0]);
        assert_eq!(Carried::decode(&bytes, &mut Excess::default()), Some(carried));
        assert_eq!(Carried::decode(&bytes[..14], &mut Excess::default()), None);
    }
}
