//! Rows of a table, column by column, and their file.

use crate::column::{Column, Kind, Value, parquet_type, signed};
use crate::id::Id;
use crate::text::harmless;
use crate::{VERSION, VERSION_KEY};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// Level 3 is what zstd itself takes. Tables are written once and read often.
const ZSTD_LEVEL: i32 = 3;

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The table's name.
    table: &'static str,
    cells: Vec<Cells>,
    len: usize,
}

/// The values of one column, in Parquet's form: those that are there, and for each place whether there is one (its *definition*), and
/// whether it goes on with a list (its *repetition*).
#[derive(Debug)]
struct Cells {
    column: Column,
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
    Truths(Vec<bool>),
}

impl Rows {
    pub(crate) fn new(table: &'static str, columns: &[Column]) -> Self {
        Self { table, cells: columns.iter().map(Cells::new).collect(), len: 0 }
    }

    /// Adds a row: a value for each column, in their order.
    ///
    /// # Panics
    /// If there are fewer or more, or one of another kind: a mistake in the table's own file, which its test finds.
    pub(crate) fn add<const N: usize>(&mut self, row: [Value<'_>; N]) {
        assert_eq!(N, self.cells.len(), "a row of {}", self.table);
        self.cells.iter_mut().zip(row).for_each(|(cells, value)| cells.add(value));
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A whole file.
    pub(crate) fn into_parquet(self) -> io::Result<Vec<u8>> {
        self.write().map_err(io::Error::other)
    }

    fn write(self) -> Result<Vec<u8>> {
        let columns: Vec<Column> = self.cells.iter().map(|cells| cells.column).collect();
        let schema = Arc::new(schema(self.table, &columns)?);
        let mut file =
            SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties(&columns)?.build()))?;
        let mut group = file.next_row_group()?;
        for cells in &self.cells {
            if let Some(mut column) = group.next_column()? {
                cells.write(&mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        file.into_inner()
    }
}

impl Cells {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::Integer | Kind::Integers | Kind::Time => Values::Integers(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
            Kind::Id | Kind::Ids | Kind::Text | Kind::Texts => Values::Texts(Vec::new()),
            Kind::Truth => Values::Truths(Vec::new()),
        };
        Self { column: *column, values, definitions: Vec::new(), repetitions: Vec::new() }
    }

    fn add(&mut self, value: Value<'_>) {
        let (kind, is_optional) = (self.column.kind, self.column.is_optional);
        let text = |text: &str| ByteArray::from(harmless(text).into_owned().into_bytes());
        let digits = |id: &Id| ByteArray::from(id.to_string().into_bytes());
        let n = match (&mut self.values, value, kind) {
            (_, Value::None, _) if is_optional => 0,
            (Values::Texts(all), Value::Id(id), Kind::Id) => push(all, digits(&id)),
            (Values::Texts(all), Value::Ids(list), Kind::Ids) => extend(all, list.iter().map(digits)),
            (Values::Integers(all), Value::Integer(number), Kind::Integer)
            | (Values::Integers(all), Value::Time(number), Kind::Time) => push(all, number),
            (Values::Integers(all), Value::Integers(list), Kind::Integers) => {
                extend(all, list.into_iter().map(signed))
            }
            (Values::Reals(all), Value::Real(number), Kind::Real) => push(all, number),
            (Values::Texts(all), Value::Text(one), Kind::Text) => push(all, text(&one)),
            (Values::Texts(all), Value::Texts(list), Kind::Texts) => {
                extend(all, list.iter().map(|one| text(one)))
            }
            (Values::Truths(all), Value::Truth(is), Kind::Truth) => push(all, is),
            (_, value, _) => panic!("{value:?} in the column {}", self.column.name),
        };
        if kind.is_list() {
            // An empty list is a place without a value.
            self.definitions.extend((0..n.max(1)).map(|_| i16::from(n > 0)));
            self.repetitions.extend((0..n.max(1)).map(|at| i16::from(at > 0)));
        } else if is_optional {
            self.definitions.push(i16::from(n > 0));
        }
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let definitions = (!self.definitions.is_empty()).then_some(self.definitions.as_slice());
        let repetitions = (!self.repetitions.is_empty()).then_some(self.repetitions.as_slice());
        match &self.values {
            Values::Integers(all) => column.typed::<Int64Type>().write_batch(all, definitions, repetitions),
            Values::Reals(all) => column.typed::<DoubleType>().write_batch(all, definitions, repetitions),
            Values::Texts(all) => column.typed::<ByteArrayType>().write_batch(all, definitions, repetitions),
            Values::Truths(all) => column.typed::<BoolType>().write_batch(all, definitions, repetitions),
        }?;
        Ok(())
    }
}

/// Adds a value, and says how many there are of this row.
fn push<T>(all: &mut Vec<T>, value: T) -> usize {
    all.push(value);
    1
}

/// Adds the values of a list, and says how many there are of this row.
fn extend<T>(all: &mut Vec<T>, values: impl Iterator<Item = T>) -> usize {
    let before = all.len();
    all.extend(values);
    all.len() - before
}

pub(crate) fn schema(table: &str, columns: &[Column]) -> Result<Type> {
    let fields: Result<Vec<_>> = columns.iter().map(|c| parquet_type(c).map(Arc::new)).collect();
    Type::group_type_builder(table).with_fields(fields?).build()
}

pub(crate) fn properties(columns: &[Column]) -> Result<WriterPropertiesBuilder> {
    let version = KeyValue::new(VERSION_KEY.to_owned(), VERSION.to_string());
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("heapwise {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![version]))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?));
    for column in columns.iter().filter(|column| !column.kind.repeats()) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name), false);
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};
    use proptest::prelude::*;

