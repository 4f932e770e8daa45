//! Lines on standard error, which are for people: if it is closed or full, the work goes on and the exit code stays what it is.

/// Writes a line to standard error, with the arguments of `format!`.
macro_rules! say {
    ($($argument:tt)*) => {{
        let line = format!($($argument)*);
        let _ = std::io::Write::write_all(&mut anstream::stderr(), format!("{line}\n").as_bytes());
    }};
}
