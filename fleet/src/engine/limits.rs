//! The engine within its limits: how much memory and how many cores a query may take, here and on workers.

use crate::cluster::Reached;
use anyhow::{Context, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt, SessionStateBuilderExt};
use object_store::ObjectStore;
use std::sync::Arc;

/// What a query may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Bytes that sorting, joining and grouping may hold. What needs more goes to temporary files.
    pub(crate) memory: u64,
    /// How many cores work on it.
    pub(crate) threads: usize,
}

/// How a query is answered.
///
/// Never with several cores and temporary files at once: DataFusion 55.2 then waits for itself for ever, if rows that are passed from one
/// core to another go through two files (<https://github.com/apache/datafusion/issues/24883>), and joins without an equation
/// ask their input twice for the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// On all cores, in memory.
    Quick,
    /// On one core, with temporary files, and joins that can use them.
    Frugal,
}

/// So many bytes of a table are worth a core of a worker. What is less is not worth the way to it.
const BYTES_PER_PARTITION: usize = 64 << 10;

/// The engine for each effort.
#[derive(Debug)]
pub(crate) struct Engines {
    threads: usize,
    quick: Arc<RuntimeEnv>,
    frugal: Arc<RuntimeEnv>,
    /// What a sort keeps for merging what it wrote to files.
    reserved: usize,
}

impl Engines {
    /// # Errors
    /// If the folder of temporary files cannot be made.
    pub(super) fn new(settings: Settings) -> Result<Self> {
        let memory = usize::try_from(settings.memory).unwrap_or(usize::MAX);
        let engine = |pool: Arc<dyn MemoryPool>, files| {
            let files = DiskManagerBuilder::default().with_mode(files);
            let builder = RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(files);
            builder.with_metadata_cache_limit(memory / 4).build_arc().context("cannot start the engine")
        };
        Ok(Self {
            threads: settings.threads,
            quick: engine(Arc::new(GreedyMemoryPool::new(memory)), DiskManagerMode::Disabled)?,
            frugal: engine(Arc::new(FairSpillPool::new(memory)), DiskManagerMode::OsTmpDirectory)?,
            reserved: (memory / 16).min(10 << 20),
        })
    }

    pub(super) fn register(&self, url: &ObjectStoreUrl, store: &Arc<dyn ObjectStore>) {
        for engine in [&self.quick, &self.frugal] {
            engine.register_object_store(url.as_ref(), Arc::clone(store));
        }
    }

    /// The engine of a worker, which has no store yet. Parts of a question have no temporary files, either: they are asked again
    /// elsewhere if memory is short.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn of_worker(settings: Settings) -> Result<Arc<RuntimeEnv>> {
        let engine = Self::new(settings)?.quick;
        let disk = ObjectStoreUrl::local_filesystem();
        engine.deregister_object_store(disk.as_ref()).context("cannot start the engine")?;
        Ok(engine)
    }

    pub(super) fn engine(&self, effort: Effort) -> &Arc<RuntimeEnv> {
        match effort {
            Effort::Quick => &self.quick,
            Effort::Frugal => &self.frugal,
        }
    }

    pub(super) fn context(&self, effort: Effort) -> SessionContext {
        SessionContext::new_with_config_rt(self.config(effort), Arc::clone(self.engine(effort)))
    }

    /// The same with workers that answer parts of a question.
    ///
    /// # Errors
    /// If the engine does not take them.
    pub(super) fn spread(&self, reached: Reached) -> Result<SessionContext> {
        let builder = SessionStateBuilder::new()
            .with_default_features()
            .with_config(self.config(Effort::Quick))
            .with_runtime_env(Arc::clone(&self.quick))
            .with_distributed_channel_resolver(reached.channels.clone())
            .with_distributed_worker_resolver(reached)
            .with_distributed_planner()
            .with_distributed_file_scan_config_bytes_per_partition(BYTES_PER_PARTITION)
            .context("cannot start the engine")?;
        Ok(SessionContext::new_with_state(builder.build()))
    }

    fn config(&self, effort: Effort) -> SessionConfig {
        let threads = if effort == Effort::Quick { self.threads } else { 1 };
        let mut config = SessionConfig::new().with_target_partitions(threads).with_information_schema(true);
        let options = config.options_mut();
        // Rows that a filter refuses are not decoded.
        options.execution.parquet.pushdown_filters = true;
        options.execution.parquet.reorder_filters = true;
        options.execution.sort_spill_reservation_bytes = self.reserved;
        options.optimizer.prefer_hash_join = effort == Effort::Quick;
        config
    }
}
