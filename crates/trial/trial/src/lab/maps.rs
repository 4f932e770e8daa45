//! The last step of the article about memory allocation: another hash function.

use super::by_allocator::{ByAllocator, Claim, DEFAULTS, Judgement, Rows, Shown, Unit, Variant, time_of};
use heapwise_analysis::units::signed_percent;

const SIP: usize = 0;
const FOLD: usize = 1;
const KEYS: u64 = 500_000;

pub(super) const MAPS: ByAllocator = ByAllocator {
    name: "maps",
    about: "the standard hash function, foldhash and FxHash",
    shows: "The map of the standard library has a hash function that withstands an attacker who chooses the keys. Where keys are \
            not chosen by others, another one costs a part of the time, and allocates as much as before.",
    variants: &[
        Variant {
            name: "SipHash",
            about: "the standard library's",
            workload: "maps",
            numbers: |sizes| vec![sizes.of(KEYS), 0],
        },
        Variant {
            name: "foldhash",
            about: "what hashbrown's map has by itself",
            workload: "maps",
            numbers: |sizes| vec![sizes.of(KEYS), 1],
        },
        Variant {
            name: "FxHash",
            about: "what the compiler has for its own maps",
            workload: "maps",
            numbers: |sizes| vec![sizes.of(KEYS), 2],
        },
    ],
    rows: Rows::Variants,
    columns: &[
        Shown::new("texts_ns", "keys of text", Unit::Time, |answer| time_of(answer, "texts")),
        Shown::new("numbers_ns", "numbers as keys", Unit::Time, |answer| time_of(answer, "numbers")),
    ],
    claims: &[
        Claim {
            what: "a map with foldhash takes less time",
            article: "1.20 → 1.13 s of a whole program, -6 %",
            here: |found| {
                let (sip, fold) =
                    (found.median(SIP, "default", "texts_ns")?, found.median(FOLD, "default", "texts_ns")?);
                let change = fold / sip - 1.0;
                Some(Judgement::of(
                    change < -0.05,
                    format!("{} of the map alone", signed_percent(change, 0)),
                    "",
                ))
            },
        },
        Claim {
            what: "with numbers as keys it gains more than with texts",
            article: "",
            here: |found| {
                let ratio = |column| {
                    Some(found.median(FOLD, "default", column)? / found.median(SIP, "default", column)?)
                };
                let (texts, numbers): (f64, f64) = (ratio("texts_ns")?, ratio("numbers_ns")?);
                let figures =
                    format!("{} and {}", signed_percent(numbers - 1.0, 0), signed_percent(texts - 1.0, 0));
                Some(Judgement::of(numbers < texts, figures, "texts are also read and compared"))
            },
        },
    ],
    ..DEFAULTS
};