    const COLUMNS: &[Column] = &[
        Column::new("id", Kind::Id, ""),
        Column::optional("id_or_none", Kind::Id, ""),
        Column::new("ids", Kind::Ids, ""),
        Column::optional("integer", Kind::Integer, ""),
        Column::new("integers", Kind::Integers, ""),
        Column::optional("real", Kind::Real, ""),
        Column::optional("text", Kind::Text, ""),
        Column::new("texts", Kind::Texts, ""),
        Column::optional("truth", Kind::Truth, ""),
        Column::new("time", Kind::Time, ""),
    ];

    type Tuple = (Option<u64>, Vec<u64>, Option<u32>, Option<String>, Vec<String>, Option<bool>);

    fn id(number: u64) -> Id {
        Id::of(&[&number.to_le_bytes()])
    }

    fn read(bytes: Vec<u8>) -> Vec<Row> {
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
        file.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
    }

    fn read_as(text: &str) -> Field {
        Field::Str(harmless(text).into_owned())
    }

    fn hex(id: Id) -> Field {
        Field::Str(id.to_string())
    }

    fn elements(field: &Field) -> Vec<Field> {
        match field {
            Field::ListInternal(list) => list.elements().to_vec(),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        // Each is a whole file, which takes a while in a build that is not optimised.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn what_is_read_is_what_was_added(
            added in proptest::collection::vec(any::<Tuple>(), 0..40)
        ) {
            let mut rows = Rows::new("all_kinds", COLUMNS);
            for (number, numbers, small, text, texts, truth) in &added {
                let ids: Vec<Id> = numbers.iter().map(|&n| id(n)).collect();
                rows.add([
                    id(1).into(),
                    number.map(id).into(),
                    Value::Ids(&ids),
                    (*number).into(),
                    Value::Integers(numbers.clone()),
                    small.map(f64::from).into(),
                    text.as_deref().into(),
                    texts.iter().map(String::as_str).collect(),
                    (*truth).into(),
                    Value::Time(7),
                ]);
            }
            prop_assert_eq!(rows.len(), added.len());
            let read = read(rows.into_parquet().expect("memory"));
            prop_assert_eq!(read.len(), added.len());
            for (row, (number, numbers, small, text, texts, truth)) in read.iter().zip(&added) {
                let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
                let or_null = |field: Option<Field>| field.unwrap_or(Field::Null);
                prop_assert_eq!(fields[0].clone(), hex(id(1)));
                prop_assert_eq!(fields[1].clone(), or_null(number.map(|n| hex(id(n)))));
                prop_assert_eq!(elements(fields[2]), numbers.iter().map(|&n| hex(id(n))).collect::<Vec<_>>());
                prop_assert_eq!(fields[3].clone(), or_null(number.map(|n| Field::Long(signed(n)))));
                let longs: Vec<_> = numbers.iter().map(|&n| Field::Long(signed(n))).collect();
                prop_assert_eq!(elements(fields[4]), longs);
                prop_assert_eq!(fields[5].clone(), or_null(small.map(|n| Field::Double(f64::from(n)))));
                prop_assert_eq!(fields[6].clone(), or_null(text.as_deref().map(read_as)));
                prop_assert_eq!(elements(fields[7]), texts.iter().map(|text| read_as(text)).collect::<Vec<_>>());
                prop_assert_eq!(fields[8].clone(), or_null(truth.map(Field::Bool)));
                prop_assert_eq!(fields[9].clone(), Field::TimestampMicros(7));
            }
        }
    }

    #[test]
    #[should_panic(expected = "a row of all_kinds")]
    fn a_row_has_a_value_for_each_column() {
        Rows::new("all_kinds", COLUMNS).add([Value::None]);
    }
}
