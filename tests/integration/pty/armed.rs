//! The page faults of what grows are sampled before anybody asks.

use std::fs;
use std::time::{Duration, Instant};

use super::kept::{history_of_growth, home};
use crate::accuracy::child::{self, Child};
use crate::support::pty::{PATIENCE, Pty, ZMTOP, wait_gone};
use crate::support::{cannot, copy_program};

const NAME: &str = "pty::armed::what_grows_is_sampled_until_zmtop_ends_and_only_if_the_settings_say_so";

/// Returns the child of a process that samples page faults.
fn sampler_of(pid: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut tasks: Vec<String> = vec![children];
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        tasks.push(fs::read_to_string(task.path().join("children")).unwrap_or_default());
    }
    let pids = tasks.iter().flat_map(|list| list.split_whitespace());
    let mut pids = pids.filter_map(|pid| pid.parse::<i32>().ok());
    pids.find(|child| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"--armed")
    })
}

#[test]
fn what_grows_is_sampled_until_zmtop_ends_and_only_if_the_settings_say_so() {
    child::be(NAME);
    if !rustix::process::geteuid().is_root() {
        return cannot("sampling may need root");
    }
    let mut target = Child::start(NAME);
    target.tell("map 0 1024");
    target.tell("touch 0 0 64");
    let mut touched = 64;
    // The most at once, whether an update replaces zmtop meanwhile, and whether it is sampled.
    for (most, is_updated, is_sampled) in [(1, false, true), (1, true, true), (0, false, false)] {
        let Some(kept) = history_of_growth(target.pid()) else {
            return cannot("this machine has just started");
        };
        let (home, file) = home();
        fs::write(&file, kept).unwrap();
        let config = home.path().join("config.toml");
        fs::write(&config, format!("[callers]\narmed = {most}\n")).unwrap();
        // To sample changes nothing.
        let program = home.path().join("zmtop");
        copy_program(ZMTOP, &program);
        let args = ["--readonly", "--config", config.to_str().unwrap()];
        // Its file is gone before it starts anything.
        let script = if is_updated {
            r#"exec 3< "$0"; rm "$0"; exec /proc/self/fd/3 "$@""#
        } else {
            r#"exec "$0" "$@""#
        };
        let args = [&["-c", script, program.to_str().unwrap()], &args[..]].concat();
        let mut pty = Pty::run((120, 30), "sh", &args, &[("HOME", home.path().to_str().unwrap())]);
        pty.wait_for_table();
        pty.send(&format!("/pid:{}\r", target.pid()));
        pty.wait("the verdict", |text| {
            text.lines()
                .any(|line| line.contains(&format!(" {} ", target.pid())) && line.contains('△'))
        });
        // It grows on, or the verdict would end.
        let began = Instant::now();
        let mut sampler = None;
        while sampler.is_none() && began.elapsed() < if is_sampled { PATIENCE } else { Duration::from_secs(4) } {
            target.tell(&format!("touch 0 {touched} 1"));
            touched += 1;
            std::thread::sleep(Duration::from_millis(250));
            sampler = sampler_of(pty.pid());
        }
        assert_eq!(sampler.is_some(), is_sampled, "armed = {most}: {}", pty.text());
        if let Some(sampler) = sampler {
            // The target chooses the debug information that it parses.
            let read = |name: &str| fs::read_to_string(format!("/proc/{sampler}/{name}")).unwrap_or_default();
            let is_limited = || {
                let limits = read("limits");
                let data = limits.lines().find(|line| line.starts_with("Max data size"));
                data.is_some_and(|line| line.contains(" 536870912 ")) && read("oom_score_adj") == "1000\n"
            };
            while !is_limited() {
                assert!(
                    began.elapsed() < PATIENCE,
                    "{}{}",
                    read("limits"),
                    read("oom_score_adj")
                );
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
        if let Some(sampler) = sampler {
            wait_gone(sampler);
        }
    }
    target.end();
}
