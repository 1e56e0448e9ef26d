//! The same workload seen by `perf kmem stat --caller` and by `zmtop kernel callers`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::live::script;
use crate::support::cannot;

/// Sockets, files, and devices of a network of its own, made and removed, all by one thread.
const WORK: &str = r#"
import ctypes, os, socket, struct, tempfile, time
end = time.monotonic() + 1.2
def attribute(kind, value):
    return struct.pack("HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)
def veth(netlink, message, flags):
    body = bytes(16) + attribute(3, b"v0") + attribute(18, attribute(1, b"veth"))
    netlink.send(struct.pack("IHHII", len(body) + 16, message, flags, 1, 0) + body)
    netlink.recv(4096)
if ctypes.CDLL(None).unshare(0x40000000) == 0:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        for n in range(5):
            veth(netlink, 16, 0x605)
            veth(netlink, 17, 0x5)
with tempfile.TemporaryDirectory() as directory:
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

/// Runs both over the work: first ours, then `--`, then that of perf. Both see its thread alone, whatever else the machine does,
/// from before it begins until it ends: perf by its pid, and our instance by a filter, which is set before ours begins to trace.
const BOTH: &str = r#"
    # Past shells that stand for python3.
    PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
    command -v perf > /dev/null && command -v python3 > /dev/null || { echo none; exit 0; }
    D=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null; rm -r $D' EXIT
    mkfifo $D/go $D/control $D/answer
    printf '%s' "$WORK" > $D/work.py
    sh -c "read go < $D/go; exec python3 $D/work.py" & W=$!
    while :; do
        $CALLERS --for 1h --format json > $D/ours & P=$!
        I=$PWD/instances/zmtop-$P
        until test -e $I/events/kmem/kmalloc/filter; do kill -0 $P || exit 1; done
        kill -STOP $P
        # It switches this on when all else is done.
        test "$(cat $I/tracing_on)" = 0 && break
        kill -KILL $P
        wait $P
    done
    for file in $I/events/kmem/*/filter; do echo common_pid==$W > $file; done
    kill -CONT $P
    tracing $P
    E='-e kmem:kmalloc -e kmem:kfree -e kmem:kmem_cache_alloc -e kmem:kmem_cache_free'
    perf record -p $W -i -m 16M -R -c 1 $E --delay=-1 --control fifo:$D/control,$D/answer -o $D/data > $D/said 2>&1 & R=$!
    # Opened for both, so that a perf that does not begin stops nobody.
    exec 3<> $D/control 4<> $D/answer
    echo enable >&3
    until grep -q . $D/begun 2>/dev/null; do
        kill -0 $R || { cat $D/said; echo none; exit 0; }
        timeout 1 head -c 3 <&4 > $D/begun
    done
    echo > $D/go
    wait $W || exit 1
    wait $R || { cat $D/said; echo none; exit 0; }
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
    // Where events were lost, it is tried again.
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
