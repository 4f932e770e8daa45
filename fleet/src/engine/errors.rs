//! What the engine's errors mean, and what is said of them.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;

/// An error of a query that runs. The engine's own errors repeat those below them, so they are said once here.
#[derive(Debug)]
pub(crate) struct Failed(pub(super) DataFusionError);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the query failed: {}", said(&self.0))
    }
}

impl std::error::Error for Failed {}

pub(crate) fn failed(error: DataFusionError) -> anyhow::Error {
    anyhow::Error::new(Failed(error))
}

/// Whether what was read was no rows: a footer says nothing of the values.
pub(super) fn is_of_decoding(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ParquetError(_) | DataFusionError::External(_) => true,
        DataFusionError::ArrowError(error, _) => !matches!(
            **error,
            ArrowError::DivideByZero | ArrowError::ArithmeticOverflow(_) | ArrowError::CastError(_)
        ),
        _ => false,
    }
}

/// Whether a connection to a worker broke, or one between workers.
pub(super) fn is_of_connection(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(error) => {
            error.is::<tonic::Status>() || error.is::<tonic::transport::Error>()
        }
        DataFusionError::Execution(text) => text.starts_with("Error connecting to"),
        DataFusionError::Configuration(text) => text.contains("this worker's own machine"),
        _ => false,
    }
}

/// What the engine says, in one line and without its own words for it.
pub(super) fn said(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Whether a query needs more memory than it may have.
pub(super) fn is_exhausted(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}
