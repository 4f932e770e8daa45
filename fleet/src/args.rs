//! The command line as it is typed.

use crate::cluster::{Channels, Workers};
use crate::engine::Settings;
use crate::failure::{Failure, USAGE};
use crate::store::live::Range;
use crate::token::Token;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Asks questions about many recordings.
#[derive(Debug, Parser)]
#[command(
    name = "heapwise-fleet",
    bin_name = "heapwise",
    version,
    help_expected = true,
    max_term_width = 100
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Top,
    /// Say nothing but results, warnings and errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// The heapwise that reads recordings [default: the one beside this program, or that of PATH].
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    pub(crate) heapwise: Option<PathBuf>,
}

/// `heapwise query` and `heapwise fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum Top {
    /// Ask recordings, or tables of them, a question in SQL.
    #[command(after_help = QUERY_EXAMPLES)]
    Query(QueryArgs),
    /// Keep tables of many recordings, and ask them questions.
    #[command(subcommand)]
    Fleet(Fleet),
}

/// `heapwise fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Add recordings to tables in a folder or a store.
    #[command(after_help = INGEST_EXAMPLES)]
    Ingest(IngestArgs),
    /// Put small files together: questions are answered faster.
    #[command(after_help = COMPACT_EXAMPLES)]
    Compact(CompactArgs),
    /// Ask one of the usual questions; without its name, list them.
    #[command(after_help = ASK_EXAMPLES)]
    Ask(AskArgs),
    /// Show fleets to a browser.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Answer parts of questions that are asked with --workers.
    #[command(after_help = WORKER_EXAMPLES)]
    Worker(WorkerArgs),
}

const QUERY_EXAMPLES: &str = "\
Examples:
  heapwise query 'select place, allocated_bytes from sites order by 2 desc limit 5' run.hw
  heapwise query 'select host, max(peak_rss_bytes) from recordings group by host' fleet/
  heapwise query 'describe sites' fleet/                 which columns a table has
  heapwise query \"select count(*) from recordings where date >= '2026-11-01'\" s3://bucket/fleet

Tables: recordings, sites, stacks, frames, samples, site_samples, memory, findings, environment, predictions.";

const INGEST_EXAMPLES: &str = "\
Examples:
  heapwise fleet ingest monday.hw tuesday.hw -o fleet/ --service checkout --release 4.1
  heapwise fleet ingest recordings/ -o s3://bucket/fleet
  heapwise fleet ingest recordings/ -o fleet/ --replay 20     what other allocators would need, of one in 20

A recording that is there already is not added again. Credentials of a store are those of the environment:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT.";

const COMPACT_EXAMPLES: &str = "\
Examples:
  heapwise fleet compact fleet/
  heapwise fleet compact s3://bucket/fleet --until 2026-11-25     days that are over

It may be killed at any moment, and queries may run beside it: a recording counts once all the time.";

const ASK_EXAMPLES: &str = "\
Examples:
  heapwise fleet ask                                     lists the questions
  heapwise fleet ask growth fleet/ --service checkout    the last two releases
  heapwise fleet ask growth fleet/ --service checkout --set old=4.1 --set new=4.2
  heapwise fleet ask growth --sql > mine.sql             the question in SQL, to be changed
  heapwise fleet ask mine.sql fleet/ --service checkout";

const SERVE_EXAMPLES: &str = "\
Examples:
  heapwise fleet serve fleet/                                            http://127.0.0.1:7070 on this machine
  heapwise fleet serve s3://bucket/fleet --listen 10.0.0.5:7070 --token-file token

A browser asks for a name and a password: the password is the token, the name is whatever you like. Nothing is encrypted: let a
server in front of it do that.";

const WORKER_EXAMPLES: &str = "\
Examples:
  heapwise fleet worker --listen 10.0.0.5:7077 --token-file token s3://bucket/fleet     on each machine
  heapwise fleet ask growth s3://bucket/fleet --service checkout \\
      --workers 10.0.0.5:7077,10.0.0.6:7077 --token-file token

It reads the fleets that it is started with, and writes nothing. They have to be the same on all machines, in the same place: a folder that
all of them share, or a store. Workers reach each other by the names behind --workers. Nothing is encrypted between machines: let them
speak over a network that you trust.";

/// Which recordings are meant.
#[derive(Clone, Debug, Args)]
pub(crate) struct RangeArgs {
    /// Only recordings of this service; can be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Vec<String>,
    /// Only recordings of this day and later ones.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub(crate) since: Option<String>,
    /// Only recordings of this day and earlier ones.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub(crate) until: Option<String>,
}

impl RangeArgs {
    /// The same as folders of tables have it.
    pub(crate) fn range(&self) -> Range {
        Range {
            services: self.service.iter().map(|name| heapwise_tables::escaped(name)).collect(),
            since: self.since.clone(),
            until: self.until.clone(),
        }
    }
}

