//! Kills for lack of memory, as the kernel's log has them.

use zmtop::model::snapshot::OomVictim;
use zmtop::proc::kernel::kill;

fn victim(pid: u32, comm: &[u8], mib: u64, by_cgroup: bool) -> OomVictim {
    OomVictim {
        pid,
        comm: comm.into(),
        rss: mib << 20,
        by_cgroup,
    }
}

#[test]
fn kills_are_told_from_what_else_is_in_the_log() {
    let figures =
        "total-vm:9999kB, anon-rss:3072kB, file-rss:1024kB, shmem-rss:1024kB, UID:0 pgtables:80kB oom_score_adj:0";
    let line = |text: &str| kill(format!("3,812,94608123456,-;{text} {figures}").as_bytes());
    assert_eq!(
        line("Out of memory: Killed process 71 (python3)"),
        Some((812, victim(71, b"python3", 5, false)))
    );
    assert_eq!(
        line("Memory cgroup out of memory: Killed process 7 (a)"),
        Some((812, victim(7, b"a", 5, true)))
    );
    // A name may be anything, and is written with escapes.
    assert_eq!(
        line(r"Out of memory: Killed process 7 (ev\x1bil) total-vm:1kB, anon-rss:9kB ()"),
        Some((812, victim(7, b"ev\x1bil) total-vm:1kB, anon-rss:9kB (", 5, false)))
    );
    assert_eq!(
        line(r"Out of memory: Killed process 7 (\x5cx\xzz)"),
        Some((812, victim(7, br"\x\xzz", 5, false)))
    );
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
    let good = format!("Out of memory: Killed process 71 (a) {figures}");
    // A program wrote that, and these are cut off or no records.
    for bad in [
        format!("12,812,5,-;{good}"),
        format!("3,x,5,-;{good}"),
        format!("3;{good}"),
        good,
        String::new(),
    ] {
        assert_eq!(kill(bad.as_bytes()), None, "{bad}");
    }
}
