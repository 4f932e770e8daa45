//! Values of a question that were not given: what most would ask for.

use crate::answer::Grid;
use crate::engine::Session;
use crate::failure::{Failure, USAGE};
use crate::question::{self, Question};
use anyhow::{Result, anyhow};
use chrono::{Days, NaiveDate};
use heapwise_tables::words::RangeArgs;
use serde_json::Value;

/// The days that a question about a time is about, without others.
const DAYS: u64 = 7;

/// The values of a question.
#[derive(Debug)]
pub(crate) struct Values {
    /// All of them.
    pub(crate) all: Vec<(String, String)>,
    /// The names of those that the fleet suggested.
    pub(crate) suggested: Vec<String>,
}

/// Completes the values of a question: those that were given, those that follow from the range, and those that the fleet suggests.
///
/// # Errors
/// If a value is missing that nothing suggests, or one was given that the question does not have.
pub(crate) async fn complete(
    session: &Session,
    question: &Question,
    given: &[(String, String)],
    range: &RangeArgs,
) -> Result<Values, Failure> {
    question.check(given)?;
    let has = |name: &str| question.parameters.iter().any(|known| known == name);
    let is_given = |name: &str| given.iter().any(|(there, _)| there == name);
    let (mut values, mut suggested) = (given.to_vec(), Vec::new());
    if let ([service], true, false) = (range.service.as_slice(), has("service"), is_given("service")) {
        values.push(("service".to_owned(), service.clone()));
    }
    for name in &question.parameters {
        if values.iter().any(|(there, _)| there == name) {
            continue;
        }
        let value = match name.as_str() {
            "service" => service(session).await?,
            "new" => release(session, &values, 0).await?,
            "old" => release(session, &values, 1).await?,
            "from" | "to" => day(session, range, name == "to").await?,
            _ => None,
        };
        let value = value.ok_or_else(|| question::is_missing(name))?;
        suggested.push(name.clone());
        values.push((name.clone(), value));
    }
    Ok(Values { all: values, suggested })
}

/// The only one.
async fn service(session: &Session) -> Result<Option<String>, Failure> {
    let mut all = texts(session, "select distinct service_name from recordings order by 1", &[]).await?;
    match all.len() {
        0 => Err(anyhow!("there are no recordings").into()),
        1 => Ok(all.pop()),
        n => {
            all.truncate(10);
            let names = all.join(", ");
            let error = anyhow!("there are {n} services, such as {names}: choose one with --service");
            Err(Failure::new(USAGE, error))
        }
    }
}

/// The newest release of the service, or the one before.
async fn release(
    session: &Session,
    values: &[(String, String)],
    at: usize,
) -> Result<Option<String>, Failure> {
    let Some((_, service)) = values.iter().find(|(name, _)| name == "service") else { return Ok(None) };
    const NEWEST: &str = "select release from recordings where service_name = $service and release is not null \
        group by release order by min(started) desc, release desc limit 2";
    let parameters = [("service".to_owned(), service.clone())];
    let mut newest = texts(session, NEWEST, &parameters).await?;
    if newest.len() < 2 {
        let error = anyhow!(
            "{service} has {} with a name, and the question compares two: recordings get it with `--release`",
            if newest.is_empty() { "no release" } else { "only one release" }
        );
        return Err(Failure::new(USAGE, error));
    }
    Ok(Some(newest.swap_remove(at)))
}

/// A bound of the days that the range has, or of the last week with recordings. The second bound is no part of it.
async fn day(session: &Session, range: &RangeArgs, is_end: bool) -> Result<Option<String>, Failure> {
    let parse = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let behind = |day: NaiveDate| day.checked_add_days(Days::new(1));
    let end = match range.until.as_deref() {
        Some(until) => parse(until).and_then(behind),
        None => {
            let last =
                texts(session, "select cast(cast(max(started) as date) as varchar) from recordings", &[])
                    .await?;
            last.first().and_then(|last| parse(last)).and_then(behind)
        }
    };
    let Some(end) = end else { return Err(anyhow!("there are no recordings").into()) };
    let begin = match range.since.as_deref() {
        Some(since) => parse(since),
        None => end.checked_sub_days(Days::new(DAYS)),
    };
    Ok(if is_end { Some(end) } else { begin }.map(|day| day.to_string()))
}

/// The texts of the first column of an answer.
async fn texts(session: &Session, sql: &str, parameters: &[(String, String)]) -> Result<Vec<String>> {
    let answer = session.ask(sql, parameters).await?;
    let rows = Grid::new(&answer.schema, &answer.batches)?.rows;
    let first = |row: Vec<Value>| row.into_iter().next()?.as_str().map(str::to_owned);
    Ok(rows.into_iter().filter_map(first).collect())
}
