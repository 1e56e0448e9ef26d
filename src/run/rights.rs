//! The rights that each command keeps, and the rules for a program with file capabilities.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

use super::complain;
#[cfg(feature = "code")]
use super::privileges::sampling;
use super::privileges::{FILES, LOOK, Programs, USERS, WATCH, keep};
use crate::cli::{Cli, Command};
use crate::config::Env;

/// Gives up what a command that prints reports does not need. The other commands do so themselves, once their files are open, or
/// look at no process.
pub(super) fn keep_for(command: &Command) {
    let wanted = match command {
        Command::Ps(_) => WATCH,
        Command::Leaks(args) if args.prove.is_some() => LOOK.union(CapabilitySet::DAC_OVERRIDE),
        Command::Leaks(_) => WATCH,
        Command::Mem(_) | Command::Maps(_) | Command::Held(_) | Command::Kernel(_) => LOOK,
        // The kernel reports the cached pages of a file to its owner and to users with write access.
        Command::Cache(_) => LOOK.union(CapabilitySet::FOWNER).union(CapabilitySet::DAC_OVERRIDE),
        Command::Heap(_) => LOOK.union(USERS).union(CapabilitySet::KILL),
        #[cfg(feature = "code")]
        Command::Callers(args) if args.flamegraph.is_some() => sampling().union(FILES),
        #[cfg(feature = "code")]
        Command::Callers(_) => sampling(),
        _ => return,
    };
    keep(wanted, Programs::None);
}

/// Restricts a program that has more rights than its user, by file capabilities. Whatever the user names (a config, a log, another
/// proc tree) must be opened with the user's rights alone. Returns the environment to use from now on.
///
/// # Errors
/// The kernel refuses.
pub(super) fn restrict(cli: &Cli, env: Env) -> io::Result<Env> {
    let sets = rustix::thread::capabilities(None)?;
    // Security modules set AT_SECURE without capabilities, too.
    if sets.permitted.is_empty() {
        return Ok(env);
    }
    let looks = looks_at_processes(cli);
    let mut lost = FILES.union(USERS);
    if !looks {
        lost = CapabilitySet::from_bits_retain(u64::MAX);
    } else if let Some(option) = named_files(cli) {
        lost |= CapabilitySet::DAC_READ_SEARCH | CapabilitySet::MAC_OVERRIDE;
        if sets.permitted.contains(CapabilitySet::DAC_READ_SEARCH) {
            complain(&format!("without CAP_DAC_READ_SEARCH, because {option} names a file"));
        }
    }
    let left = CapabilitySets {
        effective: sets.effective - lost,
        permitted: sets.permitted - lost,
        inheritable: sets.inheritable - lost,
    };
    rustix::thread::set_capabilities(None, left)?;
    Ok(Env {
        is_foreign: looks,
        ..env
    })
}

/// Returns true if the command may read the processes of this machine.
fn looks_at_processes(cli: &Cli) -> bool {
    match &cli.command {
        None => true,
        Some(Command::Record(args)) => args.action.is_none(),
        #[cfg(feature = "code")]
        Some(Command::Callers(_)) => true,
        Some(
            Command::Ps(_)
            | Command::Mem(_)
            | Command::Maps(_)
            | Command::Held(_)
            | Command::Cache(_)
            | Command::Leaks(_)
            | Command::Heap(_)
            | Command::Serve(_)
            | Command::Kernel(_),
        ) => true,
        Some(
            Command::Replay(_)
            | Command::Limits(_)
            | Command::Why(_)
            | Command::Fleet(_)
            | Command::Config(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::Man,
        ) => false,
    }
}

/// Returns the option that names a file, or a collector, whose certificates are in files that the environment names.
fn named_files(cli: &Cli) -> Option<&str> {
    let is_pushed = matches!(&cli.command, Some(Command::Serve(args)) if args.otlp.is_some());
    cli.file.as_deref().or(is_pushed.then_some("--otlp"))
}
