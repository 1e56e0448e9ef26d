//! More processes than one interval is enough for.

use super::quit;
use crate::support::long;
use crate::support::pty::Pty;
use crate::support::tree::ProcTree;

#[test]
fn who_is_new_is_read_although_the_others_take_all_the_time() {
    let tree = ProcTree::new();
    let others = if long() { 4000 } else { 1500 };
    for pid in 1..=others {
        tree.process(pid).pss_kb(1000).write();
    }
    let root = tree.root();
    let args = ["--interval", "100ms", "--proc-root", root.to_str().unwrap()];
    let mut pty = Pty::zmtop((120, 30), &args);
    pty.wait_for_table();
    pty.wait("everyone read once", |s| {
        s.contains(&format!("{others} processes")) && !s.contains("  reading ")
    });
    pty.send("/cmd:newcomer\r");
    pty.wait_for("no process matches");
    tree.process(5000)
        .comm("new")
        .cmdline("newcomer\0")
        .pss_kb(333 << 10)
        .write();
    pty.wait("its command line and its figures", |s| {
        let row = s.lines().find(|l| l.contains(" 5000 ") && l.contains("newcomer"));
        row.is_some_and(|row| row.contains("333M"))
    });
    quit(&mut pty);
}
