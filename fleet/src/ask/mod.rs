//! `heapwise fleet ask`: the usual questions, and those of a user's file.

mod defaults;
mod questions;

use crate::asked::{About, Asked};
use crate::failure::{Failure, USAGE};
use crate::question::Question;
pub(crate) use defaults::complete;
use heapwise_report::escape::terminal;
use heapwise_report::note;
use heapwise_tables::words::AskArgs;
pub(crate) use questions::QUESTIONS;
use std::path::Path;

/// Of more bytes no question is.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) async fn ask(args: &AskArgs, exporter: &crate::ingest::Exporter) -> Result<u8, Failure> {
    let Some(name) = args.question.as_deref() else {
        terminal::print(&list(), false)?;
        return Ok(0);
    };
    let question = find(name)?;
    if args.sql {
        terminal::put_out(question.sql.as_bytes())?;
        return Ok(0);
    }
    if args.places.is_empty() {
        let error = anyhow::anyhow!("{name} is asked of a fleet: heapwise fleet ask {name} FLEET");
        return Err(Failure::new(USAGE, error));
    }
    let asked = Asked::open(&args.places, &args.asking, exporter).await?;
    let values = complete(asked.session(), &question, &args.asking.set, &args.asking.range).await?;
    for (name, value) in values.all.iter().filter(|(name, _)| values.suggested.contains(name)) {
        note!("heapwise: {name}={value}, since --set {name}=VALUE is not given");
    }
    let (title, about) = (format!("heapwise fleet ask {name}"), question.about());
    let about = About { title: &title, question: &about, sql: &question.sql };
    asked.answer(about, &values.all, args.asking.format, true).await
}

/// All questions, a line each.
fn list() -> String {
    let width = QUESTIONS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, sql): &(&str, &str)| format!("{name:width$}  {}\n", Question::new(sql).about());
    QUESTIONS.iter().map(line).collect()
}

fn find(name: &str) -> Result<Question, Failure> {
    if let Some((_, sql)) = QUESTIONS.iter().find(|(known, _)| *known == name) {
        return Ok(Question::new(sql));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "sql") {
        let names: Vec<&str> = QUESTIONS.iter().map(|(name, _)| *name).collect();
        let error = anyhow::anyhow!(
            "there is no question {name}; there are {}, and files that end in .sql",
            names.join(", ")
        );
        return Err(Failure::new(USAGE, error));
    }
    let read = || -> std::io::Result<String> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return Err(std::io::Error::other("it is no file with a question"));
        }
        std::fs::read_to_string(path)
    };
    let sql = read().map_err(|error| anyhow::anyhow!("cannot read {name}: {error}"))?;
    Ok(Question::new(&sql))
}
