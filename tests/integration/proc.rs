//! Parsers, on bytes as several kernels write them and on bytes that none would.

mod cgroup;
mod clock;
mod cmdline;
mod environ;
mod exe;
mod fdinfo;
pub(crate) mod hsperfdata;
mod kmsg;
mod limits;
mod memory;
mod mounts;
mod namespace;
mod no_fault;
mod objects;
mod privilege;
mod sent_signals;
mod smaps;
mod stat;
mod statm;
mod system;
pub(crate) mod taskstats;
mod ulimits;

use proptest::prelude::*;
use zmtop::proc::accounts;
use zmtop::proc::system::{Machine, SystemFile};
use zmtop::proc::{cgroup as groups, pid, smaps as maps};

/// Bytes that look like `/proc`'s now and then: whole lines, cut and mixed.
fn proc_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"Rss:                1764 kB\n".to_vec()),
        Just(b"Pss: 18446744073709551615 kB\n".to_vec()),
        Just(b"Swap: 1 kB\nSwapPss:\n".to_vec()),
        Just(b"7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n".to_vec()),
        Just(b"MemTotal: 5 kB\nMemFree\xc3\xa9 6 kB\nCached: 99999999999999999999 MB\n".to_vec()),
        Just(b"some\nfull avg10=".to_vec()),
        Just(b"some avg10=NaN avg60=0 avg300=0 total=1\nfull avg10=inf avg60=0 avg300=0 total=1\n".to_vec()),
        Just(b"0::/docker/0123456789ab\n4:memory:/lxc/\n".to_vec()),
        Just(b"Uid:\t4294967296 1\n".to_vec()),
        Just(b"1 2 0:3 /\\040 /\\777\\04 rw - cgroup2 a b\n".to_vec()),
        Just(b"Filename Type\n/a\\040\\9 file 1 2 3\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
        "[ ():/.,\\n\\\\a-zA-Z0-9é-]{0,40}".prop_map(String::into_bytes),
    ];
    (prop::collection::vec(piece, 0..8), any::<prop::sample::Index>()).prop_map(|(pieces, cut)| {
        let mut all = pieces.concat();
        all.truncate(cut.index(all.len() + 1));
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic_a_parser(bytes in proc_like(), at in any::<prop::sample::Index>(), uid in any::<u32>()) {
        let _ = maps::rollup(&bytes);
        let _ = pid::stat(&bytes, 4096);
        let _ = pid::name_digest(&bytes);
        let _ = pid::uid(&bytes);
        let _ = pid::statm(&bytes, 4096);
        let _ = groups::parse(&bytes);
        let _ = accounts::find(&bytes, uid);
        let _ = pid::exe_link(&bytes);
        let _ = groups::mounts(&bytes).map(|m| m.directory(&bytes));
        let _ = groups::figures::limit(&bytes);
        let mut machine = Machine::default();
        for part in SystemFile::ALL {
            part.parse(Ok(&bytes))(&mut machine);
        }
        // However it is cut into pieces, smaps sums up the same.
        let (head, tail) = bytes.split_at(at.index(bytes.len() + 1));
        let mut pieces = maps::SmapsSum::default();
        pieces.feed(head);
        pieces.feed(tail);
        prop_assert_eq!(pieces.finish(), maps::smaps(&bytes));
    }

    #[test]
    fn a_stat_is_read_whatever_the_name(comm in prop::collection::vec(any::<u8>(), 0..64), cut in 0usize..400) {
        let mut bytes = b"7 (".to_vec();
        bytes.extend_from_slice(&comm);
        bytes.extend_from_slice(stat::TAIL);
        let glance = pid::stat(&bytes, 4096).unwrap();
        prop_assert_eq!((glance.pid, glance.comm, glance.starttime), (7, &*comm, 22));
        // Cut anywhere it is refused, or says the same.
        bytes.truncate(cut);
        if let Ok(part) = pid::stat(&bytes, 4096)
            && part.comm == comm
        {
            prop_assert_eq!(part.starttime, 22);
            prop_assert_eq!(part.stat.rss, 24 * 4096);
        }
    }
}
