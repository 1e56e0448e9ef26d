//! The records of the tracepoint `signal:signal_generate`, as Linux 6.18 writes them.

use std::time::Duration;

use zmtop::proc::perf::records;
use zmtop::proc::sent_signals::{SentSignal, SignalFormat};

const FORMAT: &str = "name: signal_generate
ID: 261
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;
\tfield:int errno;\toffset:12;\tsize:4;\tsigned:1;
\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;
\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:36;\tsize:4;\tsigned:1;
\tfield:int group;\toffset:40;\tsize:4;\tsigned:1;
\tfield:int result;\toffset:44;\tsize:4;\tsigned:1;
";

/// A signal to process 6238, `zmtvictim`.
fn record(sig: i32, code: i32, result: i32) -> Vec<u8> {
    let mut data = vec![5, 1, 1, 2, 0x59, 0x18, 0, 0];
    for number in [sig, 0, code] {
        data.extend(number.to_le_bytes());
    }
    data.extend(b"zmtvictim\0\0\0\0\0\0\0");
    for number in [6238, 1, result, 0] {
        data.extend(i32::to_le_bytes(number));
    }
    // The size of the data and of the record, which is a multiple of 8.
    let time = 22_890_000_000_000_u64;
    let sample = [&time.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), &data].concat();
    framed(9, &sample)
}

fn framed(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = (body.len() + 8) as u16;
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), body].concat()
}

fn signals(bytes: &[u8]) -> Vec<SentSignal> {
    let format = SignalFormat::parse(FORMAT.as_bytes()).unwrap();
    records(bytes).filter_map(|record| format.signal(record)).collect()
}

#[test]
fn signals_that_end_a_process_are_read() {
    let sent = |is_final| SentSignal {
        at: Duration::from_secs(22_890),
        pid: 6238,
        comm: (*b"zmtvictim").into(),
        is_final,
    };
    // Some were lost before the last one.
    let lost = framed(2, &[0; 16]);
    let bytes = [record(15, 0, 0), lost, record(9, -6, 0)].concat();
    assert_eq!(signals(&bytes), [sent(false), sent(true)]);
    let none = [
        ("SIGHUP", record(1, 0, 0)),
        ("the kernel's own SIGKILL, as of an OOM kill", record(9, 0x80, 0)),
        ("the process is ending already", record(9, 0, 1)),
    ];
    for (what, bytes) in none {
        assert_eq!(signals(&bytes), [], "{what}");
    }
}

#[test]
fn torn_records_are_left_out() {
    let whole = [record(9, 0, 0), record(9, 0, 0)].concat();
    for length in 0..whole.len() {
        assert!(signals(&whole[..length]).len() < 2, "{length}");
    }
    for size in [0_u16, 7, 8, 20, u16::MAX] {
        let mut bytes = record(9, 0, 0);
        bytes[6..8].copy_from_slice(&size.to_le_bytes());
        assert_eq!(signals(&bytes), [], "{size}");
    }
    let without = FORMAT.replace("field:int code;", "field:int other;");
    assert!(SignalFormat::parse(without.as_bytes()).is_err());
    assert!(SignalFormat::parse(b"").is_err());
}
