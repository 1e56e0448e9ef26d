//! The rights of zmtop's own process: which of its initial rights it keeps.
//!
//! Started as root or with capabilities, each command keeps the capabilities that it may need later and gives up the others, in the
//! effective, the permitted and the inheritable set. The reason for each is in `manual/serve.md`, *Privileges*.
//! Capabilities belong to a thread, so these functions must run before a second thread starts.
//!
//! These stay as they are:
//!
//! - The bounding set. A program that root starts gets its capabilities from there, so the programs of alerts and of `--on-rotate`
//!   have the rights that they had before. Without such programs, `no_new_privs` closes that way.
//! - Everything, for a root without `CAP_SYS_PTRACE`, as in most containers. The kernel then shows only processes whose capabilities
//!   zmtop has, too: with fewer, it would see fewer.
//! - Landlock is not used. It denies access to processes outside of its sandbox, also to root.
//! - Seccomp is not used. The calls that zmtop makes depend on the kernel and on the C library. The units of systemd have a filter.

use std::ffi::CString;
use std::io;
use std::path::Path;

use nix::unistd::{Uid, User};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::complain;
use crate::cli::UsageError;
#[cfg(feature = "network")]
use crate::config::Env;
use crate::proc::{files, tracefs};
use crate::sampler::Options;
use crate::text;

/// The capabilities that reading other processes may need.
pub(super) const LOOK: CapabilitySet = CapabilitySet::SYS_PTRACE
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::MAC_OVERRIDE);
/// The capabilities that repeated snapshots need, with those for records of processes that end.
pub(super) const WATCH: CapabilitySet = LOOK.union(CapabilitySet::NET_ADMIN);
/// The capabilities to write into folders of other users, and to leave them the files.
pub(super) const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER);
/// The capabilities to become another user: JDK 8 answers only its own.
pub(super) const USERS: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);
/// The capabilities to act on processes of other users.
const ACT: CapabilitySet = CapabilitySet::KILL
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::DAC_OVERRIDE);

/// Returns the capabilities to sample page faults and the signals of OOM daemons.
pub(super) fn sampling() -> CapabilitySet {
    match files::raised_perf_level() {
        Some(_) => LOOK.union(CapabilitySet::SYS_ADMIN),
        None => LOOK,
    }
}

/// The programs of the user that the command starts. They must have the same rights as without zmtop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Programs {
    None,
    Some,
}

/// Gives up what the monitor does not need. `is_live` is true if it shows this machine.
pub(super) fn keep_for_monitor(is_live: bool, is_readonly: bool) {
    let mut wanted = FILES.union(CapabilitySet::DAC_READ_SEARCH);
    if is_live {
        wanted = wanted.union(WATCH).union(sampling());
    }
    if is_live && !is_readonly {
        wanted = wanted.union(ACT);
    }
    let programs = if is_readonly { Programs::None } else { Programs::Some };
    keep(wanted, programs);
}

/// Becomes the user of `--user`, or gives up what the exporter and the recorder do not need to write these files. Returns what `open`
/// opens.
///
/// # Errors
/// Zmtop cannot become this user.
pub(super) fn settle<'p, T>(
    account: Option<Account>,
    written: impl IntoIterator<Item = &'p Path>,
    programs: Programs,
    open: impl FnOnce() -> T,
) -> Result<T, UsageError> {
    if let Some(account) = account {
        // The user may not open it later. Threads that it starts lose all rights, since only this one keeps its capabilities.
        let opened = open();
        account.take(programs)?;
        return Ok(opened);
    }
    let is_foreign = written.into_iter().any(|path| !may_owner_write(path));
    keep(if is_foreign { WATCH.union(FILES) } else { WATCH }, programs);
    Ok(open())
}

/// The user of `--user`.
pub(super) struct Account(User);

impl Account {
    /// Looks up the user of the option. The name service may block.
    ///
    /// # Errors
    /// There is no such user, or zmtop is not root.
    pub(super) fn of(name: Option<&str>) -> Result<Option<Self>, UsageError> {
        let Some(name) = name else { return Ok(None) };
        let refused = |what: String| UsageError::option("--user", what);
        if !geteuid().is_root() {
            return Err(refused("only root can become another user".into()));
        }
        let shown = text::safe(name.as_bytes());
        let found = match name.parse() {
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(name),
        };
        match found {
            Ok(Some(user)) if user.uid.is_root() => {
                Err(refused("this is root itself: name an unprivileged user".into()))
            }
            Ok(Some(user)) => Ok(Some(Self(user))),
            Ok(None) => Err(refused(format!("no user {shown}"))),
            Err(error) => Err(refused(format!("{shown} cannot be looked up: {}", error.desc()))),
        }
    }

