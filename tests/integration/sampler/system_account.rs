//! The inputs of the account of the system, and kills for lack of memory, as a scanner publishes them.

use crate::support::block_on;
use crate::support::tree::ProcTree;

use zmtop::model::kill::KillCause;
use zmtop::model::kill::OomKill;
use zmtop::model::{Missing, Snapshot};
use zmtop::sampler::{Needs, Scanner};

const ZONES: &str = "Node 0, zone Normal\n present 10\n managed 9\n count: 1\n";

fn tree() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.system("zoneinfo", ZONES);
    tree
}

#[test]
fn it_is_read_from_the_second_tick_on_or_where_it_is_wanted() {
    let tree = tree();
    let mut scanner = Scanner::new(&tree.options());
    let first = block_on(scanner.full());
    assert_eq!(first.accounting.zones, Err(Missing::Pending));
    let second = block_on(scanner.full());
    assert!(second.accounting.zones.is_ok());
    // It holds for a while, unless somebody looks.
    tree.system("zoneinfo", ZONES.replace("present 10", "present 20"));
    let third = block_on(scanner.full());
    assert_eq!(third.accounting.zones, second.accounting.zones);
    scanner.set_needs(Needs::ACCOUNT);
    let fourth = block_on(scanner.full());
    assert_ne!(fourth.accounting.zones, second.accounting.zones);

    let mut wanted = Scanner::new(&tree.options());
    wanted.set_needs(Needs::ACCOUNT);
    assert_eq!(block_on(wanted.full()).accounting.zones, fourth.accounting.zones);
}

#[test]
fn mounts_that_cannot_be_reached_have_no_figures_and_hold_up_nothing() {
    let tree = tree();
    // No such device is there: another file system lies over it, or the path is gone.
    tree.system(
        "self/mountinfo",
        "25 24 0:4095 / /over\\040\u{1b}[31m rw - tmpfs t rw\n26 24 0:4094 / /gone rw - tmpfs t rw\n",
    );
    std::fs::create_dir_all(tree.root().join("self/root/over \u{1b}[31m")).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::ACCOUNT);
    let snapshot = block_on(scanner.full());
    let mounts = snapshot.accounting.mounts.as_ref().unwrap();
    let told: Vec<_> = mounts.iter().map(|mount| (&*mount.path, mount.used)).collect();
    let unknown = Err(Missing::Unsupported);
    assert_eq!(told, [(&b"/over \x1b[31m"[..], unknown), (b"/gone", unknown)]);
}

#[test]
fn a_list_of_mounts_that_never_comes_is_said_so() {
    use rustix::fs::{CWD, Mode, mkfifoat};
    let tree = tree();
    std::fs::create_dir_all(tree.root().join("self")).unwrap();
    mkfifoat(CWD, tree.root().join("self/mountinfo"), Mode::RUSR | Mode::WUSR).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::ACCOUNT);
    let snapshot = block_on(scanner.full());
    assert_eq!(snapshot.accounting.mounts, Err(Missing::TimedOut));
    assert!(snapshot.accounting.zones.is_ok());
}

/// Takes two snapshots, as what the log says is in the one after.
fn two(scanner: &mut Scanner) -> std::sync::Arc<Snapshot> {
    block_on(scanner.full());
    block_on(scanner.full())
}

fn kill(record: u32, pid: u32, comm: &str) -> String {
    format!("3,{record},55,-;Out of memory: Killed process {pid} ({comm}) total-vm:9kB, anon-rss:8kB, file-rss:0kB\n")
}

fn pids(kills: &[OomKill]) -> Vec<Result<u32, Missing>> {
    kills
        .iter()
        .map(|kill| kill.victim.as_ref().map(|v| v.pid).map_err(|why| *why))
        .collect()
}

#[test]
fn a_kill_has_its_victim_by_the_kernels_log() {
    let tree = tree();
    let vmstat = |kills: u32| tree.system("vmstat", format!("pgfault 1\noom_kill {kills}\n"));
    vmstat(5);
    let old = kill(1, 100, "before");
    tree.write("dev/kmsg", &old);
    let mut scanner = Scanner::new(&tree.options());
    // What was killed before is not told.
    assert_eq!(pids(&two(&mut scanner).oom_kills), []);
    let log = format!("{old}4,2,56,-;other\n SUBSYSTEM=x\n{}", kill(3, 200, "hog"));
    tree.write("dev/kmsg", &log);
    vmstat(6);
    let snapshot = two(&mut scanner);
    assert_eq!(pids(&snapshot.oom_kills), [Ok(200)]);
    let victim = snapshot.oom_kills[0].victim.as_ref().unwrap();
    assert_eq!((&*victim.comm, victim.rss), (&b"hog"[..], 8 << 10));
    assert_eq!(pids(&two(&mut scanner).oom_kills), [Ok(200)]);
    // Two more, of which one is in the log only later.
    tree.write("dev/kmsg", log.clone() + &kill(4, 300, "a"));
    vmstat(8);
    assert_eq!(pids(&two(&mut scanner).oom_kills), [Ok(200)]);
    tree.write("dev/kmsg", log + &kill(4, 300, "a") + &kill(9, 301, "b"));
    assert_eq!(pids(&two(&mut scanner).oom_kills), [Ok(200), Ok(300), Ok(301)]);
}

