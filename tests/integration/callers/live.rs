//! The running kernel: traced, and left as it was however zmtop ends.
//!
//! Each test is a shell script with a mount namespace of its own, in which tracefs is mounted, so that nothing is mounted on
//! this machine. It ends with 97 where that is not allowed.

use std::process::Command;

use serde_json::Value;

use crate::support::pty::ZMTOP;
use crate::support::skip;

/// The functions that the scripts use. `state` prints what belongs to everybody.
const TOOLS: &str = r#"
    CALLERS="$ZMTOP kernel callers"
    # Else a test that failed waits for those that it left.
    trap 'kill $(jobs -p) 2>/dev/null' EXIT
    mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 97
    cd /sys/kernel/tracing || exit 97
    test -d events/kmem/kmalloc || exit 97
    state() {
        cat tracing_on current_tracer set_event trace_clock buffer_size_kb events/enable
        cat events/kmem/*/enable options/overwrite set_event_pid set_event_notrace_pid
    }
    # Waits until the instance of a process traces: a new one is switched on, too, but without events.
    tracing() {
        for i in $(seq 1000); do
            test "$(cat instances/zmtop-$1/events/kmem/kmem_cache_alloc/enable 2>/dev/null)" = 1 &&
                test "$(cat instances/zmtop-$1/tracing_on)" = 1 && return
            sleep 0.01
        done
        echo "zmtop-$1 does not trace"; exit 1
    }
    gone() { test ! -e instances/zmtop-$1 || { echo "zmtop-$1 is left"; exit 1; } ; }
"#;

/// Runs a script; `None`, and says so, where this machine does not allow it.
#[track_caller]
pub(crate) fn script(body: &str) -> Option<String> {
    let run = Command::new("unshare")
        .args(["-m", "timeout", "60", "sh", "-c", &format!("{TOOLS}\n{body}")])
        .env("ZMTOP", ZMTOP)
        .env("HOME", "/nonexistent")
        .output();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match run {
        Ok(done) if done.status.success() => Some(text(&done.stdout)),
        Ok(done) if done.status.code() != Some(97) && rustix::process::geteuid().is_root() => {
            panic!("{}\n{}{}", done.status, text(&done.stdout), text(&done.stderr))
        }
        _ => {
            skip("tracing needs root, mount namespaces and a kernel with tracefs");
            None
        }
    }
}

#[test]
fn this_kernels_callers_are_traced_and_nothing_else_is_touched() {
    let Some(out) = script(
        r"
        state > /tmp/zmtop-before.$$
        $CALLERS --for 1s --format json &
        tracing $!
        state > /tmp/zmtop-during.$$
        for i in $(seq 50); do ls /proc > /dev/null; done
        wait $! || exit 1
        gone $!
        state > /tmp/zmtop-after.$$
        cmp /tmp/zmtop-before.$$ /tmp/zmtop-during.$$ && cmp /tmp/zmtop-before.$$ /tmp/zmtop-after.$$
        same=$?; rm /tmp/zmtop-*.$$; exit $same
        ",
    ) else {
        return;
    };
    let json: Value = serde_json::from_str(&out).unwrap();
    let sites = json["callers"].as_array().unwrap();
    let sum = |id: &str| sites.iter().map(|site| site[id].as_u64().unwrap()).sum::<u64>();
    for id in ["allocated", "requested", "hits", "frees"] {
        assert_eq!(json["totals"][id], sum(id), "{id}");
    }
    // Each `ls` takes hundreds.
    assert!(sum("hits") > 5000, "{}", sum("hits"));
    assert!(sum("allocated") >= sum("requested"));
    // On a machine with more to do than CPUs some may be lost.
    assert!(
        json["torn"] == 0 && json["lost"].is_u64(),
        "{} {}",
        json["torn"],
        json["lost"]
    );
    let freed = sum("frees") as f64 / sum("hits") as f64;
    assert!(freed > 0.3, "most of it is freed while it is traced: {freed}");
    // To list its own threads takes memory, too.
    assert!(json["own"]["hits"].as_u64().unwrap() > 0, "{}", json["own"]);
    // Names, by the same file that root may read here.
    assert_eq!(json["unread"], Value::Null);
    let named = sites
        .iter()
        .filter(|site| !site["caller"].as_str().unwrap().starts_with("0x"))
        .count();
    assert!(named * 10 > sites.len() * 9, "{named} of {}", sites.len());
    let fork = |site: &&Value| site["caller"].as_str().unwrap().contains("copy_process");
    assert!(sites.iter().any(|site| fork(&site)), "processes were made");
}

#[test]
fn whatever_ends_it_the_instance_is_removed() {
    script(
        r#"
        for end in INT TERM HUP QUIT; do
            $CALLERS --for 1h --format json > /tmp/zmtop-out.$$ &
            pid=$!
            tracing $pid
            kill -$end $pid
            wait $pid
            code=$?
            gone $pid
            case $end in
                # What was seen is told.
                INT) want=0; grep -q zmtop-callers/1 /tmp/zmtop-out.$$ || { echo no report; exit 1; } ;;
                TERM) want=143 ;; HUP) want=129 ;; QUIT) want=131 ;;
            esac
            test $code = $want || { echo $end ended with $code; exit 1; }
        done
        # A reader that goes away.
        sh -c 'echo $$ > /tmp/zmtop-out.$0; exec '"$CALLERS --for 1s" $$ | head -c 1 > /dev/null
        gone $(cat /tmp/zmtop-out.$$)
        rm /tmp/zmtop-out.$$
        "#,
    );
}

#[test]
fn the_next_start_removes_what_a_killed_one_left_and_nothing_else() {
    script(
        r"
        $CALLERS --for 1h & killed=$!
        tracing $killed
        $CALLERS --for 1h & alive=$!
        tracing $alive
        test -e instances/zmtop-$killed || { echo 'two at once do not live together'; exit 1; }
        kill -9 $killed
        wait $killed
        test -e instances/zmtop-$killed || { echo 'kill -9 removed it'; exit 1; }
        # Names that are not ours to remove, but for the last: that process is no zmtop.
        mkdir instances/zmtop-x$$ instances/zmtop-0$$ instances/other$$ instances/zmtop-$$
        $CALLERS --for 100ms > /dev/null || exit 1
        gone $killed
        gone $$
        for name in zmtop-x$$ zmtop-0$$ other$$; do
            rmdir instances/$name || { echo $name was removed; exit 1; }
        done
        test -e instances/zmtop-$alive || { echo 'the living one was removed'; exit 1; }
        kill $alive
        wait $alive
        gone $alive
        ",
    );
}

#[test]
fn events_that_are_lost_are_reported() {
    let Some(out) = script(
        r#"
        $CALLERS --for 2s --format json &
        pid=$!
        tracing $pid
        # Stopped, so that it does not read while its buffers run over.
        kill -STOP $pid
        echo 8 > instances/zmtop-$pid/buffer_size_kb
        for i in $(seq 20); do ls /proc > /dev/null; done
        lost=$(cat instances/zmtop-$pid/per_cpu/cpu*/stats | awk '/^overrun/ {n += $2} END {print n}')
        kill -CONT $pid
        wait $pid || exit 1
        test $lost -gt 0 || { echo none; exit 1; }
        echo "$lost" >&2
        "#,
    ) else {
        return;
    };
    let json: Value = serde_json::from_str(&out).unwrap();
    assert!(json["lost"].as_u64().unwrap() > 100, "{}", json["lost"]);
    assert_eq!(json["torn"], 0);
}

