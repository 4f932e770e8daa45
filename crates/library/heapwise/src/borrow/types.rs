//! Types of std.

use super::{BorrowReport, Walker};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Types that have no data but what is in themselves.
macro_rules! nothing {
    ($($of:ty),* $(,)?) => {
        $(impl BorrowReport for $of {
            fn walk(&self, _: &mut Walker<'_>) {}
        })*
    };
}

nothing!(
    (),
    bool,
    char,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    u16,
    u32,
    u64,
    u128,
    usize,
    f32,
    f64,
    std::num::NonZeroU8,
    std::num::NonZeroU16,
    std::num::NonZeroU32,
    std::num::NonZeroU64,
    std::num::NonZeroUsize,
    std::num::NonZeroI32,
    std::num::NonZeroI64,
    std::time::Duration,
    std::time::Instant,
    std::time::SystemTime,
    std::net::IpAddr,
    std::net::Ipv4Addr,
    std::net::Ipv6Addr,
    std::net::SocketAddr,
);

impl BorrowReport for u8 {
    fn walk(&self, _: &mut Walker<'_>) {}

    /// Bytes are data.
    fn walk_list(list: &[Self], own_bytes: Option<usize>, walker: &mut Walker<'_>) {
        match own_bytes {
            Some(bytes) => walker.owned(list, bytes),
            None => walker.borrowed(list),
        }
    }
}

impl<T: ?Sized> BorrowReport for std::marker::PhantomData<T> {
    fn walk(&self, _: &mut Walker<'_>) {}
}

/// Text and its like: what gives the bytes, and the owned type that has a capacity.
macro_rules! text {
    ($($borrowed:ty, $owned:ty, $bytes:expr;)*) => {
        $(
            impl BorrowReport for &$borrowed {
                fn walk(&self, walker: &mut Walker<'_>) {
                    walker.borrowed($bytes(self));
                }
            }

            impl BorrowReport for $owned {
                fn walk(&self, walker: &mut Walker<'_>) {
                    walker.owned($bytes(self), self.capacity());
                }
            }

            impl BorrowReport for Cow<'_, $borrowed> {
                fn walk(&self, walker: &mut Walker<'_>) {
                    match self {
                        Cow::Borrowed(text) => text.walk(walker),
                        Cow::Owned(text) => text.walk(walker),
                    }
                }
            }

            impl BorrowReport for Box<$borrowed> {
                fn walk(&self, walker: &mut Walker<'_>) {
                    walker.owned($bytes(self), $bytes(self).len());
                }
            }

            impl BorrowReport for Rc<$borrowed> {
                fn walk(&self, walker: &mut Walker<'_>) {
                    walker.owned($bytes(self), $bytes(self).len() + COUNTERS);
                }
            }

            impl BorrowReport for Arc<$borrowed> {
                fn walk(&self, walker: &mut Walker<'_>) {
                    walker.owned($bytes(self), $bytes(self).len() + COUNTERS);
                }
            }
        )*
    };
}

/// Bytes of the reference counts of shared data.
const COUNTERS: usize = 2 * size_of::<usize>();

text!(
    str, String, str::as_bytes;
    Path, PathBuf, bytes_of_path;
    OsStr, OsString, OsStr::as_encoded_bytes;
);

impl<T: BorrowReport> BorrowReport for &[T] {
    fn walk(&self, walker: &mut Walker<'_>) {
        T::walk_list(self, None, walker);
    }
}

impl<T: BorrowReport> BorrowReport for Vec<T> {
    fn walk(&self, walker: &mut Walker<'_>) {
        T::walk_list(self, Some(self.capacity() * size_of::<T>()), walker);
    }
}

impl<T: BorrowReport> BorrowReport for Box<[T]> {
    fn walk(&self, walker: &mut Walker<'_>) {
        T::walk_list(self, Some(size_of_val(&**self)), walker);
    }
}

impl<T: BorrowReport + Clone> BorrowReport for Cow<'_, [T]> {
    fn walk(&self, walker: &mut Walker<'_>) {
        match self {
            Cow::Borrowed(list) => list.walk(walker),
            Cow::Owned(list) => list.walk(walker),
        }
    }
}

impl<T: BorrowReport + Clone> BorrowReport for Cow<'_, T> {
    fn walk(&self, walker: &mut Walker<'_>) {
        (**self).walk(walker);
    }
}

impl<T: BorrowReport, E: BorrowReport> BorrowReport for Result<T, E> {
    fn walk(&self, walker: &mut Walker<'_>) {
        match self {
            Ok(value) => walker.part("Ok", |walker| value.walk(walker)),
            Err(error) => walker.part("Err", |walker| error.walk(walker)),
        }
    }
}

impl<T: BorrowReport, const N: usize> BorrowReport for [T; N] {
    fn walk(&self, walker: &mut Walker<'_>) {
        walker.elements(self);
    }
}

/// Lists whose elements are not in a row.
macro_rules! lists {
    ($($list:ident<T $(, $hasher:ident)?>),*) => {
        $(impl<T: BorrowReport $(, $hasher)?> BorrowReport for $list<T $(, $hasher)?> {
            fn walk(&self, walker: &mut Walker<'_>) {
                walker.elements(self);
            }
        })*
    };
}

lists!(VecDeque<T>, LinkedList<T>, BinaryHeap<T>, BTreeSet<T>, HashSet<T, S>);

impl<K: BorrowReport, V: BorrowReport, S> BorrowReport for HashMap<K, V, S> {
    fn walk(&self, walker: &mut Walker<'_>) {
        walker.entries(self);
    }
}

impl<K: BorrowReport, V: BorrowReport> BorrowReport for BTreeMap<K, V> {
    fn walk(&self, walker: &mut Walker<'_>) {
        walker.entries(self);
    }
}

impl<T: BorrowReport> BorrowReport for Option<T> {
    fn walk(&self, walker: &mut Walker<'_>) {
        if let Some(value) = self {
            value.walk(walker);
        }
    }
}

/// What only points to the value.
macro_rules! pointers {
    ($($pointer:ty),*) => {
        $(impl<T: BorrowReport> BorrowReport for $pointer {
            fn walk(&self, walker: &mut Walker<'_>) {
                (**self).walk(walker);
            }
        })*
    };
}

pointers!(&T, Box<T>, Rc<T>, Arc<T>);

macro_rules! tuples {
    ($($($of:ident $at:tt),+;)*) => {
        $(impl<$($of: BorrowReport),+> BorrowReport for ($($of,)+) {
            fn walk(&self, walker: &mut Walker<'_>) {
                $(walker.part(stringify!($at), |walker| self.$at.walk(walker));)+
            }
        })*
    };
}

tuples!(
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
);

fn bytes_of_path(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
