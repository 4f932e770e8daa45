//! A live block of a copy, in 16 bytes: a heap may have millions of them, and is copied twice.

use super::{MOST_BYTES, cut_size};

/// What the analysis of pages needs to know of a live block: 48 bits of its address, 48 of its size, and its site. They are ordered by
/// their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LiveBlock {
    address_and_size: u64,
    size_and_site: u64,
}

impl LiveBlock {
    /// A block of so many requested bytes. What an address has above its 48 bits are tags, of which pages know nothing.
    pub(crate) fn new(address: u64, size: u64, site: u32) -> Self {
        let size = cut_size(size);
        Self { address_and_size: address << 16 | size >> 32, size_and_site: size << 32 | u64::from(site) }
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        self.address_and_size >> 16
    }

    /// Requested bytes.
    #[inline(always)]
    pub(crate) fn size(&self) -> u64 {
        (self.address_and_size << 32 | self.size_and_site >> 32) & MOST_BYTES
    }

    /// Site of its allocation, or of its last reallocation.
    #[inline(always)]
    pub(crate) fn site(&self) -> u32 {
        self.size_and_site as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_it_was_and_takes_16_bytes() {
        assert_eq!(size_of::<LiveBlock>(), 16);
        for address in [0, 8, 0x7fff_ffff_fff0, (1 << 48) - 1] {
            for size in [0, 1, u64::from(u32::MAX), 1 << 32, MOST_BYTES] {
                for site in [0, 1, u32::MAX] {
                    let block = LiveBlock::new(address, size, site);
                    assert_eq!((block.address(), block.size(), block.site()), (address, size, site));
                }
            }
        }
        let tagged = LiveBlock::new(0xb400_7fff_0000_0010, u64::MAX, 3);
        assert_eq!((tagged.address(), tagged.size(), tagged.site()), (0x7fff_0000_0010, MOST_BYTES, 3));
    }

    #[test]
    fn addresses_order_them() {
        let (low, high) = (LiveBlock::new(16, MOST_BYTES, u32::MAX), LiveBlock::new(32, 0, 0));
        assert!(low < high);
    }
}
