//! OOM kills as the kernel's log has them. The files in `tests/fixtures/kmsg` are logs of three kernels in which a limit
//! of `/shop` was reached, then one of `/batch`, which is killed as a whole (v2), and then the machine's memory was full.

use zmtop::model::kill::{Constraint, OomLimit, OomVictim, RssParts};
use zmtop::proc::kmsg::{LogParser, LoggedKill, LoggedKills};

const EVIL: &str = "ev\nil[31m) x";

fn parse(log: &str) -> LoggedKills {
    let mut parser = LogParser::default();
    log.lines().for_each(|line| parser.feed(line.as_bytes()));
    parser.take()
}

/// The facts of a kill in short.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    pid: u32,
    comm: String,
    cgroup: Option<String>,
    /// The cgroup and the MiB.
    limit: Option<(String, u64)>,
    group: Option<String>,
}

fn told(kill: &LoggedKill) -> Told {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let victim = &kill.victim;
    Told {
        pid: victim.pid,
        comm: text(&victim.comm),
        cgroup: victim.cgroup.as_deref().map(text),
        limit: victim
            .limit
            .as_ref()
            .map(|limit| (text(&limit.cgroup), limit.size.unwrap() >> 20)),
        group: victim.group.as_deref().map(text),
    }
}

/// Returns the expected facts of a kill.
fn expected(pid: u32, comm: &str, cgroup: Option<&str>, limit: Option<(&str, u64)>, group: Option<&str>) -> Told {
    Told {
        pid,
        comm: comm.into(),
        cgroup: cgroup.map(Into::into),
        limit: limit.map(|(path, mib)| (path.into(), mib)),
        group: group.map(Into::into),
    }
}

#[test]
fn kills_have_their_reasons_on_every_kernel() {
    let cases = [
        (
            "5.10-v2",
            include_str!("../../fixtures/kmsg/5.10-v2.log"),
            [91, 94, 93, 96],
            true,
        ),
        (
            "6.1-v1",
            include_str!("../../fixtures/kmsg/6.1-v1.log"),
            [99, 103, 0, 105],
            false,
        ),
        (
            "7.2-v2",
            include_str!("../../fixtures/kmsg/7.2-v2.log"),
            [117, 120, 119, 122],
            true,
        ),
    ];
    for (kernel, log, [shop, batch, other, machine], has_groups) in cases {
        let found = parse(log);
        let rss: Vec<_> = found.kills.iter().map(|kill| kill.victim.rss >> 20).collect();
        let group = has_groups.then_some("/batch");
        let mut all = vec![
            expected(shop, "hog", Some("/shop/importer"), Some(("/shop", 60)), None),
            expected(batch, EVIL, Some("/batch"), Some(("/batch", 50)), group),
        ];
        if has_groups {
            all.push(expected(other, "sleep", None, Some(("/batch", 50)), group));
        }
        all.push(expected(machine, "hog", Some("/"), None, None));
        assert_eq!(found.kills.iter().map(told).collect::<Vec<_>>(), all, "{kernel}");
        // The kernel logs and counts the first victim of a group twice.
        assert_eq!((found.repeats, found.more), (usize::from(has_groups), 0), "{kernel}");
        let constraints: Vec<_> = found.kills.iter().map(|kill| kill.victim.constraint).collect();
        assert_eq!(constraints.first(), Some(&Some(Constraint::Cgroup)), "{kernel}");
        assert_eq!(constraints.last(), Some(&Some(Constraint::None)), "{kernel}");
        assert!(found.kills.is_sorted_by_key(|kill| (kill.record, kill.at)), "{kernel}");
        assert!(
            (59..61).contains(&rss[0]) && (49..51).contains(&rss[1]),
            "{kernel}: {rss:?}"
        );
    }
}

const FIGURES: &str =
    "total-vm:9999kB, anon-rss:3072kB, file-rss:1024kB, shmem-rss:1024kB, UID:0 pgtables:80kB oom_score_adj:0";

fn line(text: &str) -> Option<LoggedKill> {
    parse(&format!("3,812,94608123456,-;{text} {FIGURES}")).kills.pop()
}

