//! Variable-length integers: seven bits a byte, least significant first, the high bit says that more follow (LEB128).

/// A signed value as an unsigned one with the sign in the lowest bit, so that small magnitudes stay short.
#[inline(always)]
pub(crate) fn to_unsigned(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends values to a buffer.
pub(crate) trait Put {
    fn put(&mut self, value: u64);

    fn put_signed(&mut self, value: i64) {
        self.put(to_unsigned(value));
    }

    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    #[inline(always)]
    fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes values from the front of a slice. Every method is `None` at the end, never a panic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) fn get(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        if first < 0x80 {
            self.0 = rest;
            return Some(u64::from(first));
        }
        self.get_long()
    }

    fn get_long(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (i, &byte) in self.0.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if i == 9 && bits > 1 {
                return None;
            }
            value |= bits << (7 * i);
            if byte < 0x80 {
                self.0 = &self.0[i + 1..];
                return Some(value);
            }
        }
        None
    }

    #[inline(always)]
    pub(crate) fn get_signed(&mut self) -> Option<i64> {
        let v = self.get()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.get()?).ok()?;
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A count of things that take at least one byte each, so that a damaged count cannot claim much memory.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let n = usize::try_from(self.get()?).ok()?;
        (n <= self.0.len()).then_some(n)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_survive(values: Vec<u64>, signed: Vec<i64>) {
            let mut out = Vec::new();
            values.iter().for_each(|&v| out.put(v));
            signed.iter().for_each(|&v| out.put_signed(v));
            let mut cursor = Cursor(&out);
            for v in values { prop_assert_eq!(cursor.get(), Some(v)); }
            for v in signed { prop_assert_eq!(cursor.get_signed(), Some(v)); }
            prop_assert!(cursor.is_empty());
            prop_assert_eq!(cursor.get(), None);
        }

        #[test]
        fn garbage_is_none_not_a_panic(bytes: Vec<u8>) {
            let mut cursor = Cursor(&bytes);
            while cursor.get().is_some() {}
            let mut cursor = Cursor(&bytes);
            while cursor.bytes().is_some() {}
        }
    }
}
