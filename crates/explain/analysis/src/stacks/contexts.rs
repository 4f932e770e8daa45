//! Stacks as a tree, for code that draws them.
//!
//! A program that calls itself ten thousand times has ten thousand stacks of up to ten thousand frames. As lists they
//! are fifty million frames, as a tree ten thousand.

use super::frame::Frame;
use super::names::FramesId;
use super::trie::NodeId;
use crate::analysis::{Analysis, Site};

/// A call in the context of its callers: equal for all stacks that share it and what is outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context(NodeId);

/// The frames of a call, several if some were inlined: equal for the same places in the code, whatever the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallSpot(FramesId);

impl Analysis {
    /// The innermost call of a site's stack.
    pub fn context(&self, site: &Site) -> Context {
        Context(site.stack)
    }

    /// The caller, and where the call is; `None` outside of the outermost function.
    pub fn call(&self, context: Context) -> Option<(Context, CallSpot)> {
        self.stacks_by_name.get(context.0).map(|(caller, frames)| (Context(caller), CallSpot(frames)))
    }

    /// The frames of a spot from the innermost outwards.
    pub fn frames(&self, spot: CallSpot) -> impl DoubleEndedIterator<Item = Frame<'_>> {
        self.names.frames(spot.0).iter().map(|stored| self.frame(stored))
    }
}
