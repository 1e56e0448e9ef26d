//! The names of programs, and the groups of processes.

use std::time::Duration;

use zmtop::group::{GroupBy, GroupNames, command_name};
use zmtop::model::{Facts, Missing};

use super::{bytes, groups, program};
use crate::support::rows::{process, snapshot, subordinate, with_facts};

fn facts(comm: &[u8], exe: Option<&[u8]>, cmdline: &[u8]) -> Facts {
    Facts {
        exe: exe.map(bytes).ok_or(Missing::Denied),
        cmdline: Ok(cmdline.into()),
        ..Facts::pending(comm)
    }
}

#[track_caller]
fn called(comm: &[u8], exe: Option<&[u8]>, cmdline: &[u8], parent: Option<&[u8]>, want: &[u8]) {
    let own = facts(comm, exe, cmdline);
    let parent = parent.map(|exe| facts(b"parent", Some(exe), b""));
    let name = command_name(&own, || parent.as_ref());
    let text = String::from_utf8_lossy;
    assert_eq!(&*name, want, "{} is not {}", text(&name), text(want));
}

#[test]
fn a_name_that_the_kernel_cut_is_whole_again() {
    let exe = b"/usr/lib/thunderbird/mozilla-thunderbird-bin";
    called(b"mozilla-thunder", Some(exe), b"", None, b"mozilla-thunderbird-bin");
    called(b"bash", Some(b"/usr/bin/bash"), b"-bash", None, b"bash");
    called(b"cat", Some(b"cat"), b"cat", None, b"cat");
}

#[test]
fn an_applet_is_called_what_it_is() {
    // So is a script whose command line is unknown.
    let python: Option<&[u8]> = Some(b"/usr/bin/python3.13");
    called(b"train.py", python, b"", Some(b"/usr/bin/bash"), b"train.py");
    called(b"sh", Some(b"/bin/busybox"), b"sh", None, b"sh");
    called(b"httpd", Some(b"/bin/busybox"), b"httpd", Some(b"/sbin/init"), b"httpd");
}

#[test]
fn a_renamed_worker_is_called_as_its_parent_is() {
    let firefox: Option<&[u8]> = Some(b"/usr/lib/firefox/firefox");
    called(b"Web Content", firefox, b"", firefox, b"firefox");
    called(b"Web Content", firefox, b"", Some(b"/opt/firefox/firefox"), b"firefox");
    called(b"Web Content", firefox, b"", Some(b"/usr/bin/bash"), b"Web Content");
    called(b"Web Content", firefox, b"", None, b"Web Content");
    // Its own parent being hidden says nothing.
    let own = facts(b"Web Content", firefox, b"");
    let parent = Facts::pending(b"firefox");
    assert_eq!(&*command_name(&own, || Some(&parent)), b"Web Content");
    // comm is no beginning of the file's name, only a part of it.
    called(b"fox", firefox, b"", None, b"fox");
}

#[test]
fn where_the_file_is_hidden_the_short_name_stands() {
    called(b"nginx", None, b"nginx: worker process", None, b"nginx");
    called(b"nginx", None, b"", Some(b"/usr/sbin/nginx"), b"nginx");
    called(b"x", Some(b"/"), b"", None, b"x");
    called(b"x", Some(b""), b"", Some(b""), b"x");
    // A process may even take away its short name.
    called(b"", Some(b"/usr/bin/app"), b"", None, b"app");
    called(b"", None, b"", None, b"");
}

#[test]
fn a_title_in_brackets_is_a_name() {
    let python: Option<&[u8]> = Some(b"/usr/bin/python3.13");
    let title = b"[celeryd@stats:MainProcess] -active- (worker -c 4)\0\0\0";
    called(b"python3", python, title, None, b"[celeryd@stats:MainProcess]");
    called(b"celery", None, b"[celeryd]", None, b"[celeryd]");
    called(b"celery", None, b"[celeryd]\0-v", None, b"[celeryd]");
    // `[` is a program, and its bracket another argument.
    called(b"[", Some(b"/usr/bin/["), b"[\0-f\0x\0]\0", None, b"[");
    for no_title in [&b"[] x"[..], b"[celeryd]x", b"[celeryd", b"x [celeryd]", b"", b"["] {
        called(b"python3", python, no_title, None, b"python3.13");
    }
    let long = [b"[", &[b'x'; 400][..], b"]"].concat();
    called(b"python3", python, &long, None, b"python3.13");
}

