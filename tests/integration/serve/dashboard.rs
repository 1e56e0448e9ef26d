//! The shipped dashboard and the shipped rules in a real Prometheus: it answers every query.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use zmtop::serve::text::TextFormat;

use super::exported::{Exported, sized};
use super::prometheus::Prometheus;
use super::server::Server;
use crate::support::pty::have;
use crate::support::rows::MIB;
use crate::support::tree::ProcTree;

/// Panels that have nothing to show before verdicts are known, or while nothing is wrong.
const TROUBLE: [&str; 6] = [
    "Leaks",
    "What grows",
    "Alerts",
    "Footprint of growing groups",
    "Over all hosts",
    "Parts of the RAM that leak",
];

/// An exporter that has seen a leak for three quarters of an hour, of the clock of its snapshots: what it says in the
/// end is all that it answers.
struct Leaky {
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Leaky {
    fn start() -> Self {
        let mut exported = Exported::new(10);
        let mut families = Vec::new();
        for second in (0..2700_u64).step_by(5) {
            let rows = vec![sized(1, "/bin/leaks", 50 + second / 10), sized(2, "/bin/rests", 50)];
            families = exported.after_with(5, rows, |system| {
                (system.mem_total, system.mem_available) = (Ok(16_000 * MIB), Ok(9000 * MIB));
                (system.swap_total, system.swap_free) = (Ok(0), Ok(0));
                system.sunreclaim = Ok((200 + second / 10) * MIB);
            });
        }
        let body = TextFormat::Prometheus.write(&families);
        let answer = format!("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n{body}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self {
            address,
            has_ended,
            thread: Some(thread),
        }
    }
}

impl Drop for Leaky {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A host of which everything that the dashboard asks for is known.
fn host(oom_kills: u64) -> ProcTree {
    let tree = ProcTree::new();
    let of = tree.process(7).comm("server").cmdline("server\0");
    of.pss_kb(3000).swap_kb(100).write();
    std::fs::create_dir_all(tree.file(7, "fd")).unwrap();
    std::os::unix::fs::symlink("anon_inode:bpf-map", tree.file(7, "fd/3")).unwrap();
    let map = "map_type:\t1\nmemlock:\t3145728\nmap_id:\t25\n";
    tree.write("proc/7/fdinfo/3", map);
    killed(&tree, oom_kills);
    tree
}

/// Writes a `vmstat` by which so many processes were killed for lack of memory.
fn killed(tree: &ProcTree, oom_kills: u64) {
    let vmstat = "nr_free_pages 100\npswpin 10\npswpout 20\npgfault 4000\npgmajfault 30\npgsteal_kswapd 10\n\
                  pgsteal_direct 20\nworkingset_refault_anon 3\nworkingset_refault_file 4\noom_kill ";
    tree.system("vmstat", format!("{vmstat}{oom_kills}\n"));
}

/// The titles of panels and their queries, and the queries of variables.
fn queries() -> Vec<(String, String)> {
    let path = super::prometheus::shipped().join("../grafana/zmtop.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut queries = Vec::new();
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            queries.push((text(&panel["title"]), text(&target["expr"])));
        }
    }
    let values = Regex::new(r"^label_values\((.*), ([a-z]+)\)$").unwrap();
    for variable in list(&dashboard["templating"]["list"]) {
        if variable["type"] == "query" {
            let query = text(&variable["query"]["query"]);
            let asked = values.captures(&query).unwrap_or_else(|| panic!("{query}"));
            queries.push((
                text(&variable["name"]),
                format!("group by ({}) ({})", &asked[2], &asked[1]),
            ));
        }
    }
    queries
}

/// Puts values in the places of a query's variables.
fn filled(query: &str, hosts: &str) -> String {
    let mut query = query.to_owned();
    for (variable, value) in [
        ("$__rate_interval", "10s"),
        ("$__range", "1m"),
        ("$job", "zmtop"),
        ("$host", hosts),
        ("$by", "command"),
        ("$group", ".*"),
    ] {
        query = query.replace(variable, value);
    }
    assert!(!query.contains('$'), "{query}");
    query
}

#[test]
fn prometheus_answers_every_query_of_the_dashboard() {
    if !have("prometheus") {
        return;
    }
    let trees = [host(3), host(0)];
    let servers = trees.each_ref().map(|tree| Server::start(tree, &[]));
    for server in &servers {
        server.scrape();
    }
    let leaky = Leaky::start();
    let addresses = [servers[0].address, servers[1].address, leaky.address];
    let prometheus = Prometheus::start(&addresses, Duration::from_secs(1));
    prometheus.wait_for("count(rate(zmtop_system_swap_in_bytes_total[10s])) == 2");
    prometheus.wait_for("group:zmtop_leaking_hosts:sum > 0");
    // A rule that needs no time fires of itself, as something happens.
    killed(&trees[0], 4);
    prometheus.wait_for("ALERTS{alertname=\"ZmtopOomKill\", alertstate=\"firing\"}");

    let quiet = addresses[..2]
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("|");
    let queries = queries();
    assert!(queries.len() > 50, "{}", queries.len());
    let mut empty = BTreeSet::new();
    for (title, query) in &queries {
        let all = prometheus.series(&filled(query, ".*"));
        assert!(!all.is_empty(), "{title}: nothing is {query}");
        if prometheus.series(&filled(query, &quiet)).is_empty() {
            empty.insert(title.as_str());
        }
    }
    // Those of all hosts name none.
    let shown = ["Alerts", "Over all hosts"];
    assert!(empty.iter().all(|title| TROUBLE.contains(title)), "{empty:?}");
    assert!(
        TROUBLE
            .iter()
            .all(|title| empty.contains(title) || shown.contains(title)),
        "{empty:?}"
    );
}

#[test]
fn every_alert_says_what_is_wrong_and_what_to_do() {
    if !have("prometheus") {
        return;
    }
    let prometheus = Prometheus::start(&[], Duration::from_secs(1));
    let data = prometheus.ask("rules", &[("type", "alert")]);
    let groups = data["groups"].as_array().unwrap();
    let rules: Vec<&Value> = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap())
        .collect();
    assert!(rules.len() >= 10, "{}", rules.len());
    for rule in rules {
        let severity = rule["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["info", "warning", "critical"].contains(&severity), "{rule}");
        for annotation in ["summary", "description", "runbook"] {
            let text = rule["annotations"][annotation].as_str().unwrap_or_default();
            assert!(text.len() > 20, "{annotation} of {rule}");
        }
        // What happened is a fact at once; all else has to last.
        let holds = rule["duration"].as_f64().unwrap() > 0.0;
        let is_of_kills = ["ZmtopOomKill", "ZmtopMachineOomKill"]
            .iter()
            .any(|name| rule["name"] == **name);
        assert_eq!(holds, !is_of_kills, "{rule}");
    }
}
