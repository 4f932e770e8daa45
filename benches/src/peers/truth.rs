//! Programs of which every call and every frame is known, and whether a tool reports just that.

use serde::Serialize;
use std::fmt;

/// A stack that a tool reports, innermost frame first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    pub(super) calls: f64,
    pub(super) frames: Vec<String>,
}

/// The function that allocates, in `workloads/known.rs` and `workloads/known.py`.
const LEAF: &str = "known_leaf";
const STEPS: u32 = 20;
/// Functions between the leaf and the last step that the compiler inlines.
const INLINED: [&str; 2] = ["known_inlined_b", "known_inlined_a"];

/// The names of the functions that call each other, innermost first. Each occurs nowhere else.
fn chain(has_inlined: bool) -> Vec<String> {
    let mut names = vec![LEAF.to_owned()];
    if has_inlined {
        names.extend(INLINED.map(str::to_owned));
    }
    names.extend((1..=STEPS).rev().map(|step| format!("known_step_{step:02}")));
    names.push("known_main".to_owned());
    names
}

/// What a tool reports of the leaf.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Verdict {
    /// Calls of the leaf by the tool's count; none if it does not name the leaf.
    pub(super) counted: Option<f64>,
    pub(super) stack: StackVerdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) enum StackVerdict {
    Right,
    /// It ends too early.
    First {
        shown: usize,
        of: usize,
    },
    WithoutInlined,
    /// None of the functions is in the result.
    NotShown,
    /// The first frame that differs.
    Wrong {
        at: usize,
        expected: String,
        found: String,
    },
}

impl fmt::Display for StackVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::First { shown, of } => write!(f, "the first {shown} of {of} functions"),
            Self::WithoutInlined => f.write_str("without inlined functions"),
            Self::NotShown => f.write_str("not shown"),
            Self::Wrong { at, expected, found } => {
                write!(f, "wrong: `{found}` for `{expected}`, number {at}")
            }
        }
    }
}

/// Judges what a tool reports of a known program.
pub(super) fn judge(stacks: &[Stack], has_inlined: bool) -> Verdict {
    let expected = chain(has_inlined);
    let ours: Vec<(f64, Vec<&str>)> = stacks
        .iter()
        .map(|stack| {
            let names = stack.frames.iter().filter_map(|frame| named(frame, &expected));
            (stack.calls, names.collect::<Vec<_>>())
        })
        .filter(|(_, names)| names.first().is_some_and(|name| *name == LEAF))
        .collect();
    // Nearly all calls have one stack; what is left is that of a first call, in which a function is resolved, say.
    let Some((_, most)) = ours.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Verdict { counted: None, stack: StackVerdict::NotShown };
    };
    let counted = ours.iter().map(|(calls, _)| calls).sum();
    Verdict { counted: Some(counted), stack: compared(most, &expected) }
}

fn compared(found: &[&str], expected: &[String]) -> StackVerdict {
    let agree = found.iter().zip(expected).take_while(|(a, b)| *a == b).count();
    if agree == expected.len() && agree == found.len() {
        return StackVerdict::Right;
    }
    if agree == found.len() {
        return StackVerdict::First { shown: agree, of: expected.len() };
    }
    let without = expected.iter().filter(|name| !INLINED.contains(&name.as_str()));
    if found.iter().eq(without) {
        return StackVerdict::WithoutInlined;
    }
    StackVerdict::Wrong {
        at: agree + 1,
        expected: expected.get(agree).cloned().unwrap_or_else(|| "nothing".into()),
        found: found[agree].to_owned(),
    }
}

/// The function of a frame, if it is one of these: its name as a whole word.
fn named<'a>(frame: &str, names: &'a [String]) -> Option<&'a str> {
    let mut words = frame.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.find_map(|word| names.iter().find(|name| *name == word)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(calls: f64, frames: &[String]) -> Stack {
        let all = ["malloc".to_owned()].into_iter().chain(frames.iter().map(|name| format!("known::{name}")));
        Stack { calls, frames: all.chain(["std::rt::lang_start".into(), "main".into()]).collect() }
    }

    #[test]
    fn a_whole_stack_is_right_and_its_calls_are_counted() {
        let full = chain(true);
        let others = Stack { calls: 7.0, frames: vec!["malloc".into(), "known_step_03".into()] };
        let verdict = judge(&[others, stack(990.0, &full), stack(10.0, &full)], true);
        assert_eq!(verdict, Verdict { counted: Some(1000.0), stack: StackVerdict::Right });
    }

    #[test]
    fn what_is_missing_is_said() {
        let full = chain(true);
        let short = judge(&[stack(1.0, &full[..9])], true).stack;
        assert_eq!(short, StackVerdict::First { shown: 9, of: 24 });
        let plain = judge(&[stack(1.0, &chain(false))], true).stack;
        assert_eq!(plain, StackVerdict::WithoutInlined);
        let mut gap = full.clone();
        gap.remove(7);
        let wrong = judge(&[stack(1.0, &gap)], true).stack.to_string();
        assert_eq!(wrong, "wrong: `known_step_15` for `known_step_16`, number 8");
        let mangled = Stack { calls: 5.0, frames: vec!["_ZN5known10known_leaf17h0E".into()] };
        assert_eq!(judge(&[mangled], true), Verdict { counted: None, stack: StackVerdict::NotShown });
    }
}
