//! The list of allocators, and the results of checking candidates, for machines.

use crate::schema::allocators::{
    self as schema, Checks, Failure, Identity, List, Range, SCHEMA, Setting, SettingKind,
};
use crate::schema::pretty;
use heapwise_allocators::{self as allocators, Allocator, Check, Kind, Libraries, Origin};

pub fn list_json(libraries: &Libraries) -> String {
    let allocators = allocators::all().iter().map(|one| allocator(*one, libraries)).collect();
    pretty(&List { allocators, schema: SCHEMA.to_owned() })
}

fn allocator(allocator: &'static dyn Allocator, libraries: &Libraries) -> schema::Allocator {
    let is_there = libraries.has(allocator);
    let (source, is_bundled) = match allocator.origin() {
        Origin::Bundled { source, .. } => (source, true),
        Origin::OnRequest { source, .. } => (source, is_there),
        Origin::CLibrary => ("the C library", true),
        _ => ("installed", false),
    };
    schema::Allocator {
        is_bundled,
        is_there,
        name: allocator.name().to_owned(),
        settings: allocator.settings().iter().map(setting).collect(),
        source: source.to_owned(),
        version: allocator.version(),
    }
}

fn setting(setting: &allocators::Setting) -> Setting {
    let (kind, range) = match setting.kind {
        Kind::Number { least, most, unit } => {
            let (least, most, unit) = (Some(least), Some(most), Some(unit.suffix().to_owned()));
            (SettingKind::Number, Range { least, most, unit, words: None })
        }
        Kind::Choice(words) => (SettingKind::Choice, Range { words: Some(owned(words)), ..Range::default() }),
        _ => (SettingKind::Switch, Range::default()),
    };
    Setting {
        default: setting.default.to_owned(),
        is_time: setting.is_time(),
        kind,
        meaning: setting.meaning.to_owned(),
        name: setting.name.to_owned(),
        range,
        worth_trying: owned(setting.worth_trying),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

pub fn check_json(checks: &[Check]) -> String {
    let one = |(candidate, result): &Check| match result {
        Ok(identity) => schema::Check::Identity(Identity {
            candidate: candidate.to_string(),
            error: (),
            name: identity.name.clone(),
            object: identity.object.clone(),
            rss_bytes: identity.rss_bytes,
            settings: identity.settings.clone(),
            usable_of_100: identity.usable_of_100,
            version: identity.version.clone(),
        }),
        Err(error) => {
            schema::Check::Failure(Failure { candidate: candidate.to_string(), error: error.to_string() })
        }
    };
    pretty(&Checks { checks: checks.iter().map(one).collect(), schema: SCHEMA.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_allocators::Candidate;
    use serde_json::{Value, json};

    #[test]
    fn the_list_names_all_and_says_what_is_not_there() {
        let list: Value =
            serde_json::from_str(&list_json(&Libraries::new(&[("jemalloc", b"bytes")]))).expect("JSON");
        assert_eq!(list["schema"], SCHEMA);
        let all = list["allocators"].as_array().expect("a list");
        assert_eq!(all.len(), allocators::all().len());
        let jemalloc = all.iter().find(|a| a["name"] == "jemalloc").expect("it is there");
        assert_eq!(jemalloc["is_there"], true);
        let google = all.iter().find(|a| a["name"] == "tcmalloc-google").expect("it is listed");
        assert_eq!((&google["is_there"], &google["is_bundled"]), (&json!(false), &json!(false)));
        assert_eq!(jemalloc["settings"][1]["range"]["most"], 86_400_000);
    }

    #[test]
    fn one_that_fails_is_reported_beside_the_others() {
        let candidates = Candidate::parse_list("mimalloc,/none/such.so").expect("a list");
        let checks = allocators::check(&Libraries::new(&[]), &candidates, &|_, _| {
            unreachable!("nothing can be made ready")
        });
        assert_eq!(checks.len(), 2);
        let json: Value = serde_json::from_str(&check_json(&checks)).expect("JSON");
        assert!(json["checks"][0]["error"].as_str().expect("an error").contains("built without mimalloc"));
        assert!(json["checks"][1]["error"].as_str().expect("an error").contains("cannot read"));
    }
}
