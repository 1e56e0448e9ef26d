//! Page 2 of a cgroup: why it has more memory than its processes.

use std::sync::Arc;

use zmtop::account::{Account, ProcessTotals, explained};
use zmtop::columns::Needs;
use zmtop::model::container::{Container, ContainerNames};
use zmtop::model::snapshot::InspectedCgroup;
use zmtop::model::system::{ScopeEvents, SystemSample};
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::sampler::Scanner;
use zmtop::tui::{CacheScope, Effect, Event};

use super::scope::{V1, V2, container};
use crate::support::block_on;
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};
use crate::support::session::{Session, assert_tame, grouped as in_cgroups};
use crate::support::tree::ProcTree;

const KIB: u64 = 1 << 10;
/// The cgroup of the made machine's container.
const CONTAINER: &[u8] = b"/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The made machine's processes, with a container whose id its cgroup has.
fn grouped(step: u64) -> Vec<ProcessSample> {
    let id = &CONTAINER[b"/docker/".len()..];
    let container = Arc::new(Container {
        id: id.into(),
        names: Ok(ContainerNames {
            name: b"web"[..].into(),
            pod: None,
            namespace: None,
            image: None,
        }),
    });
    let contained = |one: ProcessSample| {
        with_facts(one, |facts| {
            facts.container = facts.container.take().map(|_| Arc::clone(&container));
        })
    };
    in_cgroups(step).into_iter().map(contained).collect()
}

fn inspect(tree: &ProcTree, path: &str) -> Arc<Snapshot> {
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::ACCOUNT);
    scanner.set_inspected(Some(path.as_bytes().into()));
    block_on(scanner.full())
}

fn system_of(snapshot: &Snapshot) -> Result<&SystemSample, Missing> {
    let inspected = snapshot.inspected.as_ref().unwrap();
    inspected.system.as_ref().map_err(|why| *why)
}

/// The account of the processes whose cgroup is `path` or below it.
fn account_of(snapshot: &Snapshot, path: &[u8]) -> Account {
    let is_in = |cgroup: &[u8]| cgroup.starts_with(path);
    let totals = ProcessTotals::of_those(snapshot, |row| row.facts.cgroup.as_deref().is_ok_and(is_in));
    let account = explained(system_of(snapshot).unwrap(), &totals).unwrap();
    assert!(account.parts.iter().all(|part| !part.help.is_empty()));
    account
}

fn sum(account: &Account) -> u64 {
    account.parts.iter().filter_map(|part| part.bytes.ok()).sum()
}

fn part(account: &Account, id: &str) -> Result<u64, Missing> {
    let within = account.parts.iter().flat_map(|part| &part.within);
    let found = account.parts.iter().chain(within).find(|part| part.id == id);
    found.unwrap_or_else(|| panic!("no part is {id}: {account:#?}")).bytes
}

#[test]
fn the_parts_of_v2_are_what_is_charged() {
    let snapshot = inspect(&container(V2), "/pod/app");
    // The whole machine is still shown.
    assert_eq!(snapshot.rows().len(), 3);
    let account = account_of(&snapshot, b"/pod/app");
    assert_eq!(
        (account.total, account.total_title),
        (Ok(88 * MIB), "charged to the cgroup")
    );
    assert_eq!(
        sum(&account).cast_signed() + account.rest.unwrap(),
        (88 * MIB).cast_signed()
    );
    assert_eq!(account.rest, Ok(MIB.cast_signed()));
    // Half of 31,000 KiB is anonymous; of the other half, only 10 MiB of files are charged to it.
    let here = 15_500 * KIB + 10 * MIB;
    for (id, bytes) in [
        ("processes", here),
        ("processes_pss", 31_000 * KIB),
        ("processes_elsewhere", 31_000 * KIB - here),
        ("mapped_elsewhere", 50 * MIB - here),
        ("files_cached", 20 * MIB),
        ("shmem_kept", 6 * MIB),
        ("swap_cache", MIB),
        ("sockets", MIB),
        ("slab_reclaimable", 3 * MIB),
        ("slab_unreclaimable", 2 * MIB),
        ("page_tables", MIB),
        ("kernel", 2 * MIB),
    ] {
        assert_eq!(part(&account, id), Ok(bytes), "{id}");
    }
}

