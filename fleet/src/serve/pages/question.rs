//! One of the usual questions.

use super::{Made, Problem, table, trail};
use crate::answer::{self, About, Grid};
use crate::ask::{self, QUESTIONS};
use crate::failure::{Failure, USAGE};
use crate::question::Question;
use crate::serve::look::Look;
use crate::store::is_date;
use heapwise_report::document::{Block, Document, Link, Mark, Section, Words};

pub(super) async fn page(look: &Look<'_>) -> Made {
    let asked = look.parameter("question");
    let Some((name, sql)) = QUESTIONS.iter().find(|(name, _)| *name == asked) else {
        return Err(Problem::Nothing(format!("There is no question {asked}.")));
    };
    let question = Question::new(sql);
    let given: Vec<(String, String)> =
        look.parameters().iter().filter(|(name, _)| question.parameters.contains(name)).cloned().collect();
    let is_day = |name: &str| ["from", "to"].contains(&name);
    if let Some((name, value)) = given.iter().find(|(name, value)| is_day(name) && !is_date(value)) {
        return Err(Problem::Nothing(format!("{name}={value}: a day is YYYY-MM-DD, such as 2026-11-26.")));
    }
    let values = match ask::complete(look.session, &question, &given, look.range).await {
        Ok(values) => values,
        // A value is missing that the fleet does not suggest: which service is meant, most of the time.
        Err(failure) if failure.code == USAGE && look.parameter("service").is_empty() => {
            return choice(look, name, &question, &failure).await;
        }
        Err(failure) if failure.code == USAGE => return Err(Problem::Nothing(failure.error.to_string())),
        Err(failure) => return Err(Problem::Failed(failure.error)),
    };
    let answer = look.session.ask(sql, &values.all).await?;
    let grid = Grid::new(&answer.schema, &answer.batches)?;
    let title = format!("heapwise fleet ask {name}");
    let about = About { title: &title, question: &question.about(), sql };
    let mut document = answer::document(about, &grid, &answer.left);
    let shown = values
        .all
        .iter()
        .map(|(name, value)| Words::own(format!("{name}: ")).then(Words::name(value.as_str())));
    document.sections.insert(0, trail(shown));
    Ok(document)
}

/// The services that it can be asked of. If there is one only, something else is missing.
async fn choice(look: &Look<'_>, name: &str, question: &Question, failure: &Failure) -> Made {
    const SERVICES: &str = "select service_name, count(*) as recordings, count(distinct release) as releases from recordings \
        group by service_name order by service_name limit 1000";
    let services = look.rows(SERVICES, &[]).await?;
    if services.iter().len() == 1 {
        return Err(Problem::Nothing(failure.error.to_string()));
    }
    let columns = [("service", "service_name"), ("recordings", "recordings"), ("releases", "releases")];
    let link = |service: &str| Some(Link::new(&["ask", name], [("service", service)]));
    let lead = Block::line(Mark::Plain, Words::own("Which service is meant?"));
    let sections = vec![
        trail([]),
        Section::untitled([lead, table(&services, &columns, |row| link(row.text("service_name")))]),
    ];
    let aside = question.about();
    Ok(Document { title: Words::own(format!("heapwise fleet ask {name}")), aside, sections })
}
