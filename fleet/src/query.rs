//! `heapwise query`: a question in SQL about recordings or tables of them.

use crate::asked::{About, Asked};
use crate::failure::Failure;
use crate::ingest::Exporter;
use crate::question::{self, Question};
use heapwise_tables::words::QueryArgs;

pub(crate) async fn query(args: &QueryArgs, exporter: &Exporter) -> Result<u8, Failure> {
    let given = &args.asking.set;
    let question = Question::new(&args.sql);
    question.check(given)?;
    if let Some(name) =
        question.parameters.iter().find(|needed| given.iter().all(|(name, _)| name != *needed))
    {
        return Err(question::is_missing(name));
    }
    let asked = Asked::open(&args.places, &args.asking, exporter).await?;
    let about = About { title: "heapwise query", question: &args.sql, sql: &args.sql };
    asked.answer(about, given, args.asking.format, false).await
}
