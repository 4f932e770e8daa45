//! The one line at the start of a program.

/// The variable that keeps the warning away: `HEAPWISE_QUIET=1`. Empty or `0` is as if it were not set.
///
/// ```
/// assert_eq!(heapwise::QUIET, "HEAPWISE_QUIET");
/// ```
pub const QUIET: &str = "HEAPWISE_QUIET";

/// Prints one line on standard error if something outside of the code slows the heap a few times or more.
///
/// To be called at the start of `main`. It does nothing if [`QUIET`] says so, and in a build without the feature `warning`.
///
/// ```
/// heapwise::warn_at_start();
/// ```
pub fn warn_at_start() {
    if cfg!(feature = "warning")
        && !is_quiet(std::env::var_os(QUIET).as_deref())
        && let Some(warning) = crate::environment().warning()
    {
        // A program without a standard error, such as one with windows only, cannot be warned.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("heapwise: warning: {warning}\n").as_bytes(),
        );
    }
}

fn is_quiet(value: Option<&std::ffi::OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_makes_it_quiet() {
        let quiet = |value: &str| is_quiet(Some(value.as_ref()));
        assert_eq!(
            [quiet("1"), quiet("yes"), quiet("0"), quiet(""), is_quiet(None)],
            [true, true, false, false, false]
        );
    }
}