#[test]
fn a_kill_that_the_log_does_not_tell_of_is_there_without_its_victim() {
    let tree = tree();
    let vmstat = |kills: u64| tree.system("vmstat", format!("oom_kill {kills}\n"));
    vmstat(0);
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    // There is no log.
    vmstat(1);
    assert_eq!(pids(&two(&mut scanner).oom_kills), [Err(Missing::Unsupported)]);
    // It has nothing of it, even after a while.
    tree.write("dev/kmsg", "6,1,1,-;boot\n");
    vmstat(2);
    two(&mut scanner);
    assert_eq!(two(&mut scanner).oom_kills.len(), 2);
    assert_eq!(block_on(scanner.full()).oom_kills[1].victim, Err(Missing::Gone));
    // A counter that jumps fills no memory.
    vmstat(u64::MAX);
    for _ in 0..4 {
        block_on(scanner.full());
    }
    assert_eq!(block_on(scanner.full()).oom_kills.len(), 32);
    vmstat(0);
    assert_eq!(two(&mut scanner).oom_kills.len(), 32);
}

#[test]
fn a_kill_has_its_limit_and_its_group_even_if_the_log_tells_that_later() {
    let tree = tree();
    let vmstat = |kills: u32| tree.system("vmstat", format!("oom_kill {kills}\n"));
    vmstat(0);
    tree.write("dev/kmsg", "");
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    let kill = |record: u32, pid: u32, comm: &str| {
        let figures = "total-vm:9kB, anon-rss:8kB, file-rss:0kB";
        format!("3,{record},55,-;Memory cgroup out of memory: Killed process {pid} ({comm}) {figures}\n")
    };
    let summary = "6,1,55,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/shop,\
                   task_memcg=/shop/web,task=web,pid=200,uid=0\n";
    let mut log = "6,0,55,-;memory: usage 90kB, limit 100kB, failcnt 9\n".to_owned() + summary + &kill(2, 200, "web");
    tree.write("dev/kmsg", &log);
    vmstat(1);
    let snapshot = two(&mut scanner);
    let first = snapshot.oom_kills[0].victim.clone().unwrap();
    let limit = first.limit.as_ref().unwrap();
    assert_eq!(
        (&*limit.cgroup, limit.size, first.group),
        (&b"/shop"[..], Some(100 << 10), None)
    );
    assert_eq!(snapshot.oom_kills[0].record, Some(2));
    log += "6,3,56,-;Tasks in /shop are going to be killed due to memory.oom.group set\n";
    log += &(kill(4, 200, "web") + &kill(5, 201, "cron"));
    tree.write("dev/kmsg", &log);
    // The kernel counts the first victim twice.
    vmstat(3);
    let snapshot = two(&mut scanner);
    assert_eq!(pids(&snapshot.oom_kills), [Ok(200), Ok(201)]);
    for kill in &*snapshot.oom_kills {
        assert_eq!(kill.victim.as_ref().unwrap().group.as_deref(), Some(&b"/shop"[..]));
    }
    assert_eq!(
        (
            snapshot.oom_counts.get(KillCause::Cgroup),
            snapshot.oom_counts.get(KillCause::Unknown)
        ),
        (2, 0)
    );
}

#[test]
fn a_flood_of_kills_is_counted_by_cause() {
    let tree = tree();
    let vmstat = |kills: u32| tree.system("vmstat", format!("oom_kill {kills}\n"));
    vmstat(0);
    tree.write("dev/kmsg", "");
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    // The log is read once from its beginning; from then on it is known what is new.
    tree.write("dev/kmsg", kill(1, 1, "a"));
    vmstat(1);
    two(&mut scanner);
    let log: String = (1..=1000).map(|n| kill(n, n, "a")).collect();
    tree.write("dev/kmsg", log);
    vmstat(1000);
    let snapshot = two(&mut scanner);
    assert_eq!(snapshot.oom_kills.len(), 32);
    assert_eq!(snapshot.oom_kills.last().unwrap().victim.as_ref().unwrap().pid, 1000);
    let counts = snapshot.oom_counts;
    assert_eq!(
        (
            counts.get(KillCause::Machine) + counts.get(KillCause::Unknown),
            counts.get(KillCause::Cgroup)
        ),
        (1000, 0)
    );
    assert!(counts.get(KillCause::Machine) > 0);
}

#[test]
fn a_kill_that_the_log_has_before_the_counter_is_reported_once() {
    let tree = tree();
    let vmstat = |kills: u32| tree.system("vmstat", format!("oom_kill {kills}\n"));
    vmstat(0);
    tree.write("dev/kmsg", kill(1, 100, "a"));
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    vmstat(1);
    assert_eq!(pids(&two(&mut scanner).oom_kills), [Ok(100)]);
    let log = kill(1, 100, "a") + &kill(2, 200, "b") + &kill(3, 300, "c");
    tree.write("dev/kmsg", log);
    for counted in 2..=3 {
        vmstat(counted);
        for _ in 0..5 {
            assert_eq!(pids(&block_on(scanner.full()).oom_kills)[1..], [Ok(200), Ok(300)]);
        }
    }
    // The next one that is not logged is told again.
    vmstat(4);
    for _ in 0..4 {
        block_on(scanner.full());
    }
    let snapshot = block_on(scanner.full());
    assert_eq!(pids(&snapshot.oom_kills)[3..], [Err(Missing::Gone)]);
    assert_eq!(
        (
            snapshot.oom_counts.get(KillCause::Machine),
            snapshot.oom_counts.get(KillCause::Unknown)
        ),
        (3, 1)
    );
}
