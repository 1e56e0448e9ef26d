//! Replaced names: none of the originals is left, and what belonged together still does.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use zmtop::model::{Container, ContainerNames, Snapshot, Stat};
use zmtop::output::json;
use zmtop::record::Record;
use zmtop::record::anonymize::{Anonymizer, KEPT};

use super::made::small;
use crate::support::rows::{process, with_facts};

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A snapshot with a text in every field that has one, most of them chosen by others.
fn full() -> Snapshot {
    let mut made = small();
    let named = with_facts(
        process(31, 1, "/srv/shop/billing --secret=hunter --port 8471"),
        |facts| {
            facts.user = Ok(Arc::from(&b"margaret"[..]));
            facts.exe = Ok(Arc::from(&b"/srv/shop/billing"[..]));
            facts.cgroup = Ok(Arc::from(format!("/system.slice/docker-{ID}.scope").as_bytes()));
            facts.unit = Some(Arc::from(format!("docker-{ID}.scope").as_bytes()));
            facts.container = Some(Arc::new(Container {
                id: ID.as_bytes().into(),
                names: Ok(ContainerNames {
                    name: b"ledger".as_slice().into(),
                    pod: Some(b"invoices".as_slice().into()),
                    namespace: Some(b"finance".as_slice().into()),
                    image: Some(b"registry.example/ledger:1.2".as_slice().into()),
                }),
            }));
            facts.host = Some(Arc::from(&b"mainframe"[..]));
        },
    );
    let mut rows = made.processes.unwrap();
    rows.push(named);
    made.processes = Ok(rows);
    made
}

fn document(snapshot: &Snapshot) -> Value {
    let mut out = Vec::new();
    json::line(&mut out, &Record::new(snapshot)).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Collects all strings and keys by their paths. A key of a map of names counts as a string.
fn strings(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((at.to_owned(), text.clone())),
        Value::Array(list) => list.iter().for_each(|value| strings(at, value, found)),
        Value::Object(object) => {
            for (key, value) in object {
                if at == "cgroups" {
                    found.push(("cgroups".into(), key.clone()));
                    strings("cgroups.", value, found);
                } else {
                    strings(
                        &format!("{at}{}{key}", if at.is_empty() { "" } else { "." }),
                        value,
                        found,
                    );
                }
            }
        }
        _ => {}
    }
}

/// Fields whose text zmtop or the kernel chose.
fn is_own(path: &str) -> bool {
    const OWN: [&str; 12] = [
        "schema",
        "time",
        "state",
        "replaced",
        "kind",
        "limit",
        "high",
        "swap_limit",
        "constraint",
        "cause",
        "thp",
        "daemon",
    ];
    let last = path.rsplit('.').next().unwrap();
    path.contains("unread") || path.contains("killers.") || OWN.contains(&last)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() >= 4 && !KEPT.contains(word))
}

#[test]
fn the_kept_words_are_sorted() {
    assert!(KEPT.is_sorted(), "they are searched by halves");
}

#[test]
fn no_field_keeps_a_name() {
    let mut replaced = full();
    Anonymizer::new(7).apply(&mut replaced);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    strings("", &document(&full()), &mut before);
    strings("", &document(&replaced), &mut after);
    let foreign = |all: &[(String, String)]| {
        all.iter()
            .filter(|(path, _)| !is_own(path))
            .cloned()
            .collect::<Vec<_>>()
    };
    let (before, after) = (foreign(&before), foreign(&after));
    assert_eq!(before.len(), after.len());
    // A kernel thread keeps its name.
    let originals: BTreeSet<_> = before
        .iter()
        .flat_map(|(_, text)| words(text))
        .filter(|word| *word != "kthreadd")
        .collect();
    assert!(originals.len() > 12, "{originals:?}");
    for (path, text) in &after {
        let left: Vec<_> = words(text).filter(|word| originals.contains(word)).collect();
        assert!(left.is_empty(), "{path} still has {left:?}");
    }
}

