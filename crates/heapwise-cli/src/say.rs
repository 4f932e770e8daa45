//! Lines on standard error. They are for people: if standard error is closed or full, the work goes on and the exit code stays what
//! it is.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Writes a line to standard error, with the arguments of `format!`.
macro_rules! say {
    ($($argument:tt)*) => { $crate::say::line(format_args!($($argument)*)) };
}

/// What [`say!`] calls.
pub(crate) fn line(text: Arguments<'_>) {
    // At once, so that lines of two processes do not mix.
    let _ = Lines.write_all(format!("{text}\n").as_bytes());
}

/// Writes a text of whole lines that has colours only where they are wanted.
#[cfg(target_os = "linux")]
pub(crate) fn block(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Standard error as something that can always be written to.
#[derive(Debug)]
pub(crate) struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = anstream::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = anstream::stderr().flush();
        Ok(())
    }
}
