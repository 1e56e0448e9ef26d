//! The kernel's own account of allocations: `allocinfo` of both versions and damaged, and `zmtop kernel sites`.

use crate::support::tree::ProcTree;
use serde_json::Value;

use zmtop::model::Missing;
use zmtop::model::kernel::{AllocFigures, AllocSite};
use zmtop::proc::kernel::allocinfo;

pub(crate) const FILE: &str = "allocinfo - version: 2.0\n\
    #     <size>  <calls> <tag info>\n\
    \x20   127664128    31168 mm/page_ext.c:270 func:alloc_page_ext\n\
    \x20       81920       20 drivers/net/veth.c:1234 [veth] func:veth_newlink\n\
    \x20        8192        1 mm/slub.c:2259 func:alloc_slab_page accurate:no\n\
    \x20           0        0 init/main.c:1314 func:do_initcalls\n\
    \x20          64        2 e\x1b]52;c;x\x07vil.c:1 [\u{202e}m] func:e\x1b[31mvil\n";

#[test]
fn a_line_is_a_site() {
    let found = allocinfo(FILE.as_bytes()).unwrap();
    assert_eq!((found.sites.len(), found.malformed), (5, 0));
    let veth = AllocSite {
        place: (*b"drivers/net/veth.c:1234").into(),
        module: Some((*b"veth").into()),
        function: (*b"veth_newlink").into(),
        inaccurate: false,
        figures: AllocFigures {
            size: 81_920,
            calls: 20,
        },
    };
    assert_eq!(found.sites[1], veth);
    let marked: Vec<bool> = found.sites.iter().map(|site| site.inaccurate).collect();
    assert_eq!(marked, [false, false, true, false, false]);
    // The first version, which marks nothing, and a later one that says more.
    let first = FILE.replace("2.0", "1.0").replace(" accurate:no", "");
    assert!(
        allocinfo(first.as_bytes())
            .unwrap()
            .sites
            .iter()
            .all(|site| !site.inaccurate)
    );
    let later = FILE
        .replace("2.0", "3.1")
        .replace("func:alloc_page_ext", "func:alloc_page_ext node:1");
    assert_eq!(allocinfo(later.as_bytes()).unwrap().sites, found.sites);
}

#[test]
fn lines_that_do_not_fit_are_counted() {
    for bad in [
        "1 2 mm/slub.c:1\n",
        "1 2 mm/slub.c func:f\n",
        "1 2 mm/slub.c:x func:f\n",
        "-1 2 mm/slub.c:1 func:f\n",
        "1 x mm/slub.c:1 func:f\n",
        "1 99999999999999999999 mm/slub.c:1 func:f\n",
        "1 2 mm/slub.c:1 f\n",
        "1 2 mm/slub.c:1 func:cut",
    ] {
        let found = allocinfo((FILE.to_owned() + bad).as_bytes()).unwrap();
        assert_eq!((found.sites.len(), found.malformed), (5, 1), "{bad}");
    }
    for file in ["", "1 2 mm/slub.c:1 func:f\n"] {
        assert_eq!(allocinfo(file.as_bytes()), Err(Missing::Malformed), "{file}");
    }
    let whole = allocinfo(FILE.as_bytes()).unwrap().sites;
    for cut in 30..FILE.len() {
        let found = allocinfo(&FILE.as_bytes()[..cut]).unwrap().sites;
        assert_eq!(found[..], whole[..found.len()], "{cut}");
    }
}

fn sites(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    tree.zmtop(&format!("kernel sites {line}"))
}

#[test]
fn sites_as_a_table_and_as_data() {
    let tree = ProcTree::new();
    tree.system("allocinfo", FILE);
    let (code, out, err) = sites(&tree, "");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(!out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{out}");
    insta::assert_snapshot!("sites", out);
    let (_, out, _) = sites(&tree, "veth|slub --sort site --columns calls,each,site --top 1");
    assert_eq!(
        out,
        "CALLS  EACH  SITE\n   20  4096  drivers/net/veth.c:1234\n   21        2 sites, 1 shown\n"
    );
    let json: Value = serde_json::from_str(&sites(&tree, "--format json slub").1).unwrap();
    assert_eq!(
        (&json["schema"], &json["running"]),
        (&"zmtop-sites/1".into(), &true.into())
    );
    assert_eq!(
        (&json["sites"][0]["accurate"], &json["totals"]["size"]),
        (&"no".into(), &8192.into())
    );
    let csv = sites(&tree, "--format csv").1;
    assert!(csv.starts_with("size,calls,each,"), "{csv}");
    assert_eq!(csv.lines().count(), 5, "without the one that holds nothing");
}

#[test]
fn where_there_is_no_account_it_says_what_keeps_one() {
    let tree = ProcTree::new();
    let (code, out, err) = sites(&tree, "");
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert!(
        err.contains("CONFIG_MEM_ALLOC_PROFILING") && err.contains("sysctl.vm.mem_profiling=1"),
        "{err}"
    );
    tree.system("allocinfo", FILE);
    tree.system("sys/vm/mem_profiling", "0\n");
    let (code, out, err) = sites(&tree, "");
    assert_eq!(code, Some(0));
    assert!(err.contains("sysctl vm.mem_profiling=1 switches it on"), "{err}");
    assert!(out.contains("page_ext"), "what was counted before is shown");
    tree.system("sys/vm/mem_profiling", "1\n");
    assert_eq!(sites(&tree, "").2, "");
    tree.system("allocinfo", "nothing\n");
    let (code, _, err) = sites(&tree, "");
    assert_eq!(
        (code, err.as_str()),
        (Some(3), "zmtop: the allocation sites cannot be read: malformed\n")
    );
}
