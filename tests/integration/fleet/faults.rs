//! The monitor over a server that answers badly, as a user sees it.

use super::server::{Reply, Series, Server};
use crate::support::pty::Pty;

/// The monitor over a server.
fn fleet(server: &Server, more: &[&str]) -> Pty {
    let url = server.url();
    let args = [&["fleet", "--prometheus", &url, "--interval", "1s"], more].concat();
    Pty::zmtop((160, 24), &args)
}

/// Quits, and looks that it did so without a fault.
fn quit(mut pty: Pty) {
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn rows_are_groups_of_hosts_to_filter_and_to_sum() {
    let server = Server::start(Series::new(&["web1:9464", "db2:9464"]));
    let mut pty = fleet(&server, &[]);
    pty.wait("both hosts", |text| {
        text.contains("2 hosts  4 groups") && text.contains("web1:9464") && text.contains("db2:9464")
    });
    pty.send("/host:web\r");
    pty.wait("one host", |text| {
        text.contains("Σ 2 of 4 groups") && !text.contains("db2:9464")
    });
    pty.send("/\x15\r\t");
    pty.wait("programs", |text| {
        text.contains("on 2 hosts") && text.contains("by command")
    });
    pty.send("\t");
    pty.wait("hosts", |text| {
        text.contains("by host") && text.contains("2 groups") && text.contains("db2:9464")
    });
    pty.send("\r");
    pty.wait("the groups of a host", |text| text.contains("Σ 2 of 4 groups"));
    for key in ["k", "m", "2"] {
        pty.send(if key == "k" { "\x1b[20~" } else { key });
        pty.wait_for("run zmtop there");
    }
    quit(pty);
}

#[test]
fn rows_are_shown_before_all_of_their_figures_are_reported() {
    let mut series = Series::new(&["web1:9464"]);
    series.withheld = Some("uss");
    let server = Server::start(series);
    let pty = fleet(&server, &[]);
    // The figures of the row of 300 MiB that are known.
    let known = |text: &str| {
        let row = text.lines().find(|line| line.contains("api"));
        row.map(|row| (row.matches("300M").count(), row.matches('…').count()))
    };
    pty.wait("PSS alone", |text| {
        known(text).is_some_and(|(known, unknown)| known == 1 && unknown >= 3)
    });
    server.change(|series| series.withheld = None);
    pty.wait("PSS, USS and RSS", |text| {
        known(text).is_some_and(|(known, _)| known == 3)
    });
    quit(pty);
}

#[test]
fn what_is_wrong_is_said_and_the_rows_stay() {
    let cases = [
        (
            Reply::Error("500 Internal Server Error", "oops"),
            "answers 500 Internal Server Error",
        ),
        (
            Reply::Error(
                "422 Unprocessable Entity",
                r#"{"status":"error","errorType":"execution","error":"too many samples"}"#,
            ),
            "refuses the query: too many samples",
        ),
        (Reply::Error("401 Unauthorized", ""), "denies access (401)"),
        (Reply::Page, "does not answer like Prometheus"),
    ];
    says_what_is_wrong(&cases);
}

#[test]
fn neither_a_flood_nor_silence_takes_the_rows() {
    let cases = [
        (Reply::Flood(65 << 20), "answers with more than 64 MB"),
        (Reply::Nothing, "has not answered yet"),
    ];
    says_what_is_wrong(&cases);
}

/// Has a server answer so, in turn, and waits for what is said beside the rows.
fn says_what_is_wrong(cases: &[(Reply, &str)]) {
    let server = Server::start(Series::new(&["web1:9464"]));
    let pty = fleet(&server, &[]);
    for (reply, said) in cases {
        pty.wait("the rows", |text| {
            text.contains("web1:9464") && text.contains("figures up to 1s old")
        });
        server.change(|series| series.reply = reply.clone());
        pty.wait(said, |text| {
            text.contains(said) && text.contains("figures are ") && text.contains("web1:9464")
        });
        if matches!(reply, Reply::Nothing) {
            break;
        }
        server.change(|series| series.reply = Reply::Series);
    }
    // Who waits for an answer has its keys.
    quit(pty);
}

#[test]
fn a_server_that_goes_away_and_comes_back() {
    let server = Server::start(Series::new(&["web1:9464"]));
    let address = server.address;
    let pty = fleet(&server, &[]);
    pty.wait_for("web1:9464");
    drop(server);
    pty.wait("absent", |text| {
        text.contains("does not answer: connection refused; figures are ") && text.contains("web1:9464")
    });
    let _back = Server::start_at(address, Series::new(&["web1:9464", "db2:9464"]));
    pty.wait("both", |text| {
        text.contains("2 hosts") && !text.contains("does not answer")
    });
    quit(pty);
}

#[test]
fn figures_grow_old_once_every_host_is_gone() {
    let server = Server::start(Series::new(&["web1:9464"]));
    let pty = fleet(&server, &[]);
    pty.wait_for("figures up to 1s old");
    server.change(|series| series.hosts.clear());
    pty.wait("their age", |text| {
        let age = text
            .split("figures up to ")
            .nth(1)
            .and_then(|rest| rest.split('s').next());
        text.contains("1 host (1 gone)") && age.is_some_and(|age| age.parse().is_ok_and(|age: u32| age >= 3))
    });
    quit(pty);
}

#[test]
fn a_server_that_was_not_ready_is_asked_again_soon() {
    let mut series = Series::new(&["web1:9464"]);
    series.reply = Reply::Error("503 Service Unavailable", "Service Unavailable");
    let server = Server::start(series);
    let url = server.url();
    let pty = Pty::zmtop((160, 24), &["fleet", "--prometheus", &url, "--interval", "10m"]);
    pty.wait_for("answers 503 Service Unavailable");
    server.change(|series| series.reply = Reply::Series);
    pty.wait_for("web1:9464");
    quit(pty);
}

#[test]
fn warnings_doubles_and_clocks_are_reported() {
    type Change = fn(&mut Series);
    let cases: [(Change, &str); 3] = [
        (
            |series| series.reply = Reply::Warned("a store timed out"),
            "a store timed out",
        ),
        (
            |series| series.doubled = true,
            "series of the same host and group were left out",
        ),
        (
            |series| series.ahead = 3600.0,
            "its clock is 1h00 ahead of this machine's",
        ),
    ];
    for (change, said) in cases {
        let mut series = Series::new(&["web1:9464"]);
        change(&mut series);
        let server = Server::start(series);
        let pty = fleet(&server, &[]);
        pty.wait(said, |text| {
            text.contains(said) && text.contains("web1:9464") && text.contains("2 groups")
        });
        quit(pty);
    }
}

#[test]
fn a_clock_that_steps_back_neither_stops_the_screen_nor_is_passed_over() {
    let server = Server::start(Series::new(&["web1:9464"]));
    let pty = fleet(&server, &[]);
    pty.wait("the rows", |text| {
        text.contains("web1:9464") && text.contains("2 groups")
    });
    server.change(|series| {
        series.ahead = -3600.0;
        series.hosts[0].1[0].1 = 777;
    });
    pty.wait("what is new", |text| {
        text.contains("777M") && text.contains("its clock was set back by 1h00") && text.contains("up to 1s old")
    });
    // It is set right again.
    server.change(|series| {
        series.ahead = 0.0;
        series.hosts[0].1[0].1 = 555;
    });
    pty.wait("what is newer", |text| {
        text.contains("555M") && text.contains("up to 1s old")
    });
    quit(pty);
}

#[test]
fn the_past_that_failed_is_asked_for_again_while_rows_are_reported() {
    let mut series = Series::new(&["web1:9464"]);
    series.failing = 2;
    let server = Server::start(series);
    let mut pty = fleet(&server, &[]);
    pty.wait("what is lacking", |text| {
        text.contains("1h00 of the last 1h00 are not known yet: it answers 500")
    });
    // One question of a later part fails, too: what is known stays.
    pty.send("\r");
    pty.wait("the last minutes", |text| text.contains("150M to 300M"));
    server.change(|series| series.failing = 1);
    pty.wait("all", |text| !text.contains("not known yet"));
    pty.send("D");
    pty.wait("that all is known", |text| text.contains("complete for the last hour"));
    pty.send("q");
    pty.wait("no popup", |text| !text.contains("Diagnostics"));
    quit(pty);
}

#[test]
fn diagnostics_of_a_fleet_are_of_queries() {
    let server = Server::start(Series::new(&["web1:9464"]));
    let mut pty = fleet(&server, &[]);
    pty.wait_for("web1:9464");
    pty.send("D");
    pty.wait("the queries", |text| {
        text.contains("in the last round, 0 failed; ")
            && text.contains("Slowest query")
            && !text.contains("smaps_rollup")
            && !text.contains("alks ")
    });
    server.change(|series| series.reply = Reply::Error("500 Internal Server Error", "oops"));
    pty.wait("the fault", |text| {
        text.contains("Error") && text.contains("answers 500")
    });
    pty.send("q");
    pty.wait("no popup", |text| !text.contains("Diagnostics"));
    quit(pty);
}

#[test]
fn labels_never_reach_the_terminal_raw() {
    let hostile = "\x1b]0;title\x07\x1b[31mred\nline\u{202e}rtl";
    let mut series = Series::new(&[hostile]);
    series.hosts[0].1.push((hostile.repeat(2000), 900));
    let server = Server::start(series);
    let pty = fleet(&server, &[]);
    pty.wait("the rows", |text| text.contains("3 groups") && text.contains("red"));
    let raw = pty.raw();
    let has = |bytes: &[u8]| raw.windows(bytes.len()).any(|window| window == bytes);
    assert!(!has(b"\x1b]0;title") && !has(b"\x1b[31mred") && !has("\u{202e}".as_bytes()));
    quit(pty);
}

#[test]
fn secrets_and_urls_that_are_refused() {
    let cases = [
        (
            ["--prometheus", "http://me:pass@127.0.0.1:9090"],
            "must not contain a user and password",
        ),
        (["--prometheus", "127.0.0.1:9090"], "http://"),
        (["--prometheus", "http://127.0.0.1:9090/?a=b"], "must end with the path"),
    ];
    for (args, said) in cases {
        let run = std::process::Command::new(crate::support::pty::ZMTOP)
            .arg("fleet")
            .args(args)
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        let text = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(2) && text.contains(said), "{args:?}: {text}");
    }
}
