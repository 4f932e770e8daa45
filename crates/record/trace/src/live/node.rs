//! The trie of stacks: what a node's key means.
//!
//! A node stands for one frame in one calling context. Its parent is its caller, so the id of the innermost node is
//! the whole stack. The outermost frame's parent is a *root*, which says in which module generation the stack was
//! taken (an address may belong to another library after a `dlclose`) and whether the stack is whole:
//!
//! ```text
//! root(generation 0, whole) ← _start ← __libc_start_main ← main ← parse ← Vec::push
//!                                                                          └── the stack's id
//! ```
//!
//! Key of a frame: the return address in the low 48 bits, [`EXACT_PC`] where the address is that of the interrupted
//! instruction itself (below a signal frame) and must not be moved back into the call before it is looked up.
//! Key of a root: [`ROOT`], [`ROOT_CUT`] if the stack ended early, and the generation in the low 32 bits.

/// The node is a root.
pub const ROOT: u64 = 1 << 63;
/// The address is an interrupted instruction, not a return address.
pub const EXACT_PC: u64 = 1 << 62;
/// Stacks below this root ended before the thread's first function.
pub const ROOT_CUT: u64 = 1 << 61;
/// The address in a frame's key.
pub const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// A decoded node key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Where stacks begin.
    Root {
        /// How often modules had been unloaded before.
        generation: u32,
        /// Whether stacks below it ended early.
        cut: bool,
    },
    Frame {
        /// Return address, or the interrupted instruction's if `exact`.
        address: u64,
        /// Whether `address` is that of an instruction to be looked up itself, rather than a return address.
        exact: bool,
    },
}

impl NodeKind {
    /// Decodes a key.
    pub fn from_key(key: u64) -> Self {
        if key & ROOT != 0 {
            NodeKind::Root { generation: key as u32, cut: key & ROOT_CUT != 0 }
        } else {
            NodeKind::Frame { address: key & ADDRESS_MASK, exact: key & EXACT_PC != 0 }
        }
    }
}

/// The key of a root.
pub fn root_key(generation: u32, cut: bool) -> u64 {
    ROOT | if cut { ROOT_CUT } else { 0 } | u64::from(generation)
}
