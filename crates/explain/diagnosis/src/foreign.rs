//! Places in code that the reader did not write and cannot change: a dependency, an interpreter, a library of the system.
//!
//! What is wrong there may be worth knowing, and the advice for one's own code is not: the vectors of another crate get no
//! capacity.

use heapwise_analysis::owner::Package;

/// Whose code a place is, where that is not the program's own.
#[derive(Clone, Debug)]
pub(crate) struct Foreign<'a> {
    pub(crate) package: Option<Package<'a>>,
    /// The line of the program that leads there, as titles name it.
    pub(crate) called_from: Option<String>,
    /// What that line calls, where it is another package, and the function in it that leads there.
    pub(crate) through: Option<Through<'a>>,
}

/// A package between the program and the place.
#[derive(Clone, Debug)]
pub(crate) struct Through<'a> {
    pub(crate) package: Package<'a>,
    /// As titles name it: `stem of elasticlunr-rs 3.0.2 (en.rs:238)`.
    pub(crate) function: String,
}

/// What becomes of a rule's finding in code of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InForeignCode {
    /// The reader can do nothing about it.
    Silent,
    /// It is worth a look for another way to use the package, or an issue for its authors.
    Report,
    /// There is something to do without a change of that code.
    Advice(&'static str),
}

impl Foreign<'_> {
    /// What to do about it; `None` if nothing.
    pub(crate) fn remedy(&self, rule: InForeignCode) -> Option<String> {
        match rule {
            InForeignCode::Silent => None,
            InForeignCode::Advice(text) => Some(text.to_owned()),
            InForeignCode::Report => {
                // What has a version was chosen by those who build the program, and has authors who can be asked. A library of the
                // system or an interpreter is as it is.
                let package = self.package.filter(|package| package.version.is_some())?;
                // Who is called by the program decides what is called further in.
                let (calls, whose) = match (&self.called_from, &self.through) {
                    (Some(line), Some(Through { package, function })) => {
                        (format!(", which {function} calls for {line}"), package.name)
                    }
                    (Some(line), None) => (format!(", which {line} calls"), "it"),
                    (None, _) => (String::new(), "it"),
                };
                Some(format!(
                    "This is code of {package}{calls}. See whether {whose} has an option or another call that does without, or \
                     call it less often; else report these counts to its authors."
                ))
            }
        }
    }
}
