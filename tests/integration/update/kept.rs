//! Rows that are kept from snapshot to snapshot: the screen is the same as if they were made anew.

use std::time::Duration;

use zmtop::model::{Missing, ProcessSample, RowChanges, Snapshot, Stat};

use crate::support::rows::{MIB, process, snapshot, walk};
use crate::support::session::Session;

/// Numbers that are as good as random.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 33) % below
}

fn told(last: Option<&Snapshot>, now: Duration, tick: u64, rows: &[ProcessSample]) -> Snapshot {
    let changes = last.map(|last| {
        let before = |row: &ProcessSample| last.rows().iter().any(|old| old.is_same(row));
        let gone = |row: &&ProcessSample| !rows.iter().any(|now| now.id == row.id);
        RowChanges {
            rows: (0..)
                .zip(rows)
                .filter(|(_, row)| !before(row))
                .map(|(at, _)| at)
                .collect(),
            removed: last.rows().iter().filter(gone).map(|row| row.id).collect(),
        }
    });
    Snapshot {
        tick,
        changes,
        ..snapshot(now, rows.to_vec())
    }
}

#[test]
fn what_is_kept_is_as_if_it_were_made_anew() {
    kept_as_made_anew("f");
}

#[test]
fn equal_siblings_are_kept_as_if_they_were_made_anew() {
    kept_as_made_anew("");
}

fn kept_as_made_anew(first_keys: &str) {
    let (mut one, mut other) = (Session::new(120, 30), Session::new(120, 30));
    one.keys(first_keys);
    other.keys(first_keys);
    let mut rows: Vec<_> = (2..200)
        .map(|pid| process(pid, 1, &format!("/usr/bin/p{}", pid % 7)))
        .collect();
    for row in &mut rows[..20] {
        row.stat.flags = Stat::PF_KTHREAD;
        row.walk = Err(Missing::KernelThread);
    }
    let (mut seed, mut last) = (3, None);
    for tick in 1..160 {
        for _ in 0..random(&mut seed, 4) {
            let (at, bytes) = (20 + random(&mut seed, 178) as usize, random(&mut seed, 50) * MIB);
            if at < rows.len() {
                rows[at].walk = Ok(walk(bytes, bytes / 4));
                rows[at].stat.cpu_ticks += 3;
            }
        }
        if tick % 31 == 0 {
            rows.remove(40);
        }
        // Programs come and go, with the highest pids, until these begin anew.
        for _ in 0..random(&mut seed, 3) * random(&mut seed, 2) * random(&mut seed, 60) / 20 {
            let pid = if tick < 80 { 300 + 3 * tick as u32 } else { 250 } + random(&mut seed, 90) as u32;
            match rows.binary_search_by_key(&pid, |row| row.id.pid) {
                Err(at) => rows.insert(at, process(pid, 1, "/usr/bin/short")),
                // The same pid, another process.
                Ok(at) if random(&mut seed, 3) == 0 => rows[at].id.starttime += 1,
                Ok(at) => drop(rows.remove(at)),
            }
        }
        if tick % 17 == 0 && rows.len() > 230 {
            // Many at once.
            rows.drain(205..rows.len() - 3);
        }
        if tick % 23 == 0 {
            // One address space, of which the parts are far from each other.
            let (first, last) = (rows[30].id, rows.len() - 1);
            rows[last].shares_mm = Some(first).filter(|_| rows[last].shares_mm.is_none());
        }
        if tick % 43 == 0 {
            // More than are moved one by one.
            rows.iter_mut()
                .skip(30)
                .step_by(2)
                .for_each(|row| row.walk = Ok(walk(u64::from(row.id.pid) * MIB, 0)));
        }
        let next = told(last.as_ref(), Duration::from_secs(100 + tick), tick, &rows);
        other.push(Snapshot {
            changes: None,
            ..next.clone()
        });
        one.push(next.clone());
        last = Some(next);
        if tick % 20 == 10 {
            let keys = ["j j +", "P", "K", "M", "T", "I", "j", "k -"][(tick / 20) as usize % 8];
            one.keys(keys);
            other.keys(keys);
        }
        assert_eq!(one.picture(), other.picture(), "tick {tick}");
        let keys = |session: &Session| session.app.tables.current().rows.clone();
        assert_eq!(keys(&one), keys(&other), "tick {tick}");
    }
}
