//! A program that does not have heapwise as its global allocator: a budget must not pass as if it were kept.

#[test]
#[should_panic(expected = "#[global_allocator]")]
fn nothing_can_be_counted() {
    heapwise::assert_no_allocations!(|| ());
}

#[test]
#[should_panic(
    expected = "heapwise counts nothing: heapwise::Allocator is not the global allocator of this program"
)]
#[heapwise::budget(allocations = 1)]
fn nor_by_the_attribute() {}