fn victim(pid: u32, comm: &[u8], by_cgroup: bool) -> OomVictim {
    OomVictim {
        pid,
        uid: Some(0),
        comm: comm.into(),
        rss: 5 << 20,
        by_cgroup,
        parts: Some(RssParts {
            anon: 3 << 20,
            file: 1 << 20,
            shmem: 1 << 20,
        }),
        page_tables: Some(80 << 10),
        constraint: None,
        limit: None,
        cgroup: None,
        group: None,
    }
}

#[test]
fn the_page_tables_of_a_victim_are_read_behind_its_name() {
    let figures = "total-vm:9999kB, anon-rss:3072kB, file-rss:0kB, shmem-rss:0kB";
    for (name, rest, expected) in [
        ("a", ", UID:0 pgtables:61440kB oom_score_adj:0", Some(60)),
        ("x pgtables:8192kB", ", UID:0 pgtables:1024kB oom_score_adj:0", Some(1)),
        ("x pgtables:8192kB", "", None),
        ("a", ", UID:0 pgtables:18446744073709551615kB oom_score_adj:0", None),
        ("a", ", UID:0 pgtables:", None),
    ] {
        let line = format!("3,812,94608123456,-;Out of memory: Killed process 7 ({name}) {figures}{rest}");
        let found = parse(&line).kills.pop().unwrap().victim.page_tables;
        assert_eq!(found, expected.map(|mib: u64| mib << 20), "{name} {rest}");
    }
}

#[test]
fn the_user_of_a_victim_is_read_behind_its_name() {
    let figures = "total-vm:9999kB, anon-rss:3072kB, file-rss:0kB, shmem-rss:0kB";
    for (name, rest, expected) in [
        ("a", ", UID:1000 pgtables:4kB oom_score_adj:0", Some(1000)),
        (
            "a",
            ", UID:4294967294 pgtables:4kB oom_score_adj:0",
            Some(4_294_967_294),
        ),
        ("a", ", UID:0", Some(0)),
        (", UID:7 pgtab", ", UID:6 pgtables:4kB oom_score_adj:0", Some(6)),
        (", UID:7 pgtab", "", None),
        ("a", " pgtables:4kB oom_score_adj:0", None),
        ("a", ", UID:99999999999 pgtables:4kB", None),
        ("a", ", UID:-1 pgtables:4kB", None),
        ("a", ", UID:", None),
    ] {
        let line = format!("3,812,94608123456,-;Out of memory: Killed process 7 ({name}) {figures}{rest}");
        let found = parse(&line).kills.pop().unwrap().victim.uid;
        assert_eq!(found, expected, "{name} {rest}");
    }
}

#[test]
fn kills_are_distinguished_from_what_else_is_in_the_log() {
    for (text, expected) in [
        (
            "Out of memory: Killed process 71 (python3)",
            victim(71, b"python3", false),
        ),
        (
            "Memory cgroup out of memory: Killed process 7 (a)",
            victim(7, b"a", true),
        ),
        (
            "Out of memory (oom_kill_allocating_task): Killed process 7 (a)",
            victim(7, b"a", false),
        ),
        // A name may be anything, and is written with escapes.
        (
            r"Out of memory: Killed process 7 (ev\x1bil) total-vm:1kB, anon-rss:9kB ()",
            victim(7, b"ev\x1bil) total-vm:1kB, anon-rss:9kB (", false),
        ),
        (
            r"Out of memory: Killed process 7 (\x5cx\xzz)",
            victim(7, br"\x\xzz", false),
        ),
    ] {
        let found = line(text).unwrap();
        assert_eq!((found.record, found.at.as_micros()), (812, 94_608_123_456), "{text}");
        assert_eq!(found.victim, expected, "{text}");
    }
    for bad in [
        "oom-kill:constraint=CONSTRAINT_NONE,task=python3,pid=71,uid=0",
        "Out of memory: Killed process 71 (python3",
        "Out of memory: Killed process x (python3)",
        "Out of memory: Killed process -1 (python3)",
        "Out of memory: Killed process 99999999999 (python3)",
        "Out of memory: Killed process",
    ] {
        assert_eq!(line(bad), None, "{bad}");
    }
    let good = format!("Out of memory: Killed process 71 (a) {FIGURES}");
    // A program wrote that, it is a property of the record before, and these are cut off or no records.
    for bad in [
        format!("12,812,5,-;{good}"),
        format!(" 3,812,5,-;{good}"),
        format!("3,x,5,-;{good}"),
        format!("3,812;{good}"),
        format!("3;{good}"),
        good,
        String::new(),
    ] {
        assert_eq!(parse(&bad), LoggedKills::default(), "{bad}");
    }
}

