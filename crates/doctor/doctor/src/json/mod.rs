//! JSON with comments and trailing commas, as editors write and accept it: where things are in it.

mod insert;

pub(crate) use insert::{Container, New, insert};

use crate::source::{Refused, Source};
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::ops::Range;

/// What editors accept in these files: comments and commas behind the last item. An editor reads more than that by guessing,
/// and a file that needs guessing is not ours to change.
const ACCEPTED: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a file. There is nothing in it if it has comments at most.
pub(crate) fn parse(source: &Source) -> Result<Option<Value<'_>>, Refused> {
    match parse_to_ast(source.text(), &CollectOptions::default(), &ACCEPTED) {
        Ok(result) => Ok(result.value),
        Err(error) => {
            let why = format!("is not JSON with comments: {}", error.kind());
            Err(Refused::at(source, error.range().start, why))
        }
    }
}

/// The member of an object with this name; the last of several, as editors do.
pub(crate) fn member<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v ObjectProp<'a>> {
    object.properties.iter().rev().find(|p| p.name.as_str() == name)
}

/// The value of a member.
pub(crate) fn get<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v Value<'a>> {
    member(object, name).map(|p| &p.value)
}

/// The value of a member if it is an object.
pub(crate) fn object<'v, 'a>(parent: &'v Object<'a>, name: &str) -> Option<&'v Object<'a>> {
    get(parent, name).and_then(Value::as_object)
}

/// The value of a member if it is an array.
pub(crate) fn array<'v, 'a>(parent: &'v Object<'a>, name: &str) -> Option<&'v Array<'a>> {
    get(parent, name).and_then(Value::as_array)
}

/// The value of a member if it is a string.
pub(crate) fn string<'v>(parent: &'v Object<'_>, name: &str) -> Option<&'v str> {
    get(parent, name).and_then(as_str)
}

/// The text of a string.
pub(crate) fn as_str<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|s| &*s.value)
}

/// The strings of an array, or of one string.
pub(crate) fn strings<'v>(value: Option<&'v Value<'_>>) -> Vec<&'v str> {
    match value {
        Some(Value::Array(array)) => array.elements.iter().filter_map(as_str).collect(),
        Some(value) => as_str(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Where something is in the text.
pub(crate) fn range(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}
