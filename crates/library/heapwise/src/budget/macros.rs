//! Assertions that are close to those of std.

/// Asserts how often a closure requests memory, and returns what it returns.
///
/// The first argument is `<= n`, `< n` or `== n`. Counted are allocations and reallocations of this thread while the closure
/// runs; see [`Budget`](crate::budget::Budget). A message may follow, as with [`assert!`].
///
/// ```
/// # use heapwise_installed as _;
/// use heapwise::assert_allocations;
///
/// let numbers = assert_allocations!(<= 2, || (0..10).collect::<Vec<_>>());
/// assert_allocations!(== 1, || Box::new(7), "a box of {} is one block", 7);
/// assert_eq!(numbers.len(), 10);
/// ```
///
/// It panics if there are more, and names the code that requested them:
///
/// ```should_panic
/// # use heapwise_installed as _;
/// heapwise::assert_allocations!(< 2, || (Box::new(1), Box::new(2)));
/// ```
#[macro_export]
macro_rules! assert_allocations {
    (<= $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_allocations($crate::budget::Limit::AtMost($number)), $($rest)+)
    };
    (== $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_allocations($crate::budget::Limit::Exactly($number)), $($rest)+)
    };
    (< $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_allocations($crate::budget::Limit::Below($number)), $($rest)+)
    };
    ($($other:tt)*) => {
        compile_error!("expected `<= n`, `< n` or `== n`, and a closure: `assert_allocations!(<= 2, || …)`")
    };
}

/// Asserts that a closure, or a block, requests no memory, and returns what it returns.
///
/// A block becomes a closure, so `return` and `?` leave the block and not the function around it.
///
/// ```
/// # use heapwise_installed as _;
/// use heapwise::assert_no_allocations;
///
/// let mut list = Vec::with_capacity(10);
/// assert_no_allocations!(|| list.push(1));
/// let sum: i32 = assert_no_allocations!({ list.iter().sum() }, "a sum of {} numbers", list.len());
/// assert_eq!(sum, 1);
/// ```
///
/// ```should_panic
/// # use heapwise_installed as _;
/// heapwise::assert_no_allocations!(|| "text".to_owned());
/// ```
#[macro_export]
macro_rules! assert_no_allocations {
    ($($closure:tt)+) => { $crate::__assert_budget!(allocations(0), $($closure)+) };
}

/// Asserts how many bytes a closure requests, and returns what it returns.
///
/// As [`assert_allocations!`](crate::assert_allocations); a reallocation counts with its new size.
///
/// ```
/// # use heapwise_installed as _;
/// let page = heapwise::assert_allocated_bytes!(<= 4096, || vec![0u8; 4096]);
/// assert_eq!(page.len(), 4096);
/// ```
///
/// ```should_panic
/// # use heapwise_installed as _;
/// heapwise::assert_allocated_bytes!(< 4096, || vec![0u8; 4096]);
/// ```
#[macro_export]
macro_rules! assert_allocated_bytes {
    (<= $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_bytes($crate::budget::Limit::AtMost($number)), $($rest)+)
    };
    (== $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_bytes($crate::budget::Limit::Exactly($number)), $($rest)+)
    };
    (< $number:expr, $($rest:tt)+) => {
        $crate::__assert_budget!(limit_bytes($crate::budget::Limit::Below($number)), $($rest)+)
    };
    ($($other:tt)*) => {
        compile_error!("expected `<= n`, `< n` or `== n` bytes, and a closure: `assert_allocated_bytes!(<= 4096, || …)`")
    };
}

/// What is common to the assertions.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_budget {
    ($limit:ident($value:expr), $block:block $(,)?) => {
        $crate::__assert_budget!($limit($value), || $block)
    };
    ($limit:ident($value:expr), $block:block, $($message:tt)+) => {
        $crate::__assert_budget!($limit($value), || $block, $($message)+)
    };
    ($limit:ident($value:expr), $closure:expr $(,)?) => {
        $crate::budget::Budget::new().$limit($value).assert($closure)
    };
    ($limit:ident($value:expr), $closure:expr, $($message:tt)+) => {
        match $crate::budget::Budget::new().$limit($value).check($closure) {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(exceeded) => {
                ::core::panic!("{}: {exceeded}", ::core::format_args!($($message)+))
            }
        }
    };
}