/// What a query may take.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Bytes that sorting and joining may hold, in MiB; what needs more goes to temporary files [default: a quarter of what is free].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..))]
    pub(crate) memory: Option<u64>,
    /// How many cores work on it [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Where it is not known how much is free.
const DEFAULT_MEMORY: u64 = 1 << 30;
/// With less, sorting cannot begin.
const LEAST_MEMORY: u64 = 64 << 20;

impl LimitArgs {
    /// The same with what this machine has.
    pub(crate) fn settings(self) -> Settings {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let of_free = |free: u64| (free / 4).max(LEAST_MEMORY);
        let memory = match self.memory {
            Some(mib) => mib << 20,
            None => heapwise_environment::available_memory().map_or(DEFAULT_MEMORY, of_free),
        };
        Settings { memory, threads: self.threads.map_or(cores, usize::from) }
    }
}

/// How a question is asked, and how its answer is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct AskingArgs {
    /// The value of $NAME in the question; can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// Which recordings are meant.
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// The form of the answer.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// What it may take.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Workers that answer parts of it: those of `heapwise fleet worker`.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) workers: Vec<String>,
    /// The secret of the workers: a file that only its owner can read.
    #[arg(long, value_name = "FILE", requires = "workers")]
    pub(crate) token_file: Option<PathBuf>,
}

impl AskingArgs {
    /// The workers; none if all is done here.
    pub(crate) fn workers(&self) -> Result<Option<Workers>, Failure> {
        if self.workers.is_empty() {
            return Ok(None);
        }
        let token = self.token_file.as_deref().map(Token::read).transpose()?;
        let workers = Workers::new(&self.workers, Channels::new(token));
        workers.map(Some).map_err(|error| Failure::new(USAGE, error))
    }
}

/// Who may ask.
#[derive(Clone, Debug, Args)]
pub(crate) struct AdmissionArgs {
    /// A secret that those who ask have, too: a file that only its owner can read. What other machines can reach has one.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl AdmissionArgs {
    /// The secret, if there is one.
    pub(crate) fn token(&self) -> anyhow::Result<Option<Token>> {
        self.token_file.as_deref().map(Token::read).transpose()
    }
}

/// `heapwise fleet serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET", required = true)]
    pub(crate) places: Vec<String>,
    /// The address to listen at; port 0 takes one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    pub(crate) listen: SocketAddr,
    /// Who may ask.
    #[command(flatten)]
    pub(crate) admission: AdmissionArgs,
    /// Which recordings are meant.
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// What it may take.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// `heapwise fleet worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET", required = true)]
    pub(crate) places: Vec<String>,
    /// The address to listen at; port 0 takes one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7077")]
    pub(crate) listen: SocketAddr,
    /// Who may ask.
    #[command(flatten)]
    pub(crate) admission: AdmissionArgs,
    /// Bytes that parts of questions may hold together, in MiB; what needs more is asked again where it was asked [default: a quarter of
    /// what is free].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..))]
    pub(crate) memory: Option<u64>,
}

/// `heapwise query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The question in SQL. It can only read.
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// Recordings, folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) places: Vec<String>,
    /// How it is asked.
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// `heapwise fleet ask`.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The name of a question, or a file with one in SQL.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Option<String>,
    /// Folders of tables, or s3://BUCKET/FOLDER; recordings, too.
    #[arg(value_name = "FLEET")]
    pub(crate) places: Vec<String>,
    /// Print the question in SQL and do not ask it.
    #[arg(long)]
    pub(crate) sql: bool,
    /// How it is asked.
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// `heapwise fleet ingest`.
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// Recordings, or folders whose files that end in .hw are meant.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) recordings: Vec<PathBuf>,
    /// The folder of tables, or s3://BUCKET/FOLDER. A folder is made if there is none.
    #[arg(short, long, value_name = "FLEET")]
    pub(crate) output: String,
    /// What recordings are grouped by [default: the program's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Which release of the service was recorded.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<String>,
    /// Replay one of N recordings with other allocators as well, for `ask allocator-switch`; 1 replays all. That takes some
    /// thirty times as long as their allocations, one recording at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replay: Option<u32>,
}

/// `heapwise fleet compact`.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// The folder of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET")]
    pub(crate) place: String,
    /// Which recordings are meant.
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// What it may take.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Text,
    /// The document heapwise.answer/1.
    Json,
    /// A table for a comment or a wiki.
    Markdown,
    /// A page for a browser, with a picture.
    Html,
}

fn day(text: &str) -> Result<String, String> {
    match chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => Ok(day.to_string()),
        Err(_) => Err("a day is YYYY-MM-DD, such as 2026-11-26".to_owned()),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is NAME=VALUE")?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok((name.to_owned(), value.to_owned())) } else { Err(format!("{name} is no name")) }
}
