//! What only the account of the system reads, once.

use std::sync::mpsc;
use std::time::Instant;

use super::Options;
use crate::model::Missing;
use crate::model::system::AccountingInputs;
use crate::proc::files::Roots;
use crate::proc::system::accounting::Part;

const STACK: usize = 256 << 10;

/// Reads it all, blocking its caller no longer than the deadline: what has not come by then is
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn read(options: &Options) -> AccountingInputs {
    let roots = Roots {
        proc: options.proc_root.clone(),
        sys: options.sys_root.clone(),
    };
    let mut inputs = AccountingInputs::missing(Missing::Unsupported);
    let (sender, portions) = mpsc::channel();
    let mut waiting = Vec::new();
    for part in Part::ALL {
        let (sender, roots) = (sender.clone(), roots.clone());
        let thread = std::thread::Builder::new()
            .name("zmtop-accounting".into())
            .stack_size(STACK)
            .spawn(move || {
                let _ = sender.send((part, part.read(&roots)));
            });
        match thread {
            Ok(_) => waiting.push(part),
            Err(e) => {
                let why = Missing::Errno(e.raw_os_error().unwrap_or(0));
                part.missing(why)(&mut inputs);
            }
        }
    }
    drop(sender);
    let began = Instant::now();
    while !waiting.is_empty() {
        let left = options.deadline.saturating_sub(began.elapsed());
        let Ok((part, portion)) = portions.recv_timeout(left) else {
            break;
        };
        waiting.retain(|p| *p != part);
        portion(&mut inputs);
    }
    for part in waiting {
        part.missing(Missing::TimedOut)(&mut inputs);
    }
    inputs
}
