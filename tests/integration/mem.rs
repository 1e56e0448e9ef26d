//! The account of the system.

mod account;
mod accounting;
mod available;
mod command;
mod inspected;
mod real;
pub(crate) mod scope;

use zmtop::account::ProcessTotals;
use zmtop::model::{Memory, Missing, SystemSample};
use zmtop::proc::system::{Machine, SystemFile};

const KB: u64 = 1024;

/// The system that this meminfo describes.
fn meminfo(bytes: &[u8]) -> SystemSample {
    let mut machine = Machine {
        sample: SystemSample::missing(Missing::Unsupported),
        ..Machine::default()
    };
    SystemFile::Meminfo.parse(Ok(bytes))(&mut machine);
    machine.sample
}

/// Everybody was read.
fn userland(pss_shmem: u64, swap_pss: u64) -> ProcessTotals {
    ProcessTotals {
        readable: 10,
        total: 10,
        memory: Ok(Memory {
            pss: 5000 * KB,
            pss_file: Ok(1000 * KB),
            pss_shmem: Ok(pss_shmem),
            private_dirty: 4000 * KB,
            swap: swap_pss + 9000 * KB,
            swap_pss: Ok(swap_pss),
            ..Memory::default()
        }),
        swap_unreadable: Ok(0),
        hidden: None,
    }
}
