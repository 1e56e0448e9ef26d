//! The kernel's records of tasks that end, as several versions write them, and as no version does.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::proc::taskstats::{TaskEnd, ends};

/// A record: the layout depends on the version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) version: u16,
    /// Bytes inserted before the name, by Linux 6.14 and 6.15.
    pub(crate) inserted: usize,
    pub(crate) len: usize,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) flag: u8,
    pub(crate) status: u32,
    pub(crate) peak_kib: u64,
    /// The sum of a process with several threads follows.
    pub(crate) has_sum: bool,
}

/// As Linux 6.18 writes it at the end of `sh -c 'exit 3'`.
pub(crate) const NEW: Made = Made {
    version: 16,
    inserted: 0,
    len: 560,
    tid: 700,
    pid: 700,
    flag: 0x20,
    status: 0x300,
    peak_kib: 1 << 20,
    has_sum: false,
};

/// As Linux 5.10 does.
pub(crate) const OLD: Made = Made {
    version: 10,
    len: 352,
    flag: 0,
    ..NEW
};

fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() + 4) as u16;
    let mut bytes = [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), payload].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = (body.len() + 20) as u32;
    [
        &len.to_ne_bytes()[..],
        &kind.to_ne_bytes(),
        &[0; 10],
        &[2, 1, 0, 0],
        body,
    ]
    .concat()
}

impl Made {
    fn stats(&self) -> Vec<u8> {
        let mut stats = vec![0xee_u8; 640];
        let mut put = |at: usize, bytes: &[u8]| stats[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.version.to_ne_bytes());
        put(4, &self.status.to_ne_bytes());
        put(8, &[self.flag]);
        let early = self.inserted;
        let mut name = [0; 32];
        name[..6].copy_from_slice(b"m\xff\x1b[31");
        put(80 + early, &name);
        put(120 + early, &1000_u32.to_ne_bytes());
        put(128 + early, &self.tid.to_ne_bytes());
        put(132 + early, &42_u32.to_ne_bytes());
        put(144 + early, &300_000_u64.to_ne_bytes());
        put(200 + early, &self.peak_kib.to_ne_bytes());
        put(368 + 2 * early, &self.pid.to_ne_bytes());
        put(376 + 2 * early, &900_000_u64.to_ne_bytes());
        stats.truncate(self.len);
        stats
    }

    pub(crate) fn datagram(&self) -> Vec<u8> {
        let stats = attribute(3, &self.stats());
        let task = attribute(4, &[attribute(1, &self.tid.to_ne_bytes()), stats].concat());
        let sum = [attribute(2, &self.pid.to_ne_bytes()), attribute(3, &[0; 352])].concat();
        let sum = if self.has_sum { attribute(5, &sum) } else { Vec::new() };
        message(31, &[task, sum].concat())
    }

    fn end(&self) -> TaskEnd {
        let found: Vec<_> = ends(&self.datagram()).collect();
        let [end] = found.as_slice() else { panic!("{found:?}") };
        end.clone()
    }
}

#[test]
fn an_end_is_read_from_each_layout() {
    let whole = TaskEnd {
        tid: 700,
        pid: Some(700),
        is_last: true,
        ppid: 42,
        uid: 1000,
        comm: (*b"m\xff\x1b[31").into(),
        lifetime: Duration::from_millis(900),
        status: 0x300,
        is_fork: false,
        peak: 1 << 30,
    };
    assert_eq!(NEW.end(), whole);
    let layouts = [
        ("5.19", 12, 0, 400),
        ("6.14", 14, 24, 500),
        ("6.15", 15, 48, 560),
        ("a later one, which is longer", 99, 0, 640),
    ];
    for (kernel, version, inserted, len) in layouts {
        let made = Made {
            version,
            inserted,
            len,
            ..NEW
        };
        assert_eq!(made.end(), whole, "{kernel}");
    }
}

#[test]
fn an_old_kernel_does_not_say_of_which_process_a_thread_is() {
    let end = OLD.end();
    let of_thread = Duration::from_millis(300);
    assert_eq!((end.pid, end.is_last, end.lifetime), (None, false, of_thread));
    assert!(end.is_first(), "a thread has no status");
    let thread = Made { status: 0, ..OLD };
    assert!(!thread.end().is_first());
    let fork = Made { flag: 1, ..thread };
    assert!(fork.end().is_fork && fork.end().is_first());
    // The last of several.
    let last = Made {
        has_sum: true,
        tid: 705,
        ..thread
    };
    assert_eq!((last.end().pid, last.end().is_last), (Some(700), true));
}

#[test]
fn the_first_thread_may_end_before_others() {
    let first = Made { flag: 0, ..NEW };
    assert!(first.end().is_first() && !first.end().is_last);
    let other = Made {
        tid: 705,
        status: 0,
        ..NEW
    };
    assert!(!other.end().is_first() && other.end().is_last);
}

#[test]
fn several_messages_come_in_one_datagram() {
    let error = message(2, &[0; 16]);
    let second = Made {
        tid: 701,
        pid: 701,
        ..NEW
    };
    let bytes = [NEW.datagram(), error, second.datagram()].concat();
    let tids: Vec<_> = ends(&bytes).map(|end| end.tid).collect();
    assert_eq!(tids, [700, 701]);
}

#[test]
fn a_record_without_a_known_layout_is_left_out() {
    let cut_off = [
        ("empty", 0),
        ("without a pid", 131),
        ("without a peak", 207),
        ("without its process", 370),
    ];
    for (what, len) in cut_off {
        assert_eq!(ends(&Made { len, ..NEW }.datagram()).count(), 0, "{what}");
    }
    // The pid is elsewhere.
    let moved = Made { inserted: 32, ..NEW };
    assert_eq!(ends(&moved.datagram()).count(), 0);
}

#[test]
fn torn_datagrams_and_hostile_lengths_are_left_out() {
    let whole = NEW.datagram();
    for len in 0..whole.len() {
        assert_eq!(ends(&whole[..len]).count(), 0, "{len}");
    }
    // The lengths of the message, of the task's attribute and of those in it.
    for at in [0, 20, 24, 32] {
        for len in [0_u16, 1, 3, 4, 7, 0x7fff, u16::MAX] {
            let mut bytes = whole.clone();
            bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(ends(&bytes).count(), 0, "{at}: {len}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(at in any::<prop::sample::Index>(), new in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = NEW.datagram();
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + new.len());
        bytes[at..end].copy_from_slice(&new[..end - at]);
        prop_assert!(ends(&bytes).count() < 2);
        prop_assert!(ends(&new).count() == 0);
    }
}
