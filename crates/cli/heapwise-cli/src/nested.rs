//! heapwise inside of a recording of another heapwise: what this one starts is not in that recording.

#![expect(unsafe_code, reason = "changes the environment of this process")]

use heapwise_collector::nested::Outer;
use heapwise_trace::live::layout::{SESSION_VARIABLE, THROUGH_VARIABLE};
use std::ffi::OsStr;
use std::sync::OnceLock;

/// The session that this process was started in.
static OUTER: OnceLock<Outer> = OnceLock::new();

/// Takes the session that this process was started in out of the environment. To be called before there is a second thread.
pub(crate) fn leave_session() {
    const LIST: &str = "LD_PRELOAD";
    let Some(outer) = Outer::from_environment() else { return };
    let list = std::env::var_os(LIST).map(|list| outer.leave_out_library(&list));
    // SAFETY: `main` calls this first, so no other thread reads the environment meanwhile.
    unsafe {
        // No session, and not its own: the recorder around this process leaves such programs alone.
        std::env::set_var(SESSION_VARIABLE, "");
        std::env::remove_var(THROUGH_VARIABLE);
        match list.filter(|list| !list.is_empty()) {
            Some(list) => std::env::set_var(LIST, list),
            None => std::env::remove_var(LIST),
        }
    }
    let _ = OUTER.set(outer);
}

/// Reports to the outer recording, and to the user, that a program is run outside of it.
pub(crate) fn announce(program: &OsStr, done: &str) {
    if OUTER.get().is_some_and(|outer| outer.announce(program)) {
        let program = heapwise_report::escape::terminal::escape(&program.to_string_lossy()).into_owned();
        heapwise_report::say!(
            "heapwise: {program} is {done} by this heapwise, and left out of the recording around it"
        );
    }
}