    /// Returns the environment of this user: its home, and the state folder of systemd if there is one.
    #[cfg(feature = "network")]
    pub(super) fn env(&self, env: &Env) -> Env {
        Env {
            home: Some(self.0.dir.clone().into()),
            xdg_config_home: None,
            xdg_state_home: None,
            ..env.clone()
        }
    }

    /// Becomes this user, in all its groups, with the capabilities that snapshots need.
    ///
    /// # Errors
    /// The kernel refuses.
    fn take(&self, programs: Programs) -> Result<(), UsageError> {
        self.try_take().map_err(|error| {
            let name = text::safe(self.0.name.as_bytes());
            UsageError::option("--user", format!("cannot become {name}: {error}"))
        })?;
        keep(WATCH, programs);
        Ok(())
    }

    fn try_take(&self) -> io::Result<()> {
        let User { name, uid, gid, .. } = &self.0;
        rustix::thread::set_keep_capabilities(true)?;
        nix::unistd::initgroups(&CString::new(name.as_bytes())?, *gid)?;
        nix::unistd::setresgid(*gid, *gid, *gid)?;
        nix::unistd::setresuid(*uid, *uid, *uid)?;
        rustix::thread::set_keep_capabilities(false)?;
        // The change of the user left the permitted set, and cleared the effective and the ambient one.
        let permitted = rustix::thread::capabilities(None)?.permitted;
        let sets = CapabilitySets {
            effective: permitted,
            permitted,
            inheritable: CapabilitySet::empty(),
        };
        Ok(rustix::thread::set_capabilities(None, sets)?)
    }
}

/// Returns true if zmtop's user may replace the file or write into the folder as its owner.
fn may_owner_write(path: &Path) -> bool {
    let own = geteuid().as_raw();
    let Ok(path) = path.canonicalize().or_else(|_| std::path::absolute(path)) else {
        return false;
    };
    for place in path.ancestors() {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(found) = std::fs::metadata(place) else { continue };
        if found.uid() != own {
            return false;
        }
        if found.is_dir() {
            return found.mode() & 0o300 == 0o300;
        }
    }
    false
}

/// Keeps the wanted capabilities of those that this process has.
pub(super) fn keep(wanted: CapabilitySet, programs: Programs) {
    let done = rustix::thread::capabilities(None).and_then(|sets| {
        if sets.permitted.is_empty() {
            return Ok(());
        }
        if !geteuid().is_root() || sets.permitted.contains(CapabilitySet::SYS_PTRACE) {
            rustix::thread::set_capabilities(None, reduced(sets, wanted, programs))?;
        }
        match programs {
            Programs::None => rustix::thread::set_no_new_privs(true),
            Programs::Some => Ok(()),
        }
    });
    if let Err(error) = done {
        complain(&format!("keeps rights that it does not need: {error}"));
    }
}

fn reduced(sets: CapabilitySets, wanted: CapabilitySet, programs: Programs) -> CapabilitySets {
    let has_finer = sets
        .permitted
        .contains(CapabilitySet::PERFMON.union(CapabilitySet::CHECKPOINT_RESTORE));
    let mut kept = wanted;
    // Before Linux 5.9, and in containers with old settings, this one stands for both. It also opens a tracefs that is mounted nowhere,
    // for the format of an event.
    if wanted.contains(LOOK) && (!has_finer || (wanted.contains(WATCH) && !has_tracefs())) {
        kept |= CapabilitySet::SYS_ADMIN;
    }
    // Root's programs get theirs from the bounding set, those of others from the ambient set, which must be a part of these two.
    let mut inherited = CapabilitySet::empty();
    if programs == Programs::Some && !geteuid().is_root() {
        inherited = sets.inheritable;
        kept |= ambient(inherited);
    }
    CapabilitySets {
        effective: sets.effective & kept,
        permitted: sets.permitted & kept,
        inheritable: inherited,
    }
}

/// Returns the capabilities that programs inherit without further ado.
fn ambient(inheritable: CapabilitySet) -> CapabilitySet {
    let is_ambient = |one: &CapabilitySet| rustix::thread::capability_is_in_ambient_set(*one).unwrap_or(false);
    inheritable.iter().filter(is_ambient).collect()
}

fn has_tracefs() -> bool {
    let mountinfo = files::mountinfo(&Options::new(None).roots()).unwrap_or_default();
    !tracefs::mounts(&mountinfo).is_empty()
}