#[test]
fn hostile_bytes_stay_as_they_are() {
    called(b"\x1b]52;c;x\x07", None, b"", None, b"\x1b]52;c;x\x07");
    called(
        b"a\nb) R 1 (x",
        Some(b"/tmp/a\nb) R 1 (xyz"),
        b"",
        None,
        b"a\nb) R 1 (xyz",
    );
    called(b"\xff\xfe", Some(b"/tmp/\xff\xfe\xfd"), b"", None, b"\xff\xfe\xfd");
    called(b"p", None, b"[\xff\x1b[2J]", None, b"[\xff\x1b[2J]");
    let snap = snapshot(Duration::ZERO, vec![program(1, 0, "\x1b[31m", "/x")]);
    assert_eq!(groups(&snap, GroupBy::Command)[0].key.label(), b"\x1b[31m");
}

#[test]
fn the_parent_is_found() {
    let rows = [
        program(10, 1, "firefox", "/usr/lib/firefox"),
        program(20, 10, "Web Content", "/usr/lib/firefox"),
        program(30, 20, "GPU Process", "/usr/lib/firefox"),
        program(40, 99, "Lost", "/usr/lib/firefox"),
    ];
    let names = GroupNames::new(&rows);
    for row in &rows {
        let want: &[u8] = if row.id.pid == 40 { b"Lost" } else { b"firefox" };
        assert_eq!(names.name_of(row, GroupBy::Command).as_deref(), Some(want));
        assert_eq!(names.depends_on_parent(row), row.id.pid != 10);
    }
}

#[test]
fn processes_without_a_group_are_together() {
    let hidden = with_facts(process(3, 1, "c"), |f| {
        f.user = Err(Missing::Denied);
        f.cgroup = Err(Missing::Denied);
    });
    let unit = with_facts(process(2, 1, "b"), |f| f.unit = Some(bytes("ssh.service")));
    let snap = snapshot(Duration::ZERO, vec![process(1, 0, "a"), unit, hidden]);
    let names = |by| -> Vec<(String, usize)> {
        groups(&snap, by)
            .iter()
            .map(|g| (String::from_utf8_lossy(g.key.label()).into(), g.totals.count))
            .collect()
    };
    let want = |list: &[(&str, usize)]| -> Vec<(String, usize)> {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    assert_eq!(names(GroupBy::Unit), want(&[("(none)", 2), ("ssh.service", 1)]));
    assert_eq!(names(GroupBy::Container), want(&[("(none)", 3)]));
    assert_eq!(names(GroupBy::User), want(&[("root", 2), ("(unknown)", 1)]));
    let rows = [
        process(4, 1, "a"),
        subordinate(process(5, 1, "b"), 100_000, 1000),
        subordinate(process(6, 1, "c"), 100_033, 1000),
    ];
    let of_owner = groups(&snapshot(Duration::ZERO, rows.into()), GroupBy::User);
    let counts: Vec<_> = of_owner.iter().map(|g| (g.key.label(), g.totals.count)).collect();
    assert_eq!(
        counts,
        [(&b"root"[..], 1), (b"user1000", 2)],
        "subordinate uids count to their owner"
    );
    assert_eq!(names(GroupBy::Cgroup), want(&[("/", 2), ("(unknown)", 1)]));
    assert_eq!(names(GroupBy::Command), want(&[("a", 1), ("b", 1), ("c", 1)]));
    assert!(names(GroupBy::Mapping).is_empty());
}

#[test]
fn every_way_has_a_name_of_its_own() {
    for by in GroupBy::ALL {
        assert_eq!(GroupBy::from_id(by.id()), Some(by));
        assert_eq!(by.title().to_lowercase(), by.id());
    }
    assert_eq!(GroupBy::from_id("nonsense"), None);
    assert_eq!(GroupBy::OF_PROCESSES[..], GroupBy::ALL[..8]);
    assert_eq!(GroupBy::OF_ONE_HOST[..], GroupBy::ALL[..7]);
}