/// The report's last line and the kill, the latter after so many milliseconds.
fn reported(at: u64, summary: &str, message: &str) -> String {
    format!("6,1,{at}000,-;oom-kill:{summary}\n3,2,{at}001,-;{message} 7 (a,pid=7,uid=0) {FIGURES}\n")
}

#[test]
fn a_summary_is_read_whatever_its_names_are() {
    let summary = |rest: &str| {
        let head = "constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0";
        let text = format!("{head}{rest},task=a,pid=7,uid=0,pid=7,uid=0");
        parse(&reported(5, &text, "Memory cgroup out of memory: Killed process"))
    };
    let cases = [
        (",oom_memcg=/a,task_memcg=/a/b", Some(("/a", "/a/b"))),
        // Of two ways to read it, the one in which a cgroup is below the other is right.
        (
            ",oom_memcg=/x,task_memcg=/y,task_memcg=/x,task_memcg=/y/z",
            Some(("/x,task_memcg=/y", "/x,task_memcg=/y/z")),
        ),
        (
            r",oom_memcg=/\xc3\xa4\x1b,task_memcg=/\xc3\xa4\x1b/,task=x,pid=1,uid=2",
            Some(("/ä\u{1b}", "/ä\u{1b}/,task=x,pid=1,uid=2")),
        ),
        (",oom_memcg=/a", None),
    ];
    for (rest, expected) in cases {
        let victim = summary(rest).kills.pop().unwrap().victim;
        let limit = victim.limit.map(|limit| (limit.cgroup, limit.size));
        let expected_limit = expected.map(|(limit, _)| (Box::from(limit.as_bytes()), None));
        assert_eq!(limit, expected_limit, "{rest}");
        assert_eq!(
            victim.cgroup,
            expected.map(|(_, cgroup)| cgroup.as_bytes().into()),
            "{rest}"
        );
    }
}

#[test]
fn the_name_of_a_cgroup_imitates_neither_another_cgroup_nor_a_limit() {
    let own = ",task=a,pid=7,uid=0,pid=7,uid=0";
    let cases = [
        // A cpuset, in which a machine's kill and one at a limit are imitated.
        (
            "CONSTRAINT_MEMCG",
            "x,mems_allowed=0,oom_memcg=postgres,task_memcg=postgres",
            ",oom_memcg=/u,task_memcg=/u/a",
            (Some("/u"), "/u/a"),
        ),
        (
            "CONSTRAINT_MEMCG",
            "x,mems_allowed=0,global_oom,task_memcg=postgres",
            ",oom_memcg=/u,task_memcg=/u/a",
            (Some("/u"), "/u/a"),
        ),
        // A cgroup.
        (
            "CONSTRAINT_NONE",
            "/",
            ",global_oom,task_memcg=/u,oom_memcg=/postgres,task_memcg=/postgres",
            (None, "/u,oom_memcg=/postgres,task_memcg=/postgres"),
        ),
        (
            "CONSTRAINT_MEMCG",
            "/",
            ",oom_memcg=/u,global_oom,task_memcg=/postgres,task_memcg=/u,global_oom,task_memcg=/postgres/b",
            (
                Some("/u,global_oom,task_memcg=/postgres"),
                "/u,global_oom,task_memcg=/postgres/b",
            ),
        ),
    ];
    for (constraint, cpuset, rest, (limit, cgroup)) in cases {
        let summary = format!("constraint={constraint},nodemask=(null),cpuset={cpuset},mems_allowed=0{rest}{own}");
        let log = reported(5, &summary, "Memory cgroup out of memory: Killed process");
        let victim = parse(&log).kills.pop().unwrap().victim;
        let found = victim.limit.map(|limit| limit.cgroup);
        assert_eq!(found, limit.map(|path| path.as_bytes().into()), "{rest}");
        assert_eq!(victim.cgroup, Some(cgroup.as_bytes().into()), "{rest}");
    }
}