#[test]
fn the_parts_of_v1_are_what_is_charged() {
    let tree = container(V1);
    for pid in [1, 7] {
        tree.process(pid).cgroup("4:memory:/docker/ab\n").pss_kb(8000).write();
    }
    for (file, content) in [
        ("memory.usage_in_bytes", 82 * MIB),
        ("memory.limit_in_bytes", 100 * MIB),
        ("memory.kmem.usage_in_bytes", 9 * MIB),
        ("memory.failcnt", 12),
    ] {
        tree.write(
            &format!("sys/fs/cgroup/memory/docker/ab/{file}"),
            format!("{content}\n"),
        );
    }
    tree.write(
        "sys/fs/cgroup/memory/docker/ab/memory.oom_control",
        "under_oom 0\noom_kill 3\n",
    );
    let stat = format!(
        "total_cache {}\ntotal_rss {}\ntotal_shmem {}\ntotal_mapped_file {}\n",
        36 * MIB,
        36 * MIB,
        6 * MIB,
        10 * MIB
    );
    tree.write("sys/fs/cgroup/memory/docker/ab/memory.stat", stat);
    let snapshot = inspect(&tree, "/docker/ab");
    let account = account_of(&snapshot, b"/docker/ab");
    // All but 1 MiB, which no file of v1 tells.
    assert_eq!((account.total, sum(&account)), (Ok(82 * MIB), 81 * MIB), "{account:#?}");
    assert_eq!(part(&account, "processes"), Ok(16_000 * KIB));
    assert_eq!(part(&account, "processes_elsewhere"), Ok(0));
    assert_eq!(part(&account, "mapped_elsewhere"), Ok(46 * MIB - 16_000 * KIB));
    assert_eq!(
        (part(&account, "files_cached"), part(&account, "shmem_kept")),
        (Ok(20 * MIB), Ok(6 * MIB))
    );
    let scope = system_of(&snapshot).unwrap().scope.as_deref().unwrap();
    assert_eq!(
        scope.events,
        ScopeEvents {
            max: Ok(12),
            oom_kill: Ok(3),
            ..ScopeEvents::missing(Missing::Unsupported)
        }
    );
}

#[test]
fn who_maps_what() {
    // Charged: anonymous, files, shmem, mapped. PSS: anonymous, files, shmem.
    // Expected: processes here, elsewhere, of others, file cache, shmem.
    for (charged, pss, expected) in [
        // All its own.
        ([40, 20, 6, 10], [40, 10, 0], [50, 0, 0, 10, 6]),
        // It maps libraries that another cgroup read first.
        ([40, 20, 6, 10], [40, 30, 0], [50, 20, 0, 10, 6]),
        // Its memory was charged before it was moved here.
        ([5, 0, 0, 0], [40, 0, 0], [5, 35, 0, 0, 0]),
        // Its processes left, and their memory stayed.
        ([40, 20, 6, 10], [0, 0, 0], [0, 0, 50, 10, 6]),
        // It maps a part of its shared memory.
        ([10, 20, 30, 25], [10, 1, 24], [35, 0, 0, 19, 6]),
        // A tmpfs that nobody maps.
        ([0, 0, 99, 0], [0, 0, 0], [0, 0, 0, 0, 99]),
        // More is mapped than there are files.
        ([0, 5, 30, 25], [0, 0, 0], [0, 0, 25, 0, 10]),
    ] {
        let mut system = SystemSample::missing(Missing::Unsupported);
        let [anon, files, shmem, mapped] = charged.map(|mib| Ok(mib * MIB));
        (system.anon_pages, system.shmem, system.mapped) = (anon, shmem, mapped);
        system.cached = Ok(files.unwrap() + shmem.unwrap());
        let total = (charged[0] + charged[1] + charged[2]) * MIB;
        let (kind, path) = (zmtop::model::system::ScopeKind::Chosen, Arc::from(&b"/a"[..]));
        let mut scope = zmtop::model::system::Scope::missing(kind, path, Missing::Unsupported);
        scope.current = Ok(total);
        system.scope = Some(Box::new(scope));
        let mut one = process(7, 1, "app");
        let [pss_anon, pss_file, pss_shmem] = pss.map(|mib| mib * MIB);
        let mut walked = walk(pss_anon + pss_file + pss_shmem, 0);
        walked.memory.pss_anon = Ok(pss_anon);
        (walked.memory.pss_file, walked.memory.pss_shmem) = (Ok(pss_file), Ok(pss_shmem));
        one.walk = Ok(walked);
        let made = snapshot(std::time::Duration::ZERO, vec![one]);
        let account = explained(&system, &ProcessTotals::of(&made)).unwrap();
        let ids = [
            "processes",
            "processes_elsewhere",
            "mapped_elsewhere",
            "files_cached",
            "shmem_kept",
        ];
        let found = ids.map(|id| part(&account, id).unwrap() / MIB);
        assert_eq!(found, expected, "{charged:?} {pss:?}");
        assert_eq!((sum(&account), account.rest), (total, Ok(0)), "{charged:?} {pss:?}");
        // No process is in it.
        let none = ProcessTotals::of_those(&made, |_| false);
        let account = explained(&system, &none).unwrap();
        assert_eq!((part(&account, "processes"), sum(&account)), (Ok(0), total));
    }
}

