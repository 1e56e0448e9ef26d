//! The tables of the kernel's own memory, as a scanner publishes them.

use std::sync::Arc;

use zmtop::model::Missing;
use zmtop::sampler::{Needs, Scanner};

use crate::support::block_on;
use crate::support::tree::ProcTree;

const SITES: &str = "allocinfo - version: 1.0\n# size calls tag\n 8192 1 mm/slub.c:2259 func:alloc_slab_page\n";

fn slabinfo(dentries: u64) -> String {
    format!(
        "slabinfo - version: 2.1\n# name\n\
         dentry {dentries} {dentries} 192 21 1 : tunables 0 0 0 : slabdata 5 5 0\n\
         signal_cache 1 1 1024 4 1 : tunables 0 0 0 : slabdata 1 1 0\n\
         ../../x 1 1 1024 4 1 : tunables 0 0 0 : slabdata 1 1 0\n\
         unknown 1 1 1024 4 1 : tunables 0 0 0 : slabdata 1 1 0\n"
    )
}

fn tree() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.system("slabinfo", slabinfo(100));
    tree.system("allocinfo", SITES);
    tree.write("sys/kernel/slab/dentry/reclaim_account", "1\n");
    tree.write("sys/kernel/slab/signal_cache/reclaim_account", "0\n");
    // Where a name must not lead.
    tree.write("sys/x/reclaim_account", "1\n");
    tree
}

#[test]
fn caches_are_read_while_they_are_wanted_and_rarely_otherwise() {
    let tree = tree();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(block_on(scanner.full()).kernel.slab, Err(Missing::Pending));
    let second = block_on(scanner.full()).kernel.slab.clone().unwrap();
    let told: Vec<_> = second.caches.iter().map(|cache| cache.reclaimable).collect();
    assert_eq!(told, [Some(true), Some(false), None, None]);
    // It holds for a while, unless somebody looks.
    tree.system("slabinfo", slabinfo(200));
    let third = block_on(scanner.full()).kernel.slab.clone().unwrap();
    assert!(Arc::ptr_eq(&second, &third));
    scanner.set_needs(Needs::SLAB);
    let fourth = block_on(scanner.full()).kernel.slab.clone().unwrap();
    assert_eq!(fourth.caches[0].figures.active, 200);
    assert_eq!(fourth.caches[0].reclaimable, Some(true));
}

#[test]
fn sites_are_read_while_they_are_wanted_alone() {
    let tree = tree();
    let mut scanner = Scanner::new(&tree.options());
    for _ in 0..3 {
        assert_eq!(block_on(scanner.full()).kernel.sites, Err(Missing::Pending));
    }
    scanner.set_needs(Needs::SITES);
    assert_eq!(block_on(scanner.full()).kernel.sites.as_ref().unwrap().sites.len(), 1);
}

#[test]
fn what_is_not_there_says_so() {
    let tree = tree();
    std::fs::remove_file(tree.path("proc/slabinfo")).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::SLAB);
    assert_eq!(block_on(scanner.full()).kernel.slab, Err(Missing::Unsupported));
}
