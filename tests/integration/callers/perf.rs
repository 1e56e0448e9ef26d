//! The same workload seen by `perf kmem stat --caller` and by `zmtop kernel callers`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::live::script;
use crate::support::cannot;

/// Sockets, files, and devices of a network of its own, made and removed.
const WORK: &str = r#"
import os, shutil, socket, subprocess, tempfile, time
end = time.monotonic() + 1.2
veth = "ip link add v0 type veth peer name v1 && ip link del v0"
with tempfile.TemporaryDirectory() as directory:
    if shutil.which("ip"):
        subprocess.call(["unshare", "-n", "sh", "-c", ";".join([veth] * 5)])
    while time.monotonic() < end:
        for n in range(50):
            one, other = socket.socketpair()
            one.send(b"x" * 900)
            other.recv(1000)
            one.close()
            other.close()
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        for n in range(50):
            with open(f"{directory}/{n}", "w") as file:
                file.write("x" * 3000)
        for n in range(50):
            os.unlink(f"{directory}/{n}")
"#;

/// Runs both over the work: first ours, then `--`, then that of perf. What is seen at the beginning alone is dropped, so that
/// both see the same time but for the start of a shell.
const BOTH: &str = r#"
    command -v perf > /dev/null && command -v python3 > /dev/null || { echo none; exit 0; }
    D=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null; rm -r $D' EXIT
    $CALLERS --for 1h --format json > $D/ours & P=$!
    tracing $P
    kill -STOP $P
    echo 0 > instances/zmtop-$P/tracing_on
    echo > instances/zmtop-$P/trace
    kill -CONT $P
    printf '%s' "$WORK" > $D/work.py
    printf '%s\n' "echo 1 > $PWD/instances/zmtop-$P/tracing_on" "python3 $D/work.py" \
        "echo 0 > $PWD/instances/zmtop-$P/tracing_on" > $D/work.sh
    E='-e kmem:kmalloc -e kmem:kfree -e kmem:kmem_cache_alloc -e kmem:kmem_cache_free'
    perf record -m 16M -a -R -c 1 $E -o $D/data sh $D/work.sh > $D/said 2>&1 || { cat $D/said; echo none; exit 0; }
    kill -INT $P
    wait $P || exit 1
    grep -i lost $D/said
    cat $D/ours
    echo --
    perf kmem -i $D/data --caller --raw-ip -s bytes -l 200 stat 2>&1 || echo none
"#;

/// By address, what was allocated and requested.
type Sites = BTreeMap<String, (f64, f64)>;

/// Returns the `n` sites with most memory.
fn top(sites: &Sites, n: usize) -> Vec<&String> {
    let mut order: Vec<_> = sites.iter().collect();
    order.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    order.into_iter().take(n).map(|(address, _)| address).collect()
}

/// Parses the lines `address | allocated/each | requested/each | …` of perf.
fn perf(text: &str) -> Sites {
    let line = |line: &str| {
        let mut fields = line.split('|').map(str::trim);
        let address = fields.next()?.to_owned();
        let mut figure = || fields.next()?.split('/').next()?.parse().ok();
        Some((address, (figure()?, figure()?)))
    };
    let sites = text.lines().filter_map(line);
    sites.filter(|(address, _)| address.starts_with("0xf")).collect()
}

/// Returns where the two differ; `None` if either lost events, which explains it.
fn differences(out: &str) -> Option<Vec<String>> {
    let (ours, theirs) = out.split_once("\n--\n").unwrap();
    if !ours.starts_with('{') {
        return None;
    }
    let json: Value = serde_json::from_str(ours).unwrap();
    assert_eq!(json["torn"], 0);
    if json["lost"] != 0 {
        return None;
    }
    let site = |site: &Value| {
        let figure = |id: &str| site[id].as_f64().unwrap();
        let address = site["address"].as_str().unwrap().to_owned();
        (address, (figure("allocated"), figure("requested")))
    };
    let ours: Sites = json["callers"].as_array().unwrap().iter().map(site).collect();
    let theirs = perf(theirs);
    assert!(theirs.len() > 100, "perf says something: {out}");
    let near = |a: f64, b: f64| (a - b).abs() <= 0.02 * b;
    let mut found = Vec::new();
    // A site that is the 20th by one and the 21st by the other is in both lists with the same figures.
    for address in top(&ours, 20).into_iter().chain(top(&theirs, 20)) {
        match (ours.get(address), theirs.get(address)) {
            (Some(a), Some(b)) if near(a.0, b.0) && near(a.1, b.1) => {}
            other => found.push(format!("{address}: {other:?}")),
        }
    }
    Some(found)
}

#[test]
fn the_greatest_call_sites_are_those_of_perf() {
    // What else this machine does before and after the work is seen by one of them alone.
    let mut last = Vec::new();
    for _ in 0..4 {
        let Some(out) = script(&format!("WORK='{WORK}'\n{BOTH}")) else {
            return;
        };
        if out.ends_with("none\n") {
            cannot("no perf that works with this kernel, or no python3");
            return;
        }
        match differences(&out) {
            Some(found) if found.is_empty() => return,
            Some(found) => last = found,
            None => last = vec!["events were lost".into()],
        }
    }
    panic!("{last:#?}");
}
