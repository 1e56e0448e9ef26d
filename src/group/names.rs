//! The names of programs and of the groups that a process is in.
//!
//! # Families
//! A family is a daemon and its descendants. Its head is the nearest process among a process and its ancestors for which one
//! of these is true:
//! - it has no listed parent, or its parent is pid 1, which also adopts processes whose parents ended;
//! - its parent is a launcher: an init, a supervisor, a job scheduler, a session, a terminal, or an interactive shell, but
//!   not a shell that runs a script or a command;
//! - it is in a container that its parent is not in.
//!
//! A process that runs the same program as its parent is in the parent's family all the same: a shell's subshells.
//! A family is named by the program and the pid of its head, because two servers of one program are two families. If a
//! parent ends before its children, each of them becomes a head: nothing shows any more that they belonged together.

use std::borrow::Cow;

use crate::group::interpreter::{base, interpreted_name, is_interactive_shell};
use crate::group::key::{GroupBy, write_siblings_name};
use crate::model::container::Container;
use crate::model::process::{Facts, ProcessSample};

/// Maximum number of levels from a process up to its head. No service nests that deep, and walking up a long chain of
/// forks for each of its processes would take too long. Processes further down belong to no family.
const MAX_LEVELS: usize = 100;

/// The group names of one snapshot's processes, which are in order of pid.
#[derive(Clone, Copy, Debug)]
pub struct GroupNames<'a>(&'a [ProcessSample]);

impl<'a> GroupNames<'a> {
    pub const fn new(rows: &'a [ProcessSample]) -> Self {
        Self(rows)
    }

