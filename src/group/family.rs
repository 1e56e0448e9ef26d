//! Families: a daemon and its descendants.
//!
//! The head of a family is the nearest ancestor of a process, or itself, of which one of these is true:
//! - it has no parent that is listed, or its parent is pid 1, which also adopts those whose parents ended;
//! - its parent is a launcher: an init, a supervisor, a job scheduler, a session, a terminal, or a shell that somebody
//!   types into, but not one that runs a script or a command;
//! - it is in a container that its parent is not in.
//!
//! What runs the same program as its parent is of the parent's family all the same: a shell's subshells.
//! A family is named by the program and the pid of its head, as two servers of one program are two families. Where a
//! parent ends before its children, each of these becomes a head: what held them together cannot be seen any more.

use crate::group::interpreter::is_interactive_shell;
use crate::group::name::{Programs, file_name};
use crate::model::process::{Facts, ProcessSample};

/// Maximum number of levels from a process up to its head. No service nests that deep, and walking up a long chain of
/// forks for each of its processes would take too long; what is below belongs to no family.
const MAX_LEVELS: usize = 100;

/// Returns the head of a process's family; `None` for kernel threads, and below too many levels.
pub(super) fn head<'a>(programs: Programs<'a>, sample: &'a ProcessSample) -> Option<&'a ProcessSample> {
    if sample.stat.is_kernel_thread() {
        return None;
    }
    let mut head = sample;
    // A forged tree may have cycles.
    for _ in 0..MAX_LEVELS {
        let parent = programs
            .find(head.stat.ppid)
            .filter(|parent| parent.id.pid != head.id.pid);
        match parent {
            Some(parent) if !starts_family(programs, head, parent) => head = parent,
            _ => return Some(head),
        }
    }
    None
}

/// Returns true if a process is the head of a family, given its parent.
fn starts_family<'a>(programs: Programs<'a>, sample: &'a ProcessSample, parent: &'a ProcessSample) -> bool {
    let (own, above) = (&*sample.facts, &*parent.facts);
    if parent.stat.is_kernel_thread() || own.container.is_some() && own.container != above.container {
        return true;
    }
    (parent.id.pid == 1 || is_launcher(above)) && programs.name_of(sample) != programs.name_of(parent)
}

/// Returns true for what starts programs that have nothing to do with each other. A script has an interpreter's file,
/// so its short name is looked at too.
fn is_launcher(facts: &Facts) -> bool {
    is_launcher_name(&facts.comm) || file_name(facts).is_some_and(is_launcher_name) || is_interactive_shell(facts)
}

fn is_launcher_name(name: &[u8]) -> bool {
    // Those of which there are several, or that put more after their names.
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