#[test]
fn the_name_of_a_program_removes_no_limit() {
    let summary = "constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=a,pid=7,uid=0,pid=7,uid=0";
    let report = reported(5, summary, "Memory cgroup out of memory: Killed process");
    let (summary, kill) = report.split_once('\n').unwrap();
    for name in ["oom-kill:constr", "memory: usage 9"] {
        let line = format!("6,1,5,-;{name}[123]: segfault at 0 ip 0 sp 0 error 4");
        let text = format!("6,1,1,-;memory: usage 100kB, limit 100kB, failcnt 1\n{summary}\n{line}\n{kill}");
        let limit = parse(&text).kills.pop().unwrap().victim.limit.unwrap();
        assert_eq!((&*limit.cgroup, limit.size), (&b"/a"[..], Some(100 << 10)), "{name}");
    }
}

#[test]
fn a_report_counts_for_one_kill_and_only_for_its_own_victim() {
    let summary = "constraint=CONSTRAINT_CPUSET,nodemask=0,cpuset=x,mems_allowed=0,global_oom,task_memcg=/a,task=a,pid=7,uid=0,pid=7,uid=0";
    let report = reported(5, summary, "Out of memory: Killed process");
    let again = format!("3,9,5002,-;Out of memory: Killed process 8 (b) {FIGURES}\n");
    let found = parse(&(report.clone() + &again));
    let constraints: Vec<_> = found.kills.iter().map(|kill| kill.victim.constraint).collect();
    assert_eq!(constraints, [Some(Constraint::Cpuset), None]);
    // The kernel left the kill's line out.
    let (cut, _) = report.split_once('\n').unwrap();
    assert_eq!(
        parse(&format!("{cut}\n{again}")).kills[0].victim,
        victim(8, b"b", false)
    );
    // A new report begins before the old one ended.
    let other = "4,3,1,-;x invoked oom-killer: gfp_mask=0\n";
    let kill = report.lines().nth(1).unwrap();
    assert_eq!(parse(&format!("{cut}\n{other}{kill}")).kills[0].victim.constraint, None);
    // Other programs' records come between the parts of a line that was too long for one record.
    let (start, rest) = cut.split_at(60);
    let parts = format!("{start}\n6,1,5,c;{rest}\n{kill}");
    assert_eq!(parse(&parts).kills[0].victim.constraint, Some(Constraint::Cpuset));
}

#[test]
fn a_limit_with_swap_counts_where_that_is_nearer() {
    let summary = "constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=a,pid=7,uid=0,pid=7,uid=0";
    let report = reported(5, summary, "Memory cgroup out of memory: Killed process");
    for (memory, with_swap, expected) in [
        ("100kB, limit 100kB", Some("100kB, limit 100kB"), Some((100, 100))),
        ("90kB, limit 100kB", Some("150kB, limit 150kB"), Some((150, 150))),
        (
            "90kB, limit 100kB",
            Some("90kB, limit 9007199254740988kB"),
            Some((90, 100)),
        ),
        ("90kB, limit 9007199254740988kB", None, None),
        ("90kB, lim", None, None),
        ("99999999999999999999kB, limit 100kB", None, None),
    ] {
        let with_swap = with_swap.map(|usage| format!("6,1,1,-;memory+swap: usage {usage}, failcnt 1\n"));
        let text = format!(
            "6,1,1,-;memory: usage {memory}, failcnt 1\n{}{report}",
            with_swap.unwrap_or_default()
        );
        let limit = parse(&text).kills.pop().unwrap().victim.limit.unwrap();
        let expected = OomLimit {
            cgroup: (*b"/a").into(),
            usage: expected.map(|(usage, _)| usage << 10),
            size: expected.map(|(_, limit)| limit << 10),
            files: None,
        };
        assert_eq!(limit, expected, "{memory}");
    }
}

