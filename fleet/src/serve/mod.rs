//! `heapwise fleet serve`: fleets for a browser.
//!
//! Pages are made here and have no script: [`pages`] has one file for each, [`look`] asks for what is on them, and [`guard`] decides who is
//! answered. Each page is a document as all of heapwise's are, so that nothing of a recording can become markup.

mod guard;
mod look;
mod pages;

use crate::engine::Session;
use crate::failure::Failure;
use crate::given;
use crate::listening;
use crate::store::Place;
use anyhow::Context;
use axum::Router;
use axum::extract::{Query, RawPathParams, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use guard::Guard;
use heapwise_report::document::{self, Block, Document, Link, Mark, Section, Words};
use heapwise_report::{note, say};
use heapwise_tables::words::{RangeArgs, ServeArgs};
use look::{Look, Parameters};
use pages::{PAGES, Page, Problem};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// So many pages are made at once, together within `--memory`. Others wait.
const AT_ONCE: usize = 2;

/// What all pages need.
struct Server {
    session: Session,
    range: RangeArgs,
    permits: Semaphore,
}

pub(crate) async fn serve(args: &ServeArgs) -> Result<u8, Failure> {
    let token = given::token(&args.admission)?;
    let places = Place::open_all(&args.places)?;
    let session = Session::new(places, given::range(&args.range), given::settings(args.limits), None)?;
    let server = Server { session, range: args.range.clone(), permits: Semaphore::new(AT_ONCE) };
    let (listener, address) = listening::listen(args.listen, token.as_ref()).await?;
    note!("heapwise: {} at http://{address}", args.places.join(", "));
    let guard = Arc::new(Guard::new(token));
    let app = router(Arc::new(server))
        .layer(middleware::from_fn(move |request, next| guard::check(Arc::clone(&guard), request, next)));
    axum::serve(listener, app).await.context("cannot answer")?;
    Ok(0)
}

fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for page in PAGES {
        let handler = async move |State(server): State<Arc<Server>>, path: RawPathParams, Query(query)| {
            let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            answer(&server, Parameters::new(path, query), page).await
        };
        router = router.route(page.path, get(handler));
    }
    let nothing = async || error(StatusCode::NOT_FOUND, "There is no such page.");
    // Browsers ask for it.
    let icon = get(async || StatusCode::NO_CONTENT);
    router.route("/favicon.ico", icon).fallback(nothing).with_state(server)
}

async fn answer(server: &Server, parameters: Parameters, page: &Page) -> Response {
    let Ok(_permit) = server.permits.acquire().await else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "The server ends.");
    };
    let mut look = Look::new(&server.session, &server.range, parameters);
    let made = match look.find_folder().await {
        Ok(()) => (page.make)(&look).await,
        Err(error) => Err(error.into()),
    };
    match made {
        Ok(document) => written(StatusCode::OK, &look.with_caveats(document)),
        Err(Problem::Nothing(what)) => error(StatusCode::NOT_FOUND, &what),
        Err(Problem::Failed(failed)) => {
            say!("heapwise: error: {failed:#}");
            error(StatusCode::INTERNAL_SERVER_ERROR, &format!("{failed:#}"))
        }
    }
}

/// A page that says what is wrong.
fn error(status: StatusCode, what: &str) -> Response {
    let home = Words::own("all services").to(&Link::new(&[], []));
    let lines = [Block::line(Mark::Plain, Words::name(what)), Block::line(Mark::Plain, home)];
    let document = Document {
        title: Words::own("Nothing to show"),
        sections: vec![Section::untitled(lines)],
        ..Document::default()
    };
    written(status, &document)
}

/// What browsers may do with pages, besides what the pages themselves say: neither guess what they are, nor keep them, nor put them into
/// others.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

fn written(status: StatusCode, page: &Document) -> Response {
    (status, HEADERS, document::html(page)).into_response()
}