/// Allocates `n` times as much as a list of `groups` groups takes: 8 bytes and 4 for each.
const GROUPS: &str = r#"
    command -v python3 > /dev/null || exit 97
    groups() {
        $CALLERS --for 1h --format json > /tmp/zmtop-out.$$ &
        pid=$!
        tracing $pid
        # Room for what other tests allocate until the machine has time to read it.
        echo 65536 > instances/zmtop-$pid/buffer_size_kb
        python3 -c "import os
for n in range($2): os.setgroups(range($1))"
        kill -INT $pid
        wait $pid || exit 1
        cat /tmp/zmtop-out.$$
        rm /tmp/zmtop-out.$$
    }
"#;

/// Returns the size of the kernel's bucket for a request of so many bytes.
fn bucket(request: u64) -> u64 {
    let text = std::fs::read_to_string("/proc/slabinfo").unwrap();
    let size = |line: &str| {
        line.starts_with("kmalloc-")
            .then(|| line.split_whitespace().nth(3)?.parse::<u64>().ok())
            .flatten()
    };
    text.lines()
        .filter_map(size)
        .filter(|size| *size >= request)
        .min()
        .unwrap()
}

#[test]
fn what_a_request_takes_beyond_itself_is_read_off_its_site() {
    const TIMES: u64 = 2000;
    // On kernels whose least bucket has 32 bytes the first wastes 24.
    for (groups, request) in [(0, 8), (1024, 4104)] {
        let Some(out) = script(&format!("{GROUPS}\ngroups {groups} {TIMES}")) else {
            return;
        };
        let json: Value = serde_json::from_str(&out).unwrap();
        let figure = |site: &Value, id: &str| site[id].as_u64().unwrap();
        let sites = json["callers"].as_array().unwrap().iter();
        let mut ours =
            sites.filter(|site| site["caller"].as_str().unwrap().contains("groups") && figure(site, "hits") >= TIMES);
        let site = ours.next().unwrap_or_else(|| panic!("{json:#}"));
        let size = bucket(request);
        // Another program may set groups meanwhile, which moves the averages.
        if figure(site, "hits") == TIMES {
            let averages = (figure(site, "request"), figure(site, "size"));
            assert_eq!(averages, (request, size), "{site}");
        }
        let wasted = figure(site, "hits") * (size - request);
        let others = (figure(site, "hits") - TIMES) * size;
        assert!(figure(site, "wasted").abs_diff(wasted) <= others, "{site}");
        let of_it = figure(site, "allocated") - figure(site, "requested");
        assert_eq!(figure(site, "wasted"), of_it, "{site}");
    }
}
