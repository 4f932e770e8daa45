//! Folded stacks: a line per call site, `main;parse;malloc 4096`, the outermost function first.
//!
//! The input of flamegraph.pl, inferno and speedscope. It has functions and one number, and nothing else. A site is one of the
//! report's: calls on the same line are one, and one line here is one entry of `sites` there.

use crate::export::format::{Format, Options};
use crate::export::stacks::{MANY, Merged, Step, shorten};
use crate::export::text;
use heapwise_analysis::{Analysis, Frame, Measure, Numbers};
use std::borrow::Cow;
use std::io::{self, Write};

/// The format.
#[derive(Debug)]
pub(crate) struct Folded;

impl Format for Folded {
    fn name(&self) -> &'static str {
        "folded"
    }

    fn about(&self) -> &'static str {
        "folded stacks with one number each: flamegraph.pl, inferno, speedscope"
    }

    fn has_one_measure(&self) -> bool {
        true
    }

    fn write(&self, analysis: &Analysis, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let measure = options.measure.unwrap_or(Measure::AllocatedBytes);
        let mut merged = Merged::new();
        for site in analysis.sites() {
            let numbers = Numbers::from(site);
            // Readers add up; a line of zero would only add length.
            if measure.of(&numbers) == 0 {
                continue;
            }
            let frames = analysis.stack(site);
            let (steps, omitted) = shorten(&frames, site.cut, MANY);
            let steps: Vec<Step<String>> = steps.into_iter().map(|step| step.map(name)).collect();
            match omitted {
                false => line(&steps, measure.of(&numbers), out)?,
                true => merged.add(steps, numbers),
            }
        }
        merged.into_list().iter().try_for_each(|(steps, numbers)| line(steps, measure.of(numbers), out))
    }
}

/// The frame's function without the character that separates frames; Rust writes it in types, such as `[u8; 4]`.
fn name(frame: &Frame<'_>) -> String {
    match text::function(frame) {
        Cow::Borrowed(plain) if !plain.contains(';') => plain.to_owned(),
        other => other.replace(';', ","),
    }
}

fn line(steps: &[Step<String>], number: u64, out: &mut dyn Write) -> io::Result<()> {
    for (at, step) in steps.iter().rev().enumerate() {
        let separator = if at == 0 { "" } else { ";" };
        let name = match step {
            Step::Frame(name) => name,
            mark => mark.mark().unwrap_or_default(),
        };
        write!(out, "{separator}{name}")?;
    }
    // Only a whole stack of a thread without frames can be empty, and readers would skip a line without a stack.
    if steps.is_empty() {
        write!(out, "[no stack]")?;
    }
    writeln!(out, " {number}")
}
