//! Checks unwind information before it is used. The file is untrusted: an expression may loop for ever, and the library that evaluates
//! it has no limit.

use std::collections::HashMap;
use std::hash::Hash;

use gimli::{
    BaseAddresses, CallFrameInstruction, CallFrameInstructionIter, CieOrFde, DebugFrame, EhFrame, EndianSlice, Error,
    NativeEndian, Operation, UnwindSection,
};

/// Maximum size of an entry, in bytes. Compilers write less than a hundred for most functions, and some thousand for the largest ones.
/// Each use of an entry runs all its instructions.
const MAX_ENTRY: usize = 64 << 10;

/// Maximum number of common entries, which stay in memory meanwhile. Linkers merge them to some hundreds.
const MAX_COMMON: usize = 1 << 16;

/// `DW_OP_bra` and `DW_OP_skip`, the only operations that can make a loop. No compiler uses them to unwind.
const BRANCHES: [u8; 2] = [0x28, 0x2f];

type Bytes<'a> = EndianSlice<'a, NativeEndian>;

/// Returns the offsets of all entries of functions in `.eh_frame`, in order; `None` if it is damaged, if an expression in it has a branch,
/// or if an entry is too large.
pub fn of_eh_frame(data: &[u8]) -> Option<Vec<usize>> {
    entries(&EhFrame::new(data, NativeEndian))
}

/// The same of `.debug_frame`.
pub fn of_debug_frame(data: &[u8]) -> Option<Vec<usize>> {
    entries(&DebugFrame::new(data, NativeEndian))
}

fn entries<'a, S>(section: &S) -> Option<Vec<usize>>
where
    S: UnwindSection<Bytes<'a>>,
    S::Offset: Eq + Hash + From<usize>,
{
    // Addresses do not matter here.
    let bases = BaseAddresses::default().set_eh_frame(0).set_text(0).set_got(0);
    let (mut common, mut functions) = (HashMap::new(), Vec::new());
    let mut all = section.entries(&bases);
    while let Some(entry) = all.next().ok()? {
        match entry {
            CieOrFde::Cie(cie) => {
                let encoding = cie.encoding();
                let is_sound = common.len() < MAX_COMMON
                    && cie.entry_len() <= MAX_ENTRY
                    && are_sound(section, cie.instructions(section, &bases), encoding);
                is_sound.then(|| common.insert(S::Offset::from(cie.offset()), cie))?;
            }
            CieOrFde::Fde(partial) => {
                // An entry that lies inside another one was not checked.
                let known = |_: &S, _: &BaseAddresses, at| common.get(&at).cloned().ok_or(Error::NotCieId(0));
                let fde = partial.parse(known).ok()?;
                let encoding = fde.cie().encoding();
                let is_sound =
                    fde.entry_len() <= MAX_ENTRY && are_sound(section, fde.instructions(section, &bases), encoding);
                is_sound.then(|| functions.push(fde.offset()))?;
            }
        }
    }
    Some(functions)
}

/// Returns true if no expression in these instructions has a branch.
fn are_sound<'a, S>(
    section: &S,
    mut instructions: CallFrameInstructionIter<'_, Bytes<'a>>,
    encoding: gimli::Encoding,
) -> bool
where
    S: UnwindSection<Bytes<'a>>,
{
    loop {
        let expression = match instructions.next() {
            Ok(None) => return true,
            Err(_) => return false,
            Ok(Some(
                CallFrameInstruction::DefCfaExpression { expression }
                | CallFrameInstruction::Expression { expression, .. }
                | CallFrameInstruction::ValExpression { expression, .. },
            )) => expression,
            Ok(Some(_)) => continue,
        };
        let Ok(expression) = expression.get(section) else {
            return false;
        };
        if BRANCHES.iter().all(|branch| !expression.0.slice().contains(branch)) {
            continue;
        }
        // The byte may also be a number.
        let mut operations = expression.operations(encoding);
        loop {
            match operations.next() {
                Ok(None) => break,
                Err(_) | Ok(Some(Operation::Bra { .. } | Operation::Skip { .. })) => return false,
                Ok(Some(_)) => {}
            }
        }
    }
}
