//! Columns: what they hold, and how Parquet has it.

use crate::id::Id;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::Type;
use std::borrow::Cow;
use std::sync::Arc;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it may have no value.
    pub is_optional: bool,
    /// What it means, with its unit.
    pub about: &'static str,
}

impl Column {
    /// One that always has a value.
    pub(crate) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, is_optional: false, about }
    }

    /// One that may have none.
    pub(crate) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, is_optional: true, about }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An [`Id`]: 32 hexadecimal digits.
    Id,
    Ids,
    /// A number of 64 bits with a sign; larger ones are the largest.
    Integer,
    Integers,
    Real,
    Text,
    Texts,
    Truth,
    /// Microseconds since 1970 in UTC.
    Time,
}

impl Kind {
    /// Its name in the documentation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Ids => "list of id",
            Self::Integer => "int64",
            Self::Integers => "list of int64",
            Self::Real => "double",
            Self::Text => "text",
            Self::Texts => "list of text",
            Self::Truth => "boolean",
            Self::Time => "timestamp",
        }
    }

    /// Whether a row has any number of values.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::Ids | Self::Integers | Self::Texts)
    }

    /// Whether values repeat, so that a dictionary makes a column smaller.
    pub(crate) fn repeats(self) -> bool {
        !matches!(self, Self::Id | Self::Integer | Self::Real | Self::Time)
    }

    fn physical(self) -> Physical {
        match self {
            Self::Integer | Self::Integers | Self::Time => Physical::INT64,
            Self::Real => Physical::DOUBLE,
            Self::Id | Self::Ids | Self::Text | Self::Texts => Physical::BYTE_ARRAY,
            Self::Truth => Physical::BOOLEAN,
        }
    }

    fn logical(self) -> Option<LogicalType> {
        match self {
            Self::Id | Self::Ids | Self::Text | Self::Texts => Some(LogicalType::String),
            Self::Time => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
            Self::Integer | Self::Integers | Self::Real | Self::Truth => None,
        }
    }
}

/// The type of a column in Parquet.
pub(crate) fn parquet_type(column: &Column) -> Result<Type> {
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let leaf = |name: &str, repetition| {
        Type::primitive_type_builder(name, column.kind.physical())
            .with_repetition(repetition)
            .with_logical_type(column.kind.logical())
            .build()
    };
    if !column.kind.is_list() {
        return leaf(column.name, repetition);
    }
    let element = Arc::new(leaf("element", Repetition::REQUIRED)?);
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![element])
        .build()?;
    Type::group_type_builder(column.name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    None,
    Id(Id),
    Ids(&'a [Id]),
    Integer(i64),
    Integers(Vec<u64>),
    Real(f64),
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
    Truth(bool),
    /// Microseconds since 1970.
    Time(i64),
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(signed(number))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(i64::from(number))
    }
}

impl From<i32> for Value<'_> {
    fn from(number: i32) -> Self {
        Self::Integer(i64::from(number))
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(is: bool) -> Self {
        Self::Truth(is)
    }
}

impl From<Id> for Value<'_> {
    fn from(id: Id) -> Self {
        Self::Id(id)
    }
}

impl From<heapwise_analysis::Bytes> for Value<'_> {
    fn from(bytes: heapwise_analysis::Bytes) -> Self {
        bytes.0.into()
    }
}

impl From<heapwise_analysis::Nanos> for Value<'_> {
    fn from(nanos: heapwise_analysis::Nanos) -> Self {
        nanos.0.into()
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl<'a> FromIterator<&'a str> for Value<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        Self::Texts(texts.into_iter().map(Cow::Borrowed).collect())
    }
}

impl FromIterator<String> for Value<'_> {
    fn from_iter<I: IntoIterator<Item = String>>(texts: I) -> Self {
        Self::Texts(texts.into_iter().map(Cow::Owned).collect())
    }
}

/// A text, or none where it is empty.
pub(crate) fn unless_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Engines know numbers with a sign best. No amount of memory or time is larger, but a damaged recording may say anything.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
