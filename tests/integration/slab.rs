//! Slab caches: `slabinfo` as kernels write it and as they do not, `zmtop kernel slab`, and its sums beside `meminfo`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::pty::ZMTOP;
use crate::support::tree::ProcTree;
use crate::support::{PATIENCE, cannot, long};
use serde_json::Value;

use zmtop::model::Missing;
use zmtop::model::kernel::{SlabCache, SlabFigures};
use zmtop::proc::kernel::slabinfo;

const HEADING: &str = "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> <objperslab> \
                       <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> \
                       <num_slabs> <sharedavail>\n";

fn line(name: &str, active: u64, objects: u64, size: u64, per_slab: u64, pages: u64, slabs: u64) -> String {
    format!("{name:<17} {active} {objects} {size} {per_slab} {pages} : tunables 0 0 0 : slabdata {slabs} {slabs} 0\n")
}

#[test]
fn a_line_is_a_cache() {
    let file =
        HEADING.to_owned() + &line("dentry", 100, 105, 192, 21, 1, 5) + &line("task_struct", 0, 0, 4096, 7, 8, 0);
    let found = slabinfo(file.as_bytes(), 4096).unwrap();
    let dentry = SlabCache {
        name: (*b"dentry").into(),
        object_size: 192,
        objects_per_slab: 21,
        reclaimable: None,
        figures: SlabFigures {
            active: 100,
            objects: 105,
            slabs: 5,
            size: 5 << 12,
            used: 19_200,
        },
    };
    assert_eq!((found.caches.len(), found.malformed), (2, 0));
    assert_eq!(found.caches[0], dentry);
    assert_eq!(found.caches[0].figures.waste(), 1280);
    assert_eq!(found.caches[1].figures, SlabFigures::default());
}

#[test]
fn names_are_whatever_a_module_chose() {
    for name in [
        "a b",
        "x : tunables 1",
        "9 8 7",
        "\u{1b}[31m",
        "dentry(2:a : slabdata b)",
    ] {
        let file = HEADING.to_owned() + &line(name, 1, 2, 8, 512, 1, 1);
        let found = slabinfo(file.as_bytes(), 4096).unwrap();
        assert_eq!(found.malformed, 0, "{name}");
        assert_eq!(found.caches[0].name, name.as_bytes().into(), "{name}");
        assert_eq!(found.caches[0].figures.objects, 2, "{name}");
    }
}

#[test]
fn lines_that_do_not_fit_are_counted() {
    let good = line("good", 1, 2, 8, 512, 1, 1);
    for bad in [
        "bad 1 2 8 512 : tunables 0 0 0 : slabdata 1 1 0\n",
        "bad 1 2 8 512 1 : tunables 0 0 0\n",
        "bad 1 2 8 512 1 : slabdata 1 1 0\n",
        "bad 1 2 8 512 1 : tunables 0 0 0 : slabdata 1\n",
        "bad -1 2 8 512 1 : tunables 0 0 0 : slabdata 1 1 0\n",
        "bad 1 2 8 512 18446744073709551615 : tunables 0 0 0 : slabdata 9 9 0\n",
        "bad 18446744073709551615 2 8 512 1 : tunables 0 0 0 : slabdata 1 1 0\n",
        "1 2 8 512 1 : tunables 0 0 0 : slabdata 1 1 0\n",
        "bad 1 2 8 512 1 : tunables 0 0 0 : slabdata 1 12",
    ] {
        let found = slabinfo((HEADING.to_owned() + &good + bad).as_bytes(), 4096).unwrap();
        assert_eq!((found.caches.len(), found.malformed), (1, 1), "{bad}");
    }
    for file in ["", "slabinfo - version: 1.1\n", "dentry 1 2 8 512 1\n"] {
        assert_eq!(slabinfo(file.as_bytes(), 4096), Err(Missing::Malformed), "{file}");
    }
}

#[test]
fn any_cut_of_a_file_gives_whole_caches_alone() {
    let file =
        HEADING.to_owned() + &line("dentry", 100, 105, 192, 21, 1, 5) + &line("inode_cache", 12, 13, 600, 13, 2, 1);
    let whole = slabinfo(file.as_bytes(), 4096).unwrap();
    for cut in HEADING.len()..file.len() {
        let found = slabinfo(&file.as_bytes()[..cut], 4096).unwrap();
        assert_eq!(found.caches[..], whole.caches[..found.caches.len()], "{cut}");
    }
}

/// The exit code, and what was said on stdout and on stderr.
fn slab(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    tree.zmtop(&format!("kernel slab {line}"))
}

pub(crate) fn machine() -> ProcTree {
    let tree = ProcTree::new();
    let caches = [
        line("dentry", 100_000, 105_000, 192, 21, 1, 5000),
        line("kmalloc-8k", 3, 4, 8192, 4, 8, 1),
        line("e\u{1b}]52;c;x\u{7}vil", 1, 16, 256, 16, 1, 1),
        line("empty", 0, 0, 64, 64, 1, 0),
        "cut off 1 2".to_owned(),
    ];
    tree.write("proc/slabinfo", HEADING.to_owned() + &caches.concat());
    tree.write(
        "proc/meminfo",
        "MemTotal: 1000000 kB\nSlab: 20100 kB\nSReclaimable: 20000 kB\nSUnreclaim: 100 kB\n",
    );
    tree
}

