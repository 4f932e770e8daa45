//! `escaped-values`: serde was allowed to borrow, and had to copy, since the text has escapes in it.
//!
//! Seen is the visitor that serde uses for `#[serde(borrow)]` fields, and that it was given text that is not the document's.

use super::{Occurrence, Rule, without_texts};
use crate::finding::Certainty;
use crate::purpose::Purpose;
use crate::rule_input::RuleInput;
use crate::units::{bytes, count};

pub(crate) struct EscapedValues;

impl Rule for EscapedValues {
    fn id(&self) -> &'static str {
        "escaped-values"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let part = place.part(&[Purpose::DeserializedEscapes]).filter(|part| {
                // A value with escapes now and then is what `Cow` is for.
                part.allocations >= 100 && part.allocations * 20 >= input.requests()
            })?;
            Some(Occurrence {
                certainty: Certainty::Certain,
                title: format!("{} copies {} values because they have escapes", place.label(), count(part.allocations)),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!("{} strings, of {} on average", count(part.allocations), bytes(part.average())),
                    "the field may borrow, and only text without escapes can be borrowed".into(),
                ],
                estimate: without_texts(&part),
                remedy: "Keep the value as it is in the document and unescape it where it is used, into one buffer: \
                    `contents: &'a RawValue` (serde_json's feature `raw_value`)."
                    .into(),
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Program, SERDE_ESCAPES, SERDE_STRING, user};

    #[test]
    fn values_that_could_not_be_borrowed_are_reported() {
        let mut p = Program::default();
        let escapes = p.stack(&user(SERDE_ESCAPES, "deserialize|/u/src/a.rs|7"));
        let strings = p.stack(&user(SERDE_STRING, "visit_map|/u/src/a.rs|17"));
        (0..300).for_each(|_| {
            p.alloc(escapes, 40);
            p.alloc(strings, 40);
        });
        let found = p.only("escaped-values");
        assert_eq!(found.title, "the type at a.rs:7 copies 300 values because they have escapes");
        assert!(found.remedy.contains("&'a RawValue"));
    }
}
