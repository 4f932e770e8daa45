//! `heapwise query` and `heapwise fleet` as they are typed.
//!
//! `heapwise-fleet` does what they say. `heapwise` starts it with the same words, and knows them for completions and manual pages.

use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// `heapwise query` and `heapwise fleet`.
#[derive(Debug, Subcommand)]
pub enum Top {
    /// Ask recordings, or tables of many, a question in SQL.
    #[command(after_help = QUERY_EXAMPLES)]
    Query(QueryArgs),
    /// Keep tables of many recordings of many hosts, and ask them the usual questions.
    #[command(subcommand)]
    Fleet(Fleet),
}

/// `heapwise fleet`.
#[derive(Debug, Subcommand)]
pub enum Fleet {
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

/// The commands, for the programs that start `heapwise-fleet`.
pub fn commands() -> impl Iterator<Item = clap::Command> {
    let all = Top::augment_subcommands(clap::Command::new("heapwise"));
    all.get_subcommands().cloned().collect::<Vec<_>>().into_iter()
}

/// Which recordings are meant.
#[derive(Clone, Debug, Args)]
pub struct RangeArgs {
    /// Only recordings of this service; can be repeated.
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,
    /// Only recordings of this day and later ones.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub since: Option<String>,
    /// Only recordings of this day and earlier ones.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub until: Option<String>,
}

/// What a query may take.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArgs {
    /// Bytes that sorting and joining may hold, in MiB; what needs more goes to temporary files [default: a quarter of what is free].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..))]
    pub memory: Option<u64>,
    /// How many cores work on it [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// How a question is asked, and how its answer is shown.
#[derive(Clone, Debug, Args)]
pub struct AskingArgs {
    /// The value of $NAME in the question; can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Which recordings are meant.
    #[command(flatten)]
    pub range: RangeArgs,
    /// The form of the answer.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub format: Format,
    /// What it may take.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Workers that answer parts of it: those of `heapwise fleet worker`.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub workers: Vec<String>,
    /// The secret of the workers: a file that only its owner can read.
    #[arg(long, value_name = "FILE", requires = "workers")]
    pub token_file: Option<PathBuf>,
}

/// Who may ask.
#[derive(Clone, Debug, Args)]
pub struct AdmissionArgs {
    /// A secret that those who ask have, too: a file that only its owner can read. What other machines can reach has one.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `heapwise fleet serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET", required = true)]
    pub places: Vec<String>,
    /// The address to listen at; port 0 takes one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Who may ask.
    #[command(flatten)]
    pub admission: AdmissionArgs,
    /// Which recordings are meant.
    #[command(flatten)]
    pub range: RangeArgs,
    /// What it may take.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `heapwise fleet worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET", required = true)]
    pub places: Vec<String>,
    /// The address to listen at; port 0 takes one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7077")]
    pub listen: SocketAddr,
    /// Who may ask.
    #[command(flatten)]
    pub admission: AdmissionArgs,
    /// Bytes that parts of questions may hold together, in MiB; what needs more is asked again where it was asked [default: a quarter of
    /// what is free].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..))]
    pub memory: Option<u64>,
}

/// `heapwise query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The question in SQL. It can only read.
    #[arg(value_name = "SQL")]
    pub sql: String,
    /// Recordings, folders of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FILE", required = true)]
    pub places: Vec<String>,
    /// How it is asked.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// `heapwise fleet ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The name of a question, or a file with one in SQL.
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Folders of tables, or s3://BUCKET/FOLDER; recordings, too.
    #[arg(value_name = "FLEET")]
    pub places: Vec<String>,
    /// Print the question in SQL and do not ask it.
    #[arg(long)]
    pub sql: bool,
    /// How it is asked.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// `heapwise fleet ingest`.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Recordings, or folders whose files that end in .hw are meant.
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// The folder of tables, or s3://BUCKET/FOLDER. A folder is made if there is none.
    #[arg(short, long, value_name = "FLEET")]
    pub output: String,
    /// What recordings are grouped by [default: the program's name].
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Which release of the service was recorded.
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
    /// Replay one of N recordings with other allocators as well, for `ask allocator-switch`; 1 replays all. That takes some
    /// thirty times as long as their allocations, one recording at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub replay: Option<u32>,
}

/// `heapwise fleet compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The folder of tables, or s3://BUCKET/FOLDER.
    #[arg(value_name = "FLEET")]
    pub place: String,
    /// Which recordings are meant.
    #[command(flatten)]
    pub range: RangeArgs,
    /// What it may take.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
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
