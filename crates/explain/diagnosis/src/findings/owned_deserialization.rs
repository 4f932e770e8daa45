//! `owned-deserialization`: serde makes a `String` of each value, although the text that it is in stays in memory.
//!
//! Whether the text does stay is not seen. That the strings are many and made by a visitor of owned strings is.

use super::{Occurrence, Rule, without_texts};
use crate::finding::Certainty;
use crate::purpose::Purpose;
use crate::rule_input::RuleInput;
use crate::units::{bytes, count};

pub(crate) struct OwnedDeserialization;

impl Rule for OwnedDeserialization {
    fn id(&self) -> &'static str {
        "owned-deserialization"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let part = place.part(&[Purpose::DeserializedString])?;
            if part.allocations < 100 {
                return None;
            }
            let cows = place.part_where(|seen| seen.call.owned_cow).map_or(0, |p| p.allocations);
            let escapes = place.has(Purpose::DeserializerScratch);
            let mut evidence =
                vec![format!("{} strings were made here, of {} on average", count(part.allocations), bytes(part.average()))];
            let mut remedy = String::new();
            if cows * 2 > part.allocations {
                evidence.push("they are `Cow`s, and serde makes a `Cow` that is not itself a field an owned one".into());
                remedy.push_str(
                    "Lists of `Cow` need `serde_with`: `#[serde_as(as = \"Vec<BorrowCow>\")] keywords: Vec<Cow<'a, str>>`.",
                );
            } else {
                remedy.push_str(
                    "If the text outlives the values, borrow from it: `#[serde(borrow)] name: Cow<'a, str>` in place of \
                     `name: String`.",
                );
            }
            if escapes {
                evidence.push("some of the text had escapes, which the parser had to replace in a buffer".into());
                remedy.push_str(
                    " A value with escapes cannot be borrowed: take it as `&'a RawValue` and unescape it where it is used.",
                );
            }
            Some(Occurrence {
                certainty: if cows * 2 > part.allocations { Certainty::Certain } else { Certainty::Likely },
                title: format!("{} deserializes {} strings as owned values", place.label(), count(part.allocations)),
                place: Some(place),
                sites: part.ids(),
                evidence,
                estimate: without_texts(&part),
                remedy,
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Program, SERDE_STRING, user};

    #[test]
    fn strings_that_serde_makes_are_reported() {
        let mut p = Program::default();
        let line = "visit_map<serde_json::de::MapAccess>|/u/src/a.rs|7";
        let strings = p.stack(&user(SERDE_STRING, line));
        let scratch = [
            "grow_one|/rustc/1/library/alloc/src/raw_vec/mod.rs|1",
            "parse_str_bytes|/r/registry/src/i/serde_json-1/src/read.rs|554",
        ];
        (0..300).for_each(|_| _ = p.alloc(strings, 40));
        assert!(!p.only("owned-deserialization").remedy.contains("RawValue"));
        let scratch = p.stack(&user(&scratch, line));
        p.alloc(scratch, 64);
        let found = p.only("owned-deserialization");
        assert_eq!(found.title, "the type at a.rs:7 deserializes 300 strings as owned values");
        assert!(
            found.remedy.contains("#[serde(borrow)]") && found.remedy.contains("RawValue"),
            "{}",
            found.remedy
        );
    }
}