#[test]
fn limits_of_all_above_it_and_events() {
    let tree = container(V2);
    tree.write(
        "sys/fs/cgroup/pod/app/memory.events",
        "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n",
    );
    tree.write("sys/fs/cgroup/pod/app/init.scope/memory.max", "max\n");
    let snapshot = inspect(&tree, "/pod/app/init.scope");
    // The innermost has no figures: memory is charged to the one above.
    assert_eq!(system_of(&snapshot).err(), Some(Missing::Unsupported));
    let snapshot = inspect(&tree, "/pod/app");
    let scope = system_of(&snapshot).unwrap().scope.as_deref().unwrap();
    let levels: Vec<_> = scope
        .levels
        .iter()
        .map(|level| (&*level.path, level.limit, level.high))
        .collect();
    assert_eq!(
        levels,
        [
            (&b"/pod/app"[..], Ok(Some(120 * MIB)), Ok(Some(110 * MIB))),
            (b"/pod", Ok(Some(200 * MIB)), Ok(None)),
        ]
    );
    assert_eq!(
        scope.events.named().map(|(_, count)| count.unwrap()),
        [1, 2, 3, 4, 5, 6]
    );
    let (_, text, _) = tree.zmtop("mem --cgroup pod/app --units m");
    for line in [
        "/pod/app      88M  120M  110M  3.0M       10M",
        "/pod         160M  200M   max     0       max",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let (_, json, _) = tree.zmtop("mem --cgroup pod/app --format json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["scope"]["levels"][1]["limit"], 200 * MIB);
    assert_eq!(value["scope"]["events"]["oom_group_kill"], 6);
}

#[test]
fn a_cgroup_that_cannot_be_read_has_a_reason() {
    let without = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    for (mountinfo, path, why) in [
        (V2, "/removed", Missing::OutOfView),
        (V2, "/../pod", Missing::OutOfView),
        (V2, "/", Missing::Unsupported),
        (V2, "relative", Missing::OutOfView),
        (without, "/pod/app", Missing::OutOfView),
        ("", "/pod/app", Missing::Unsupported),
    ] {
        let tree = container(V2);
        tree.system("self/mountinfo", mountinfo);
        let snapshot = inspect(&tree, path);
        assert_eq!(system_of(&snapshot).err(), Some(why), "{mountinfo} {path}");
    }
    // Without a wish, nothing is read.
    let tree = container(V2);
    let mut scanner = Scanner::new(&tree.options());
    assert!(block_on(scanner.full()).inspected.is_none());
    // The one asked for last is published, and none once it is no longer asked for.
    for path in [Some("/pod"), Some("/pod/app"), None] {
        scanner.set_inspected(path.map(|path| path.as_bytes().into()));
        let snapshot = block_on(scanner.full());
        let shown = snapshot.inspected.as_ref().map(|one| (&*one.path, one.system.is_ok()));
        assert_eq!(shown, path.map(|path| (path.as_bytes(), true)));
    }
}

#[test]
fn of_five_thousand_cgroups_one_is_read() {
    let tree = container(V2);
    for number in 0..5000 {
        std::fs::create_dir_all(tree.path(&format!("sys/fs/cgroup/many/{number}"))).unwrap();
    }
    tree.write("sys/fs/cgroup/many/4999/memory.current", format!("{MIB}\n"));
    let snapshot = inspect(&tree, "/many/4999");
    assert_eq!(system_of(&snapshot).unwrap().scope.as_ref().unwrap().current, Ok(MIB));
}

/// A session by container, of which the made one has the figures of `/pod/app`.
fn by_container(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    session.tick(1, grouped(0)).keys("Tab Tab Tab Tab");
    session
}

/// Ticks with the figures of the cgroup that the screen asked for last.
fn tick(session: &mut Session, seconds: u64, system: Result<&SystemSample, Missing>) {
    let wanted = session.wanted.last().unwrap().inspected.clone();
    for _ in 0..seconds {
        session.tick_with(1, grouped(0), |made| {
            made.inspected = wanted.clone().map(|path| {
                let mut system = system.cloned();
                if let Ok(scope) = system.as_mut().map(|system| system.scope.as_deref_mut().unwrap()) {
                    scope.path = Arc::clone(&path);
                }
                Arc::new(InspectedCgroup {
                    path,
                    system,
                    accounting: zmtop::model::system::AccountingInputs::missing(Missing::Unsupported),
                })
            });
        });
    }
}

#[test]
fn two_shows_the_selected_cgroup_and_again_the_machine() {
    let snapshot = inspect(&container(V2), "/pod/app");
    let system = system_of(&snapshot).unwrap();
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = by_container(width, height);
        select_container(&mut session);
        assert!(
            session.picture().contains("its memory") || width < 100,
            "{}",
            session.picture()
        );
        session.keys("2");
        tick(&mut session, 70, Ok(system));
        insta::assert_snapshot!(format!("inspected-{width}x{height}"), session.picture());
        session.keys("2");
        assert!(session.picture().contains("MemTotal"), "{}", session.picture());
        assert_eq!(session.wanted.last().unwrap().inspected, None);
        session.keys("2");
        assert!(session.wanted.last().unwrap().inspected.is_some());
        // It is left, and nothing is read any more.
        session.keys("Esc");
        assert_eq!(
            (
                session.app.pages.open(),
                session.wanted.last().unwrap().inspected.clone()
            ),
            (None, None)
        );
    }
}

#[test]
fn keys_that_lead_to_a_cgroup() {
    // Groups by container, unit, cgroup, program; the container is the first group, or the last by cgroup.
    for (keys, expected) in [
        ("Tab Tab Tab Tab 2", Some(CONTAINER)),
        ("Tab Tab Tab Tab p Enter", Some(CONTAINER)),
        // Its processes are listed.
        ("Tab Tab Tab Tab Enter 2", Some(CONTAINER)),
        ("Tab Tab Tab Tab 2 3 2", Some(CONTAINER)),
        ("Tab Tab Tab Tab 3 2", None),
        ("Tab Tab Tab Tab Tab 2", Some(CONTAINER)),
        ("Tab Tab Tab 2", Some(b"/user.slice/session-2.scope")),
        ("Tab 2", None),
        ("2", None),
        ("Tab Tab Tab Tab Enter", None),
    ] {
        let mut session = Session::new(120, 40);
        session.tick(1, grouped(0)).keys("f");
        for key in keys.split(' ') {
            session.keys(key);
            if session.app.query.scope.grouped_by() == Some(zmtop::group::GroupBy::Container)
                && session.selected_group().as_deref() != Some("web")
            {
                session.keys("Down");
            }
        }
        let wanted = session.wanted.last().unwrap().inspected.clone();
        let path = wanted.as_deref();
        let is_same = match (path, expected) {
            (Some(path), Some(expected)) => path.starts_with(expected),
            (path, expected) => path.is_none() && expected.is_none(),
        };
        assert!(is_same, "{keys}: {:?}", path.map(String::from_utf8_lossy));
    }
}

#[test]
fn it_says_why_nothing_is_shown_and_fits_everywhere() {
    let snapshot = inspect(&container(V2), "/pod/app");
    let mut session = by_container(120, 40);
    select_container(&mut session);
    session.keys("2");
    for (why, text) in [
        (Missing::Pending, "being read"),
        (Missing::OutOfView, "was removed, or is not visible"),
        (Missing::Unsupported, "controller is not enabled"),
        (Missing::TimedOut, "timed out"),
    ] {
        tick(&mut session, 1, Err(why));
        assert!(session.picture().contains(text), "{}", session.picture());
        assert_tame(&session.frame());
    }
    tick(&mut session, 5, system_of(&snapshot));
    let has_account = |session: &mut Session| session.picture().contains("its processes, charged to it");
    assert!(has_account(&mut session));
    for (width, height) in Session::ODD_SIZES {
        session.feed(Event::Resize(width, height)).keys("Down Enter Enter");
        assert_tame(&session.frame());
    }
    session.feed(Event::Resize(120, 40));
    // The file cache of it, not of the machine.
    session.keys("/").types("file cache").keys("Enter Enter");
    let wanted = session.wanted.last().unwrap().inspected.clone().unwrap();
    assert!(matches!(session.effects.last(), Some(Effect::ReadCache(_, CacheScope::Cgroup(path))) if *path == wanted));
}

fn select_container(session: &mut Session) {
    let names = session.group_names();
    let at = names.iter().position(|name| name == "web").unwrap();
    session.keys(&"Down ".repeat(at));
}

#[test]
fn a_unit_in_several_cgroups_is_none() {
    let mut session = Session::new(120, 40);
    let mut processes = grouped(0);
    for (number, one) in processes.iter_mut().enumerate() {
        let facts = Arc::make_mut(&mut one.facts);
        facts.unit = Some(Arc::from(&b"db.service"[..]));
        facts.cgroup = Ok(format!("/user-{number}/db.service").into_bytes().into());
    }
    session.tick(1, processes).keys("Tab Tab Tab 2");
    assert_eq!(session.wanted.last().unwrap().inspected, None);
    assert!(
        session.picture().contains("this unit is in several cgroups"),
        "{}",
        session.picture()
    );
}
