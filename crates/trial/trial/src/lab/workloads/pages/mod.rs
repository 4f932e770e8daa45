//! What the kernel does with pages: those that a program returns, and huge ones.

mod advised;
mod huge;
mod region;

use super::Workload;

pub(super) const ADVISED: &dyn Workload = &advised::Advised;
pub(super) const HUGE: &dyn Workload = &huge::Huge;