#[test]
fn what_belongs_together_still_does() {
    let mut replaced = full();
    Anonymizer::new(7).apply(&mut replaced);
    let row = replaced.rows().last().unwrap();
    let facts = &row.facts;
    assert_eq!(row.id.pid, 31);
    let container = facts.container.as_ref().unwrap();
    assert_eq!(container.id.len(), 64);
    let own = facts.cgroup.as_ref().unwrap();
    let name = container.name_of_cgroup(own, own).unwrap();
    assert_eq!(*name, *container.names.as_ref().unwrap().name);
    // The program, its first argument and its short name.
    let line = facts.cmdline.as_ref().unwrap();
    assert!(line.starts_with(facts.exe.as_ref().unwrap()));
    assert!(facts.exe.as_ref().unwrap().ends_with(&facts.comm));
    assert!(
        own.starts_with(b"/system.slice/docker-") && own.ends_with(b".scope"),
        "{own:?}"
    );
}

#[test]
fn words_are_replaced_alike_and_their_structure_stays() {
    let one = Anonymizer::new(1);
    let text = |bytes: &[u8]| String::from_utf8(one.bytes(bytes)).unwrap();
    let (a, b) = (text(b"/shop/alpha"), text(b"/shop/beta"));
    let directory = |path: &str| path.rsplit_once('/').unwrap().0.to_owned();
    assert_eq!((directory(&a), a == b), (directory(&b), false));
    assert_eq!(text(b"alpha"), a.rsplit('/').next().unwrap());
    assert_ne!(text(b"alpha").as_bytes(), Anonymizer::new(2).bytes(b"alpha"));
    // Only numbers differ, as before.
    let digits = |text: &str| {
        text.split(|c: char| c.is_ascii_digit())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(digits(&text(b"worker 12 of 40")), digits(&text(b"worker 13 of 40")));
    // The short form of an id.
    assert_eq!(text(ID.as_bytes())[..12], text(&ID.as_bytes()[..12]));
    for kept in [
        "/system.slice",
        "/user.slice",
        "init.scope",
        "kubepods",
        "[heap]",
        "libc.so",
        "/dev/shm",
    ] {
        assert_eq!(text(kept.as_bytes()), kept);
    }
    assert_eq!(one.bytes(b"\x1b[31m\xff"), one.bytes(b"\x1b[31m\xff"));
    assert!(!one.bytes(b"\xff\xfe\x80").contains(&0xff));
}

#[test]
fn no_two_numbers_become_one() {
    let one = Anonymizer::new(3);
    for width in [1, 2, 3, 4] {
        let all = 10_usize.pow(width);
        let replaced: BTreeSet<_> = (0..all)
            .map(|n| one.bytes(format!("{n:0width$}", width = width as usize).as_bytes()))
            .collect();
        assert_eq!(replaced.len(), all);
        assert!(replaced.iter().all(|digits| digits.len() == width as usize));
    }
    let long = b"1234567890123456789012345678901234567890";
    assert_eq!(one.bytes(long).len(), long.len());
}

#[test]
fn a_name_that_the_kernel_cut_is_cut_from_the_whole() {
    let mut made = small();
    made.processes = Ok(vec![with_facts(
        process(5, 1, "/opt/x/accounting-server-main"),
        |facts| {
            facts.comm = (*b"accounting-serv").into();
        },
    )]);
    let mut victim = made.oom_kills[0].clone();
    victim.victim.as_mut().unwrap().comm = (*b"accounting-serv").into();
    made.oom_kills = Arc::from([victim]);
    let mut anonymizer = Anonymizer::new(7);
    anonymizer.apply(&mut made);
    let facts = &made.rows()[0].facts;
    let name = facts.cmdline.as_ref().unwrap();
    let name = name.rsplit(|b| *b == b'/').next().unwrap();
    assert!(facts.comm.len() == 15 && name.starts_with(&facts.comm), "{facts:?}");
    assert_eq!(made.oom_kills[0].victim.as_ref().unwrap().comm, facts.comm);
}

#[test]
fn a_kernel_thread_keeps_its_name() {
    let mut made = small();
    let mut thread = process(9, 2, "kworker/u8:2-writeback");
    thread.stat.flags = Stat::PF_KTHREAD;
    let before = thread.facts.comm.clone();
    made.processes = Ok(vec![thread]);
    Anonymizer::new(7).apply(&mut made);
    assert_eq!(made.rows()[0].facts.comm, before);
}
