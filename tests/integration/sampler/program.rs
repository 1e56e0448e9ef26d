//! The file a process of a made tree runs.

use std::os::unix::fs::symlink;

use zmtop::model::{Missing, Replaced};
use zmtop::sampler::Scanner;

use super::row;
use crate::support::block_on;
use crate::support::tree::ProcTree;

#[test]
fn in_a_captured_tree_the_link_alone_is_believed() {
    let tree = ProcTree::new();
    for pid in 1..=5 {
        tree.process(pid).write();
    }
    symlink("/usr/sbin/init", tree.file(1, "exe")).unwrap();
    // This machine's own files say nothing of it.
    symlink("/bin/sh (deleted)", tree.file(2, "exe")).unwrap();
    symlink("/memfd:x (deleted)", tree.file(3, "exe")).unwrap();
    std::fs::write(tree.file(4, "exe"), "no link").unwrap();
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    let expected: [(Result<&[u8], Missing>, _); 5] = [
        (Ok(b"/usr/sbin/init"), None),
        (Ok(b"/bin/sh"), Some(Replaced::Deleted)),
        (Ok(b"/memfd:x"), None),
        (Err(Missing::Unsupported), None),
        (Err(Missing::Unsupported), None),
    ];
    for (pid, expected) in (1..).zip(expected) {
        let r = row(&snapshot, pid);
        assert_eq!(
            (r.facts.exe.as_deref().map_err(|e| *e), r.facts.replaced),
            expected,
            "{pid}"
        );
        // Nor are its processes this machine's.
        assert_eq!(r.shares_mm, None);
    }
}
