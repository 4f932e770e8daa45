//! What a test prints that exceeded its budget: the lines of the right sites, in debug builds and in optimised ones with line
//! tables, as those of this workspace are.
//!
//! The test that fails is in this file: it starts itself again with one test only.

use heapwise::assert_allocations;
use std::hint::black_box;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Set for the second process.
const INNER: &str = "HEAPWISE_TEST_INNER";

/// Is part of its caller, whatever the optimisation.
#[inline(always)]
fn inlined(list: &mut Vec<u64>) {
    list.reserve_exact(black_box(10)); // here: inlined
}

#[inline(never)]
fn called() -> String {
    black_box("text").to_owned() // here: called
}

#[test]
fn fails() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let mut list = Vec::new();
    #[rustfmt::skip]
    assert_allocations!(<= 2, || { // here: macro
        for _ in 0..3 {
            black_box(called()); // here: loop
        }
        inlined(&mut list); // here: call of inlined
    });
}

/// The number of the line with this mark.
fn line_of(mark: &str) -> usize {
    let mark = ["// here", mark].join(": ");
    let is_it = |line: &str| line.ends_with(&mark);
    include_str!("budget_message.rs").lines().position(is_it).expect("the mark is there") + 1
}

fn output_of(test: &str) -> String {
    let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
    again.args(["--exact", test, "--nocapture"]).env(INNER, "1").env_remove("RUST_BACKTRACE");
    let output = again.output().expect("it can be started again");
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("it is text")
}

#[test]
fn the_message_names_the_right_lines() {
    let text = output_of("fails");
    let at = |mark| format!("tests/budgets/tests/budget_message.rs:{}", line_of(mark));
    assert!(text.contains(&format!("panicked at {}:", at("macro"))), "{text}");
    let begin = text.find("over the budget").expect(&text);
    let message = text[begin..].split("note: run with").next().unwrap_or_default();
    let mut lines = message.lines();
    let mut next = || lines.next().unwrap_or_default();
    assert_eq!(next(), "over the budget of allocations: 4 requests for memory, at most 2 allowed", "{text}");
    assert_eq!(
        next(),
        "  in all 4 allocations, 0 reallocations, 92 bytes requested, 80 bytes live at the peak",
        "{text}"
    );
    assert_eq!(next(), "");
    assert_eq!(next(), "  3 times, 12 bytes:", "{text}");
    // Where only lines are in the debug information, names of inlined functions have no modules.
    let called = next();
    assert!(
        called.starts_with("      ") && called.contains(&format!("called at {}, ", at("called"))),
        "{text}"
    );
    let by = next();
    assert!(by.starts_with("      by ") && by.ends_with(&at("loop")), "{text}");
    assert_eq!(next(), "  once, 80 bytes:", "the stack ends at the closure: {text}");
    let inlined = next();
    assert!(inlined.contains(&format!("inlined at {}, ", at("inlined"))), "{text}");
    assert!(inlined.contains(", calling ") && inlined.contains("reserve_exact"), "{text}");
    assert!(next().ends_with(&at("call of inlined")), "{text}");
    assert_eq!(next(), "", "{text}");
}
