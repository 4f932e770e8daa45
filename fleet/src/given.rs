//! What the command line says, as the rest of the program has it.

use crate::cluster::{Channels, Workers};
use crate::engine::Settings;
use crate::failure::{Failure, USAGE};
use crate::store::live::Range;
use crate::token::Token;
use heapwise_tables::words::{AdmissionArgs, AskingArgs, LimitArgs, RangeArgs};

/// Where it is not known how much is free.
const DEFAULT_MEMORY: u64 = 1 << 30;
/// With less, sorting cannot begin.
const LEAST_MEMORY: u64 = 64 << 20;

/// Days and services as folders of tables have them.
pub(crate) fn range(args: &RangeArgs) -> Range {
    Range {
        services: args.service.iter().map(|name| heapwise_tables::escaped(name)).collect(),
        since: args.since.clone(),
        until: args.until.clone(),
    }
}

/// What a query may take of this machine.
pub(crate) fn settings(args: LimitArgs) -> Settings {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let of_free = |free: u64| (free / 4).max(LEAST_MEMORY);
    let memory = match args.memory {
        Some(mib) => mib << 20,
        None => heapwise_environment::available_memory().map_or(DEFAULT_MEMORY, of_free),
    };
    Settings { memory, threads: args.threads.map_or(cores, usize::from) }
}

/// The workers; none if all is done here.
pub(crate) fn workers(args: &AskingArgs) -> Result<Option<Workers>, Failure> {
    if args.workers.is_empty() {
        return Ok(None);
    }
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    let workers = Workers::new(&args.workers, Channels::new(token));
    workers.map(Some).map_err(|error| Failure::new(USAGE, error))
}

/// The secret of those who may ask, if there is one.
pub(crate) fn token(args: &AdmissionArgs) -> anyhow::Result<Option<Token>> {
    args.token_file.as_deref().map(Token::read).transpose()
}