#[test]
fn caches_as_a_table() {
    let tree = machine();
    let (code, out, err) = slab(&tree, "");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("slab", out);
    let (_, out, _) = slab(&tree, "use<90 --sort cache --columns use,per_slab,cache --top 1");
    insta::assert_snapshot!("slab-chosen", out);
}

#[test]
fn caches_as_data() {
    let tree = machine();
    let json: Value = serde_json::from_str(&slab(&tree, "--format json dentry").1).unwrap();
    assert_eq!(json["schema"], "zmtop-slab/1");
    assert_eq!(json["sreclaimable"], 20_000 * 1024);
    assert_eq!(json["malformed"], 1);
    assert_eq!(json["caches"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["caches"][0]["cache"], "dentry");
    assert_eq!(json["caches"][0]["waste"], 5000 * 4096 - 100_000 * 192);
    assert_eq!(json["totals"]["size"], 5000 * 4096);
    let csv = slab(&tree, "--format csv --sort cache").1;
    assert!(csv.starts_with("size,used,waste,"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
}

#[test]
fn without_the_caches_their_sums_are_reported() {
    let tree = machine();
    std::fs::remove_file(tree.path("proc/slabinfo")).unwrap();
    let (code, out, err) = slab(&tree, "");
    assert_eq!(code, Some(3));
    assert_eq!(err, "zmtop: this kernel has no slabinfo\n");
    assert_eq!(out, "Slab 19.6M by meminfo: 19.5M reclaimable, 100K not\n");
    let json: Value = serde_json::from_str(&slab(&tree, "--format json").1).unwrap();
    assert_eq!(json["totals"], Value::Null);
    assert_eq!(json["unread"], "not offered by this kernel");
}

#[test]
fn the_sum_of_the_caches_is_that_of_meminfo() {
    let is_reclaimable = |name: &str| {
        let path = format!("/sys/kernel/slab/{name}/reclaim_account");
        std::fs::read_to_string(path).is_ok_and(|flag| flag.trim() == "1")
    };
    if std::fs::read("/proc/slabinfo").is_err() || !is_reclaimable("dentry") {
        cannot("only root may read slabinfo, and not every kernel tells which caches are reclaimable");
        return;
    }
    let run = || {
        let done = Command::new(ZMTOP)
            .args(["kernel", "slab", "--format", "json"])
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&done.stdout).unwrap();
        let figure = |value: &Value| value.as_f64().unwrap();
        let caches = json["caches"].as_array().unwrap().iter();
        let reclaimable = caches.filter(|cache| is_reclaimable(cache["cache"].as_str().unwrap()));
        let sum: f64 = reclaimable.map(|cache| figure(&cache["size"])).sum();
        let all = figure(&json["totals"]["size"]) / figure(&json["slab"]) - 1.0;
        (sum / figure(&json["sreclaimable"]) - 1.0, all)
    };
    // The two files are not read at one moment. What is not reclaimable holds large allocations too, which have no cache.
    let off: Vec<(f64, f64)> = (0..5).map(|_| run()).collect();
    assert!(off.iter().any(|(part, _)| part.abs() < 0.01), "{off:?}");
    assert!(off.iter().any(|(_, all)| *all < 0.01), "{off:?}");
}

/// Runs `zmtop` for JSON.
fn json(args: &[&str]) -> Value {
    let done = Command::new(ZMTOP)
        .args(args)
        .args(["--format", "json"])
        .output()
        .unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn names_that_are_not_there_grow_the_cache_of_dentries_and_the_account() {
    // 192 bytes each: 192 MB in the long form.
    let count: u64 = if long() { 1_000_000 } else { 200_000 };
    let figures = || {
        let slab = json(&["kernel", "slab", "dentry"]);
        let caches = slab["caches"].as_array().unwrap().iter();
        let cache = caches.clone().find(|cache| cache["cache"] == "dentry")?;
        let account = &json(&["mem"])["account"]["parts"]["slab_reclaimable"];
        let figure = |value: &Value| value.as_u64().unwrap();
        Some((
            figure(&cache["active"]),
            figure(&cache["size"]),
            figure(account),
            figure(&cache["object_size"]),
        ))
    };
    // The kernel keeps in its cache which names a file system on a disk does not have, until their directory is removed.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some((active, _, _, each)) = figures() else {
        return cannot("only root may read slabinfo, and some kernels have no cache of that name");
    };
    let name = |n: u64| directory.path().join(format!("{n}")).exists();
    assert!(!(0..count).any(name));
    let grown = figures().unwrap();
    // Meanwhile others come and go, too.
    let most = count * 3 / 4;
    if grown.0 < active + count / 10 {
        return cannot("the file system of the target directory does not keep names that are not there");
    }
    assert!(grown.0 >= active + most, "{active} {grown:?}");
    // Pages that had room for names before need not grow.
    assert!(grown.1 >= grown.0 * each, "{grown:?}");
    assert!(grown.2 >= grown.0 * each, "{grown:?}");
    drop(directory);
    // They are freed a little later.
    let began = Instant::now();
    loop {
        let after = figures().unwrap();
        if after.0 + most <= grown.0 {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{grown:?} {after:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