#[test]
fn page_cache_at_the_kill_is_that_of_the_statistics_without_shared_memory() {
    let summary = "constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=a,pid=7,uid=0,pid=7,uid=0";
    let report = reported(5, summary, "Memory cgroup out of memory: Killed process");
    let head = "Memory cgroup stats for /a:";
    let end = "6,1,1,-;Tasks state (memory values in pages):\n6,1,1,-;file 5";
    for (name, lines, expected) in [
        (
            "one record",
            vec![r"anon 1000\x0afile 900\x0asock 0\x0ashmem 200\x0afile_map"],
            Some(700),
        ),
        ("a record each", vec!["anon 1000", "file 900", "shmem 200"], Some(700)),
        (
            "version 1, with those below it",
            vec![
                "cache 900",
                "shmem 200",
                "hierarchical_memory_limit 5",
                "total_cache 1900",
                "total_shmem 300",
            ],
            Some(1600),
        ),
        ("cut", vec![r"anon 1000\x0afile 900\x0aso"], None),
        ("none", vec![], None),
    ] {
        let lines = [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n6,1,1,-;");
        let text = format!("6,1,1,-;memory: usage 9kB, limit 9kB, failcnt 1\n6,1,1,-;{lines}\n{end}\n{report}");
        let limit = parse(&text).kills.pop().unwrap().victim.limit.unwrap();
        assert_eq!(limit.files, expected, "{name}");
    }
}

#[test]
fn a_group_may_come_in_several_reads_and_ends() {
    let kill = |at: u64, pid: u32| {
        format!("3,{at},{at}000000,-;Memory cgroup out of memory: Killed process {pid} (a) {FIGURES}")
    };
    let group = "6,1,1,-;Tasks in /g are going to be killed due to memory.oom.group set";
    let mut parser = LogParser::default();
    let mut feed = |lines: &[&str]| {
        for line in lines {
            parser.feed(line.as_bytes());
        }
        parser.take()
    };
    let group_of = |found: &LoggedKills| {
        found
            .kills
            .iter()
            .map(|kill| kill.victim.group.clone())
            .collect::<Vec<_>>()
    };
    let g = || Some(Box::from(&b"/g"[..]));
    let first = feed(&[&kill(1, 5)]);
    assert_eq!((group_of(&first), first.group_of_last), (vec![None], None));
    let second = feed(&[group, &kill(2, 6), &kill(2, 5)]);
    assert_eq!(
        (group_of(&second), second.repeats, second.group_of_last),
        (vec![g()], 1, g())
    );
    // A second without a kill ends the group.
    let third = feed(&[&kill(3, 7), &kill(5, 8)]);
    assert_eq!(group_of(&third), [g(), None]);
    // The line of a group without a kill before it is ignored.
    assert_eq!(parse(group), LoggedKills::default());
}

#[test]
fn of_a_flood_the_last_kills_are_kept_and_all_are_counted() {
    let lines = (0..1000).map(|pid| format!("3,{pid},{pid},-;Out of memory: Killed process {pid} (a) {FIGURES}\n"));
    let found = parse(&lines.collect::<String>());
    assert_eq!((found.kills.len(), found.more), (64, 936));
    assert_eq!(found.kills.last().unwrap().victim.pid, 999);
}

#[test]
fn a_flood_of_kills_at_a_limit_keeps_those_of_the_machine() {
    let machine = format!("3,1,1,-;Out of memory: Killed process 5 (database) {FIGURES}\n");
    let own =
        (10..1010).map(|n| format!("3,{n},{n},-;Memory cgroup out of memory: Killed process {n} (own) {FIGURES}\n"));
    let found = parse(&(machine + &own.collect::<String>()));
    let pids: Vec<_> = found.kills.iter().map(|kill| kill.victim.pid).collect();
    assert_eq!((pids.len(), found.more), (64, 937));
    assert_eq!((pids[0], pids[63]), (5, 1009));
}

#[test]
fn a_huge_summary_is_cut_whatever_follows() {
    let long = "x".repeat(40 << 10);
    let text =
        format!("3,1,1,-;oom-kill:{long}\n3,2,2,c;{long}\n3,3,3,-;Out of memory: Killed process 5 (a) {FIGURES}\n");
    assert_eq!(parse(&text).kills.len(), 1);
}
