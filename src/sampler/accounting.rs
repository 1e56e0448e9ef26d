//! What only the account of the system reads, once.

use std::sync::mpsc;
use std::time::Instant;

use super::Options;
use crate::model::Missing;
use crate::model::system::AccountingInputs;
use crate::proc::files::Roots;
use crate::proc::system::accounting::AccountingFile;

const STACK: usize = 256 << 10;

/// Reads it all, blocking its caller no longer than the deadline: what has not come by then is
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn read(options: &Options) -> AccountingInputs {
    let roots = Roots {
        proc: options.proc_root.clone(),
        sys: options.sys_root.clone(),
    };
    let mut inputs = AccountingInputs::missing(Missing::Unsupported);
    let (sender, updates) = mpsc::channel();
    let mut waiting = Vec::new();
    for &file in AccountingFile::ALL {
        let (sender, roots) = (sender.clone(), roots.clone());
        let thread = std::thread::Builder::new()
            .name("zmtop-accounting".into())
            .stack_size(STACK)
            .spawn(move || {
                let _ = sender.send((file, file.read(&roots)));
            });
        match thread {
            Ok(_) => waiting.push(file),
            Err(e) => {
                let why = Missing::Errno(e.raw_os_error().unwrap_or(0));
                file.missing(why)(&mut inputs);
            }
        }
    }
    drop(sender);
    let began = Instant::now();
    while !waiting.is_empty() {
        let left = options.deadline.saturating_sub(began.elapsed());
        let Ok((file, update)) = updates.recv_timeout(left) else {
            break;
        };
        waiting.retain(|other| *other != file);
        update(&mut inputs);
    }
    for file in waiting {
        file.missing(Missing::TimedOut)(&mut inputs);
    }
    inputs
}