    /// Returns the name of the group that a process is in; `None` if it is in none, if the name is unknown, or if areas
    /// are grouped.
    pub fn name_of(self, sample: &'a ProcessSample, by: GroupBy) -> Option<Cow<'a, [u8]>> {
        let facts = &*sample.facts;
        match by {
            GroupBy::Command => Some(self.command_of(sample)),
            GroupBy::User => facts.owner_name().ok().map(|name| Cow::Borrowed(&**name)),
            GroupBy::Unit => facts.unit.as_deref().map(Cow::Borrowed),
            GroupBy::Container => facts.container.as_deref().map(|container| container.name().into()),
            GroupBy::Pod => facts.container.as_deref().and_then(Container::pod),
            GroupBy::Cgroup => facts.cgroup.as_deref().ok().map(Cow::Borrowed),
            GroupBy::Family => {
                let head = self.head_of(sample)?;
                let pid = head.id.pid.to_string();
                let name = [&self.command_of(head), &b" "[..], pid.as_bytes()];
                Some(name.concat().into())
            }
            GroupBy::Host => facts.host.as_deref().map(Cow::Borrowed),
            GroupBy::Siblings => {
                let mut name = Vec::new();
                write_siblings_name(sample, &mut name).then(|| name.into())
            }
            GroupBy::Mapping => None,
        }
    }

    fn command_of(self, sample: &'a ProcessSample) -> Cow<'a, [u8]> {
        command_name(&sample.facts, || self.find(sample.stat.ppid).map(|p| &*p.facts))
    }

    /// Returns the head of the family that a process is in; `None` for kernel threads, and below too many levels.
    pub fn head_of(self, sample: &'a ProcessSample) -> Option<&'a ProcessSample> {
        if sample.stat.is_kernel_thread() {
            return None;
        }
        let mut head = sample;
        // A forged tree may have cycles.
        for _ in 0..MAX_LEVELS {
            let parent = self.find(head.stat.ppid);
            match parent.filter(|parent| parent.id.pid != head.id.pid) {
                Some(parent) if !self.starts_family(head, parent) => head = parent,
                _ => return Some(head),
            }
        }
        None
    }

    /// Returns true if a process is the head of a family, given its parent.
    fn starts_family(self, sample: &'a ProcessSample, parent: &'a ProcessSample) -> bool {
        let (own, above) = (&*sample.facts, &*parent.facts);
        if parent.stat.is_kernel_thread() || own.container_id().is_some() && own.container_id() != above.container_id()
        {
            return true;
        }
        (parent.id.pid == 1 || is_launcher(above)) && self.command_of(sample) != self.command_of(parent)
    }

    /// Returns true if the name of the program depends on the parent.
    pub fn depends_on_parent(self, sample: &ProcessSample) -> bool {
        let mut is_asked = false;
        command_name(&sample.facts, || {
            is_asked = true;
            None
        });
        is_asked
    }

    /// Returns true if the process runs a program that starts unrelated programs, other than a shell.
    pub fn is_launcher(self, sample: &ProcessSample) -> bool {
        has_launcher_name(&sample.facts)
    }

    pub fn find(self, pid: u32) -> Option<&'a ProcessSample> {
        let at = self.0.binary_search_by_key(&pid, |p| p.id.pid).ok()?;
        Some(&self.0[at])
    }
}

/// Maximum length of a title in brackets that is a name, in bytes: a longer one describes what the process does.
const MAX_TITLE: usize = 255;

/// Returns the name of a program:
/// - its title, if it set one in brackets (`[celeryd@stats:MainProcess]`);
/// - what it runs, if its file is an interpreter (`python3 ingest.py`, `java -jar x.jar`), however it was started;
/// - the last part of its file's path, if comm is the start of that, as the kernel cuts it at 15 bytes, or if the
///   parent runs a file of the same name, as for browser workers, which rename themselves;
/// - comm, if the row is a group on another host: that has named it;
/// - else comm, as for a busybox applet, or where the file is hidden.
pub fn command_name<'a, 'b>(facts: &'a Facts, parent: impl FnOnce() -> Option<&'b Facts>) -> Cow<'a, [u8]> {
    let comm = &*facts.comm;
    if facts.host.is_some() {
        return comm.into();
    }
    if let Some(title) = bracketed_title(facts) {
        return title.into();
    }
    if let Some(name) = interpreted_name(facts) {
        return name.into();
    }
    match file_name(facts) {
        Some(name) if name.starts_with(comm) || parent().and_then(|facts| file_name(facts)) == Some(name) => {
            name.into()
        }
        _ => comm.into(),
    }
}

/// Returns the last part of the path of the program's file.
pub(super) fn file_name(facts: &Facts) -> Option<&[u8]> {
    facts.exe.as_deref().ok().map(base).filter(|name| !name.is_empty())
}

/// Returns the bracketed start of a title that a process set. The rest of the title is its current activity.
fn bracketed_title(facts: &Facts) -> Option<&[u8]> {
    let line = facts.cmdline.as_deref().ok()?;
    if line.first() != Some(&b'[') {
        return None;
    }
    let first = line.split(|b| *b == 0).next()?;
    let end = first.iter().take(MAX_TITLE).position(|b| *b == b']')? + 1;
    // Not an empty `[]`, nor the start of a word. `/usr/bin/[` has its bracket in another argument.
    (end > 2 && matches!(first.get(end), None | Some(b' '))).then(|| &first[..end])
}

/// Returns true for a program that starts unrelated programs. The file of a script is its interpreter, so the short name is
/// checked too.
fn is_launcher(facts: &Facts) -> bool {
    has_launcher_name(facts) || is_interactive_shell(facts)
}

fn has_launcher_name(facts: &Facts) -> bool {
    is_launcher_name(&facts.comm) || file_name(facts).is_some_and(is_launcher_name)
}

fn is_launcher_name(name: &[u8]) -> bool {
    // Names with several variants or with suffixes.
    const PREFIXES: [&[u8]; 8] = [
        b"sshd",
        b"tmux",
        b"containerd-shim",
        b"gnome-session",
        b"gnome-terminal",
        b"gdm",
        b"sddm",
        b"PM2 ",
    ];
    let is_known = matches!(
        name,
        // Inits and supervisors.
        b"init" | b"systemd" | b"procd" | b"dinit" | b"openrc-run" | b"supervise-daemo" | b"supervise-daemon"
        | b"runit" | b"runsvdir" | b"runsv" | b"s6-svscan" | b"s6-supervise" | b"svscan" | b"supervise"
        | b"supervisord" | b"circusd" | b"monit" | b"tini" | b"tini-static" | b"dumb-init" | b"catatonit"
        | b"docker-init"
        // Container engines, and what they start containers with.
        | b"dockerd" | b"containerd" | b"conmon" | b"crun" | b"runc" | b"podman" | b"lxc-start" | b"lxd" | b"incusd"
        | b"systemd-nspawn" | b"bwrap"
        // Schedulers of jobs.
        | b"cron" | b"crond" | b"anacron" | b"atd"
        // Sessions, and other users' programs.
        | b"login" | b"su" | b"sudo" | b"doas" | b"pkexec" | b"runuser" | b"dropbear" | b"mosh-server"
        | b"lightdm" | b"xinit" | b"gnome-shell" | b"plasmashell" | b"ksmserver" | b"xfce4-session" | b"xfce4-panel"
        | b"cinnamon-session" | b"cinnamon" | b"mate-session" | b"lxsession" | b"lxqt-session" | b"i3" | b"sway"
        | b"Hyprland" | b"openbox"
        // Terminals.
        | b"screen" | b"zellij" | b"konsole" | b"xterm" | b"urxvt" | b"alacritty" | b"kitty" | b"foot"
        | b"wezterm-gui" | b"ptyxis-agent" | b"tilix" | b"xfce4-terminal" | b"mate-terminal" | b"lxterminal"
    );
    is_known || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
