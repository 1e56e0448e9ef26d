//! Records of page faults as the kernel writes them.

use std::time::Duration;

use zmtop::proc::page_faults::{Event, Fault, Format, NewMapping, Registers};
use zmtop::proc::perf::{self, Record, each_record, records};

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn u64(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

const FORMAT: Format = Format { has_page_size: true };

/// A sample of one caller and 16 bytes of stack, of which 8 are filled.
pub(super) fn sample() -> Vec<u8> {
    let head = Bytes::default()
        .u64(0x1000)
        .u32(7)
        .u32(8)
        .u64(5_000_000_000)
        .u64(0x7fff_0123);
    let chain = head.u64(2).u64(-512_i64 as u64).u64(0x1000);
    let registers = if cfg!(target_arch = "aarch64") {
        chain.u64(2).u64(0xb0).u64(0x1e).u64(0x50).u64(0x1000)
    } else {
        chain.u64(2).u64(0xb0).u64(0x50).u64(0x1000)
    };
    let stack = registers.u64(16).bytes(b"01234567________").u64(8);
    stack.u64(4096).0
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Record<'_> {
    Record { kind, misc, body }
}

#[test]
fn a_sample_is_parsed() {
    let body = sample();
    let (event, time) = FORMAT
        .parse(record(perf::RECORD_SAMPLE, perf::MISC_USER, &body))
        .unwrap();
    let chain = [(-512_i64).to_le_bytes(), 0x1000_u64.to_le_bytes().map(|byte| byte)].concat();
    let fault = Fault {
        pid: 7,
        address: 0x7fff_0123,
        page_size: Some(4096),
        period: 1,
        in_kernel: false,
        chain: &chain,
        registers: Some(Registers {
            ip: 0x1000,
            sp: 0x50,
            fp: 0xb0,
            lr: if cfg!(target_arch = "aarch64") { 0x1e } else { 0 },
        }),
        stack: b"01234567",
    };
    assert_eq!((event, time), (Event::Fault(fault), Duration::from_secs(5)));
    let (event, _) = FORMAT.parse(record(perf::RECORD_SAMPLE, 1, &body)).unwrap();
    assert!(matches!(event, Event::Fault(Fault { in_kernel: true, .. })));
}

#[test]
fn a_sample_that_ends_early_is_none() {
    let body = sample();
    for len in 0..body.len() {
        assert_eq!(
            FORMAT.parse(record(perf::RECORD_SAMPLE, perf::MISC_USER, &body[..len])),
            None,
            "{len}"
        );
    }
    // Lengths that cannot be true.
    for at in [32, body.len() - 40] {
        let mut hostile = body.clone();
        hostile[at..at + 8].fill(0xff);
        assert_eq!(
            FORMAT.parse(record(perf::RECORD_SAMPLE, perf::MISC_USER, &hostile)),
            None,
            "{at}"
        );
    }
}

/// A record as the kernel writes it.
pub(super) fn written(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    record(kind, perf::MISC_USER, body).append_with(&[body], &mut bytes);
    bytes
}

#[test]
fn a_sample_is_copied_without_the_unused_part_of_its_stack() {
    let (body, mut bytes) = (sample(), Vec::new());
    let whole = record(perf::RECORD_SAMPLE, perf::MISC_USER, &body);
    Format::append(whole, &mut bytes);
    assert_eq!(bytes.len(), 8 + body.len() - 8, "{bytes:?}");
    // Nothing of the stack was readable.
    let mut unreadable = body.clone();
    let filled = body.len() - 16;
    unreadable[filled..filled + 8].fill(0);
    let none = record(perf::RECORD_SAMPLE, perf::MISC_USER, &unreadable);
    Format::append(none, &mut bytes);
    let other = record(perf::RECORD_LOST, 0, &body);
    Format::append(other, &mut bytes);
    let copied: Vec<_> = records(&bytes).collect();
    assert_eq!(copied.len(), 3);
    assert_eq!(FORMAT.parse(copied[0]), FORMAT.parse(whole));
    let Some((Event::Fault(fault), _)) = FORMAT.parse(copied[1]) else {
        panic!("{copied:?}");
    };
    assert_eq!((fault.stack, fault.page_size), (&[][..], Some(4096)));
    assert_eq!(copied[2], other);
}

#[test]
fn a_record_that_begins_at_the_end_of_the_ring_is_whole() {
    let all = [
        written(perf::RECORD_SAMPLE, &sample()),
        written(perf::RECORD_LOST, &[1; 32]),
        written(perf::RECORD_SAMPLE, &sample()),
    ]
    .concat();
    let expected: Vec<_> = records(&all)
        .map(|record| (record.kind, record.body.to_vec()))
        .collect();
    assert_eq!(expected.len(), 3);
    for cut in 0..=all.len() {
        let (mut found, (first, second)) = (Vec::new(), all.split_at(cut));
        each_record(first, second, |record| found.push((record.kind, record.body.to_vec())));
        assert_eq!(found, expected, "{cut}");
        // An incomplete record is skipped.
        found.clear();
        each_record(first, &second[..second.len().saturating_sub(1)], |record| {
            found.push((record.kind, record.body.to_vec()));
        });
        assert_eq!(found.len(), if cut == all.len() { 3 } else { 2 }, "{cut}");
    }
}

#[test]
fn other_records_end_in_their_time() {
    let end = |bytes: Bytes| bytes.u32(7).u32(8).u64(3_000_000_000).0;
    let mapped = Bytes::default().u32(7).u32(8).u64(0x40_0000).u64(0x1000).u64(0x200);
    let mapped = end(mapped.bytes(&[0; 32]).bytes(b"/usr/lib/a.so\0\0\0"));
    let expected = Event::Mapped(NewMapping {
        pid: 7,
        start: 0x40_0000,
        len: 0x1000,
        offset: 0x200,
        path: b"/usr/lib/a.so",
    });
    let parse = |kind, misc, body: &[u8]| {
        FORMAT
            .parse(record(kind, misc, body))
            .map(|(event, time)| (format!("{event:?}"), time))
    };
    let at = Duration::from_secs(3);
    assert_eq!(
        parse(perf::RECORD_MMAP2, 2, &mapped),
        Some((format!("{expected:?}"), at))
    );
    let named = end(Bytes::default().u32(7).u32(8).bytes(b"again\0\0\0"));
    assert_eq!(parse(perf::RECORD_COMM, 0, &named), None);
    let exec = Some((format!("{:?}", Event::Exec { pid: 7 }), at));
    assert_eq!(parse(perf::RECORD_COMM, perf::MISC_COMM_EXEC, &named), exec);
    let forked = end(Bytes::default().u32(9).u32(7).u32(9).u32(7).u64(1));
    let expected = Some((format!("{:?}", Event::Forked { parent: 7, pid: 9 }), at));
    assert_eq!(parse(perf::RECORD_FORK, 0, &forked), expected);
    let thread = end(Bytes::default().u32(7).u32(7).u32(9).u32(7).u64(1));
    assert_eq!(parse(perf::RECORD_FORK, 0, &thread), None);
    let lost = end(Bytes::default().u64(1).u64(12));
    assert_eq!(
        parse(perf::RECORD_LOST, 0, &lost),
        Some((format!("{:?}", Event::Lost(12)), at))
    );
}

#[test]
fn a_ring_is_split_into_records() {
    let two = Bytes::default()
        .u32(9)
        .bytes(&[2, 0, 12, 0])
        .u32(5)
        .u32(3)
        .bytes(&[0, 0, 8, 0])
        .0;
    let found: Vec<_> = records(&two).collect();
    assert_eq!(found, [record(9, 2, &[5, 0, 0, 0]), record(3, 0, &[])]);
    // A size below that of the head, and one beyond the end.
    for size in [7_u8, 200] {
        let bytes = Bytes::default().u32(9).bytes(&[0, 0, size, 0]).u64(0).0;
        assert_eq!(records(&bytes).count(), 0);
    }
}
