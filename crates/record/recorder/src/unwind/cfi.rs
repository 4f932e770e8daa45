//! Reads an object's unwind table (`.eh_frame_hdr`, `.eh_frame`) in memory, for one address.

use super::elf::{bytes, segment_end};
use super::given;
use super::module::Module;
use crate::arch::registers::{FP, RA, SAVED};
use gimli::{
    BaseAddresses, CfaRule as GimliCfa, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry,
    NativeEndian, Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression,
    UnwindSection, UnwindTableRow,
};

/// How to find the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfaRule {
    /// A register plus an offset.
    Register(Register, i64),
    /// The value of a DWARF expression.
    Expression(&'static [u8]),
}

/// How to find a register of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It was not changed.
    Same,
    /// It is saved this far from the CFA.
    AtCfa(i64),
    /// It is saved where a DWARF expression says, which begins with the CFA on its stack.
    AtExpression(&'static [u8]),
    /// It is the value of a DWARF expression.
    Value(&'static [u8]),
    /// It is the CFA plus an offset.
    CfaPlus(i64),
    /// It is in another register.
    In(Register),
    /// Anything else: its value is not known in the caller.
    Unknown,
}

/// What the unwind table says about one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub cfa: CfaRule,
    /// The return address.
    pub ra: Slot,
    /// The frame pointer.
    pub fp: Slot,
    /// The other callee-saved registers, in the order of [`SAVED`].
    pub saved: [Slot; SAVED.len()],
    /// The frame was made by the kernel for a signal: what it returns to was interrupted, not called.
    pub signal: bool,
    /// The table says that there is no return address.
    pub outermost: bool,
}

/// Room for unwind rows on the caller's stack: what glibc and compilers need, and little enough for the
/// smallest stacks. A row with more registers is refused.
struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 3];
}

type Bytes = EndianSlice<'static, NativeEndian>;

/// The table of a module's frame descriptions.
fn table(module: &Module) -> Option<&'static [u8]> {
    let at = module.eh_frame_header;
    if at == 0 { given::of(module) } else { bytes(at, segment_end(module.start, module.end, at)) }
}

/// The frame description that covers an address, with what is needed to read it.
fn description(
    module: &Module,
    address: usize,
) -> Option<(FrameDescriptionEntry<Bytes>, EhFrame<Bytes>, BaseAddresses)> {
    let table = table(module)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(table.as_ptr() as u64);
    let header = EhFrameHdr::new(table, NativeEndian).parse(&bases, 8).ok()?;
    let eh_frame_at = match header.eh_frame_ptr() {
        gimli::Pointer::Direct(at) => usize::try_from(at).ok()?,
        gimli::Pointer::Indirect(_) => return None,
    };
    let bases = bases.set_eh_frame(eh_frame_at as u64);
    let end = segment_end(module.start, module.end, eh_frame_at);
    let eh_frame = EhFrame::new(bytes(eh_frame_at, end)?, NativeEndian);
    let fde =
        header.table()?.fde_for_address(&eh_frame, &bases, address as u64, EhFrame::cie_from_offset).ok()?;
    Some((fde, eh_frame, bases))
}

/// Whether a function begins exactly here. No call returns to such an address unless another function ends right
/// before it: it was put on the stack by hand, as `makecontext` does, and has no caller.
pub fn begins_function(module: &Module, address: usize) -> bool {
    description(module, address).is_some_and(|(fde, ..)| fde.initial_address() == address as u64)
}

/// The row for an address of a module.
#[inline(never)]
pub fn row(module: &Module, address: usize) -> Option<Row> {
    let (fde, eh_frame, bases) = description(module, address)?;
    let mut context = UnwindContext::<usize, Storage>::new_in();
    let row = fde.unwind_info_for_address(&eh_frame, &bases, &mut context, address as u64).ok()?;
    let expression = |e: UnwindExpression<usize>| Some(e.get(&eh_frame).ok()?.0.slice());
    let slot = |register: Register| match row.register(register) {
        // gimli does not distinguish an undefined register from one that is not mentioned. Callee-saved registers that are
        // not mentioned are unchanged; the return address is always mentioned, so there it means undefined.
        Some(RegisterRule::Undefined) | None => Slot::Same,
        Some(RegisterRule::SameValue) => Slot::Same,
        Some(RegisterRule::Offset(offset)) => Slot::AtCfa(offset),
        Some(RegisterRule::ValOffset(offset)) => Slot::CfaPlus(offset),
        Some(RegisterRule::Register(other)) => Slot::In(other),
        Some(RegisterRule::Expression(e)) => expression(e).map_or(Slot::Unknown, Slot::AtExpression),
        Some(RegisterRule::ValExpression(e)) => expression(e).map_or(Slot::Unknown, Slot::Value),
        _ => Slot::Unknown,
    };
    let ra = slot(RA);
    Some(Row {
        cfa: match row.cfa() {
            GimliCfa::RegisterAndOffset { register, offset } => CfaRule::Register(*register, *offset),
            GimliCfa::Expression(e) => CfaRule::Expression(expression(*e)?),
        },
        ra,
        fp: slot(FP),
        saved: SAVED.map(slot),
        signal: fde.is_signal_trampoline(),
        outermost: ra == Slot::Same,
    })
}
