//! The counters of .NET runtimes: a recorded stream, made ones, hostile ones among them, and sockets that answer wrongly.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use tempfile::TempDir;
use zmtop::heap::dotnet::{Answer, Counters, Stream, answer, start, stop};
use zmtop::heap::runtimes::Runtime;
use zmtop::heaps::dotnet::Dotnet;
use zmtop::heaps::socket::{Refusal, Socket};
use zmtop::model::Identity;
use zmtop::sampler::inquiry::{self, Inquiry};
use zmtop::units::Units;

use crate::support::pty::{ZMTOP, have};
use crate::support::{Owned, PATIENCE};

const MB: u64 = 1_000_000;
const SESSION: u64 = 0x7f00_1234_5678;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// A stream that is made object by object.
struct Made(Vec<u8>);

impl Made {
    fn new() -> Self {
        let mut made = Self(b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec());
        made.object("Trace", &[0; 48]);
        made
    }

    fn object(&mut self, name: &str, payload: &[u8]) {
        self.0.extend(b"\x05\x05\x01\x04\0\0\0\x04\0\0\0");
        self.0.extend((name.len() as u32).to_le_bytes());
        self.0.extend(name.as_bytes());
        self.0.push(6);
        if name != "Trace" {
            self.0.extend((payload.len() as u32).to_le_bytes());
            self.0.resize(self.0.len().next_multiple_of(4), 0);
        }
        self.0.extend(payload);
        self.0.push(6);
    }

    fn events(&mut self, name: &str, event: u8, payloads: &[Vec<u8>]) {
        let mut block = b"\x14\0\x01\0".to_vec();
        block.resize(20, 0);
        for payload in payloads {
            // A number, a thread, a time of two bytes, and a length.
            block.extend([1 | 2 | 4 | 8 | 16 | 128, event, 1, 2, 3, 4, 5, 0x80, 1]);
            block.extend([0; 16]);
            let length = payload.len();
            block.extend([length as u8 | 0x80, (length >> 7) as u8]);
            block.extend(payload);
        }
        self.object(name, &block);
    }

    fn define(&mut self, number: u8, provider: &str, event: &str) {
        let mut payload = vec![number, 0, 0, 0];
        payload.extend(utf16(provider));
        payload.extend([0; 4]);
        payload.extend(utf16(event));
        payload.extend([0; 20]);
        self.events("MetadataBlock", 0, &[payload]);
    }

    fn counters(&mut self, event: u8, counters: &[(&str, f64)]) {
        let payload = |(name, value): &(&str, f64)| {
            let mut payload = utf16(name);
            payload.extend(utf16("Shown so"));
            payload.extend(value.to_le_bytes());
            payload.extend([0; 40]);
            payload
        };
        let payloads: Vec<_> = counters.iter().map(payload).collect();
        self.events("EventBlock", event, &payloads);
    }
}

fn stream(counters: &[(&str, f64)]) -> Vec<u8> {
    let mut made = Made::new();
    made.define(1, "Other.Source", "EventCounters");
    made.define(2, "System.Runtime", "EventCounters");
    made.object("StackBlock", &[0; 13]);
    made.counters(1, &[("gc-heap-size", 7.0), ("assembly-count", 1.0)]);
    made.counters(2, counters);
    made.object("SPBlock", &[0; 12]);
    made.0
}

/// As .NET 8 sends them.
const WHOLE: [(&str, f64); 12] = [
    ("cpu-usage", 2.0),
    ("working-set", 300.0),
    ("gc-heap-size", 120.0),
    ("gc-fragmentation", 20.0),
    ("gc-committed", 260.0),
    ("time-in-gc", 1.0),
    ("gen-0-size", 1000.0),
    ("gen-1-size", 2000.0),
    ("gen-2-size", 30e6),
    ("loh-size", 200e6),
    ("poh-size", 0.0),
    ("assembly-count", 9.0),
];

fn read(bytes: &[u8]) -> Option<Counters> {
    let mut stream = Stream::default();
    stream.push(bytes).unwrap();
    stream.counters().cloned()
}

type Parts = Vec<(String, u64, Option<u64>, bool)>;

fn parts(runtime: &Runtime) -> Parts {
    let part = |part: &zmtop::heap::runtimes::Part| (part.name.clone(), part.used, part.committed, part.is_heap);
    runtime.parts.iter().map(part).collect()
}

/// Returns the heap of a runtime that sends these counters.
fn heap(counters: &[(&str, f64)], memory: Option<u64>) -> Runtime {
    let counters = read(&stream(counters)).unwrap();
    counters.runtime(".NET".to_owned(), memory)
}

/// Returns all counters, some with other values.
fn with(changes: &[(&str, f64)]) -> Vec<(&'static str, f64)> {
    let changed = |name: &str| changes.iter().find(|(changed, _)| *changed == name);
    let counters = WHOLE.iter();
    counters
        .map(|(name, value)| (*name, changed(name).map_or(*value, |(_, new)| *new)))
        .collect()
}

#[test]
fn the_heap_is_what_the_counters_say() {
    let whole = heap(&WHOLE, Some(300 * MB));
    let generation = |name: &str, size| (name.to_owned(), size, None, false);
    let expected = [
        ("heap".to_owned(), 120 * MB, Some(260 * MB), true),
        generation("generation 0", 1000),
        generation("generation 1", 2000),
        generation("generation 2", 30 * MB),
        generation("large objects", 200 * MB),
        generation("pinned objects", 0),
    ];
    assert_eq!(parts(&whole), expected);
    assert_eq!(
        (whole.gaps, whole.heap()),
        (Some(46_000_600), Some((260 * MB, 120 * MB)))
    );
    let expected = [
        "Its heap has 248M committed, and 134M of it are free. The .NET runtime keeps it for new objects: DOTNET_GCConserveMemory or \
         a smaller DOTNET_GCHeapHardLimit makes it keep less.",
        "After the last collection, 43.9M between its objects were free: fragmentation.",
    ];
    assert_eq!(whole.verdict(Units::Auto), expected);
}

#[test]
fn what_the_counters_do_not_say_is_unknown() {
    // Before the first collection, and of .NET Core 3.1.
    let new = with(&[
        ("gc-committed", 0.0),
        ("gc-fragmentation", f64::NAN),
        ("gen-0-size", 0.0),
        ("gen-1-size", 0.0),
        ("gen-2-size", 0.0),
        ("loh-size", 0.0),
    ]);
    let mut old = WHOLE.to_vec();
    old.retain(|(name, _)| !["gc-fragmentation", "gc-committed", "poh-size"].contains(name));
    let known_later = "Its committed memory is known only after its next collection.";
    let cases = [
        (
            &with(&[("gc-heap-size", 270.0)]),
            300 * MB,
            6,
            Some(46_000_600),
            known_later,
        ),
        (
            &WHOLE.to_vec(),
            200 * MB,
            6,
            Some(46_000_600),
            "Its heap has committed more than the process has in RAM and swap",
        ),
        (&new, 300 * MB, 1, None, known_later),
        (
            &old,
            300 * MB,
            5,
            None,
            ".NET before 6 does not report its committed memory.",
        ),
        (
            &with(&[("gc-heap-size", f64::INFINITY)]),
            1,
            0,
            None,
            "It did not report the size of its heap.",
        ),
        (
            &with(&[("gc-heap-size", -1.0)]),
            1,
            0,
            None,
            "It did not report the size of its heap.",
        ),
    ];
    for (counters, memory, count, gaps, said) in cases {
        let runtime = heap(counters, Some(memory));
        assert_eq!(
            (runtime.parts.len(), runtime.gaps, runtime.heap()),
            (count, gaps, None),
            "{said}"
        );
        assert!(!runtime.is_hoard());
        assert!(
            runtime.verdict(Units::Auto).concat().contains(said),
            "{:?}",
            runtime.verdict(Units::Auto)
        );
    }
    let vast = heap(
        &with(&[("gc-heap-size", 1e300), ("loh-size", 1e300), ("gc-committed", 1e300)]),
        None,
    );
    assert_eq!((vast.heap(), vast.gaps.is_some()), (Some((u64::MAX, u64::MAX)), true));
}

/// A program of .NET 9 and one of .NET Core 3.1 kept 100 MB and dropped as much between: `GC.GetTotalMemory` returned 102330856 and
/// 102403088.
#[test]
fn recorded_streams_have_the_figures_that_the_programs_printed() {
    let runtime = |packed: &[u8]| {
        let bytes = zstd::decode_all(packed).unwrap();
        read(&bytes).unwrap().runtime(String::new(), None)
    };
    let new = runtime(include_bytes!("../../fixtures/dotnet/net-9.nettrace.zst"));
    let old = runtime(include_bytes!("../../fixtures/dotnet/core-3.1.nettrace.zst"));
    let part = |name: &str, used, committed| (name.to_owned(), used, committed, name == "heap");
    let expected = [
        part("heap", 102_458_072, Some(220_000_256)),
        part("generation 0", 0, None),
        part("generation 1", 2_136_672, None),
        part("generation 2", 49_166_232, None),
        part("large objects", 101_021_744, None),
        part("pinned objects", 8184, None),
    ];
    assert_eq!(parts(&new), expected);
    // Whole megabytes.
    let expected = [
        part("heap", 102 * MB, None),
        part("generation 0", 24, None),
        part("generation 1", 2_095_584, None),
        part("generation 2", 49_219_280, None),
        part("large objects", 101_739_672, None),
    ];
    assert_eq!(parts(&old), expected);
    assert_eq!((new.gaps, old.gaps), (Some(50_010_200), None));
}

#[test]
fn a_stream_is_read_however_it_is_divided_and_until_a_set_is_complete() {
    let bytes = stream(&WHOLE);
    let whole = read(&bytes);
    assert!(whole.is_some());
    let mut stream = Stream::default();
    for byte in &bytes {
        stream.push(&[*byte]).unwrap();
    }
    assert_eq!(stream.counters(), whole.as_ref());
    // Without the last counter, a set is complete when the next one begins.
    let mut made = Made(self::stream(&WHOLE[..11]));
    assert_eq!(read(&made.0), None);
    made.counters(2, &WHOLE[..3]);
    assert_eq!(
        read(&made.0).unwrap().runtime(String::new(), None),
        whole.unwrap().runtime(String::new(), None)
    );
    // The end of the stream.
    made.0.extend([1, 1]);
    assert!(read(&made.0).is_some());
}

#[test]
fn damaged_streams_are_harmless() {
    let whole = stream(&WHOLE);
    for seed in 0..8000_u64 {
        let mut bytes = whole.clone();
        for n in 0..=seed % 3 {
            let hash = (seed * 4 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let at = (hash >> 8) as usize % bytes.len();
            bytes[at] = [hash as u8, 0xff, 0x80, 0][(hash >> 60) as usize % 4];
        }
        let mut stream = Stream::default();
        let _ = bytes.chunks(700).try_for_each(|part| stream.push(part));
        let _ = stream
            .counters()
            .map(|counters| counters.runtime(String::new(), None).verdict(Units::Auto));
        let _ = answer(&bytes[..seed as usize % 40]);
    }
    // Uncompressed heads, a block that is too long, another format, another version.
    let change = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        Stream::default().push(&bytes)
    };
    let block = whole.windows(13).position(|window| window == b"MetadataBlock").unwrap() + 14;
    let flags = block
        + 2
        + whole[block..]
            .windows(4)
            .position(|window| window == b"\x14\0\x01\0")
            .unwrap();
    for (at, byte) in [(flags, 0), (block + 3, 1), (0, b'n'), (39, 5)] {
        assert!(change(at, byte).is_err(), "{at}");
    }
}

#[test]
fn requests_and_answers_are_as_the_protocol_says() {
    let request = start();
    assert_eq!(&request[..20], b"DOTNET_IPC_V1\0\x87\0\x02\x03\0\0");
    assert_eq!(request.len(), 0x87);
    assert_eq!(stop(SESSION)[14..20], *b"\x1c\0\x02\x01\0\0");
    for (bytes, expected) in [
        (accepted(), Answer::Session(SESSION)),
        (accepted()[..24].to_vec(), Answer::More),
        (refused(0x8013_1385), Answer::Failed(0x8013_1385)),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Answer::Strange),
        (vec![0; 24], Answer::Strange),
        (Vec::new(), Answer::More),
    ] {
        assert_eq!(answer(&bytes), expected);
    }
}

fn accepted() -> Vec<u8> {
    let mut answer = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0".to_vec();
    answer.extend(SESSION.to_le_bytes());
    answer
}

fn refused(code: u32) -> Vec<u8> {
    let mut answer = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0".to_vec();
    answer.extend(code.to_le_bytes());
    answer
}

const NAME: &str = "dotnet-diagnostic-1-2-socket";

/// Returns the runtime of a process of that pid and user, whose socket is in a directory.
fn runtime(dir: &Path, pid: rustix::process::Pid, uid: u32) -> Dotnet {
    let socket = Socket {
        pid,
        uid,
        gid: rustix::process::getegid().as_raw(),
        dir: rustix::fs::open(dir, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap(),
        name: NAME.to_owned(),
    };
    let version = ".NET".to_owned();
    Dotnet { socket, version }
}

/// Serves one session: reads its request, writes what a function writes, and returns the request to end it.
fn serve(write: impl FnOnce(&mut UnixStream) + Send + 'static) -> (TempDir, Dotnet, mpsc::Receiver<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(dir.path().join(NAME)).unwrap();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut session, _) = listener.accept().unwrap();
        let mut request = vec![0; start().len()];
        session.read_exact(&mut request).unwrap();
        assert_eq!(request, start());
        // It writes until the other side closes, and meanwhile the end is asked for.
        let writer = std::thread::spawn(move || write(&mut session));
        if let Ok((mut end, _)) = listener.accept() {
            let mut request = Vec::new();
            let mut bytes = [0; 28];
            if end.read_exact(&mut bytes).is_ok() {
                request.extend(bytes);
            }
            let _ = sender.send(request);
            let _ = end.write_all(&accepted());
        }
        let _ = writer.join();
    });
    let own = runtime(
        dir.path(),
        rustix::process::getpid(),
        rustix::process::geteuid().as_raw(),
    );
    (dir, own, ended)
}

#[test]
fn a_session_is_ended_when_its_counters_came() {
    let (_dir, dotnet, ended) = serve(|session| {
        session.write_all(&accepted()).unwrap();
        session.write_all(&stream(&WHOLE)).unwrap();
    });
    let counters = dotnet.counters(PATIENCE).unwrap();
    assert_eq!(Some(counters), read(&stream(&WHOLE)));
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), stop(SESSION));
}

#[test]
fn a_wrong_answer_has_a_clear_sentence() {
    type Write = fn(&mut UnixStream);
    let cases: [(Write, Refusal, &str); 7] = [
        (
            |session| session.write_all(&refused(0x8013_1385)).unwrap(),
            Refusal::Failed("unknown command (.NET Core 3.0?)".to_owned()),
            "it answered: unknown command (.NET Core 3.0?)",
        ),
        (
            |session| session.write_all(&refused(0x8013_1515)).unwrap(),
            Refusal::Failed("error 0x80131515".to_owned()),
            "it answered: error 0x80131515",
        ),
        (
            |session| session.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap(),
            Refusal::NotUnderstood,
            "its answer could not be parsed",
        ),
        (|_| (), Refusal::Cut, "its answer ended too early"),
        (
            |session| {
                let bytes = stream(&WHOLE);
                session.write_all(&accepted()).unwrap();
                session.write_all(&bytes[..bytes.len() / 2]).unwrap();
            },
            Refusal::Cut,
            "its answer ended too early",
        ),
        (
            |session| {
                session.write_all(&accepted()).unwrap();
                let _ = session.write_all(&[b'x'; 100]);
            },
            Refusal::NotUnderstood,
            "its answer could not be parsed",
        ),
        (
            |session| {
                let mut made = Made::new();
                (0..70).for_each(|_| made.object("StackBlock", &vec![0; 1 << 16]));
                session.write_all(&accepted()).unwrap();
                let _ = session.write_all(&made.0);
                let _ = session.read(&mut [0]);
            },
            Refusal::TooLong(4 << 20),
            "its answer is longer than 4 MiB",
        ),
    ];
    for (write, expected, said) in cases {
        let (_dir, dotnet, _ended) = serve(write);
        let refusal = dotnet.counters(PATIENCE).unwrap_err();
        assert_eq!((refusal.to_string().as_str(), &refusal), (said, &expected));
    }
}

#[test]
fn a_runtime_that_does_not_answer_is_left_after_the_time() {
    let limit = Duration::from_millis(50);
    let (_dir, dotnet, _ended) = serve(|session| {
        let _ = session.read(&mut [0]);
    });
    assert_eq!(dotnet.counters(limit), Err(Refusal::TimedOut(limit)));
}

#[test]
fn the_socket_of_another_process_or_user_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let own = rustix::process::geteuid().as_raw();
    let pid = rustix::process::getpid();
    assert_eq!(runtime(dir.path(), pid, own).socket.exists(), Ok(false));
    std::fs::write(dir.path().join(NAME), "no socket").unwrap();
    assert_eq!(runtime(dir.path(), pid, own).socket.exists(), Err(Refusal::Foreign));
    std::fs::remove_file(dir.path().join(NAME)).unwrap();
    let _listener = UnixListener::bind(dir.path().join(NAME)).unwrap();
    assert_eq!(runtime(dir.path(), pid, own).socket.exists(), Ok(true));
    assert_eq!(runtime(dir.path(), pid, own + 1).socket.exists(), Err(Refusal::Foreign));
    let first = rustix::process::Pid::INIT;
    let refusal = runtime(dir.path(), first, own).counters(PATIENCE).unwrap_err();
    assert_eq!(
        (refusal.to_string().as_str(), refusal),
        ("its socket belongs to another user", Refusal::Foreign)
    );
}

/// A process that looks like a .NET runtime: it maps its library, and answers on its socket with a file.
const FAKE: &str = r#"
import mmap, os, socket, sys
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
start = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]
own = open("/proc/self/status").read().split("NSpid:")[1].split("\n")[0].split()[-1]
listener = socket.socket(socket.AF_UNIX)
if len(sys.argv) > 2:
    listener.bind(os.environ["TMPDIR"] + f"/dotnet-diagnostic-{own}-{start}-socket")
    listener.listen()
print("ready", flush=True)
if len(sys.argv) == 2:
    sys.stdin.read()
stream = open(sys.argv[2], "rb").read()
answer = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0" + bytes(8)
while True:
    session, _ = listener.accept()
    open(os.environ["TMPDIR"] + "/asked", "w").close()
    session.recv(4096)
    session.sendall(answer + stream)
    end, _ = listener.accept()
    end.recv(4096)
    end.sendall(answer)
    end.close()
    session.close()
"#;

/// Starts such a process in a folder; it has a socket if it answers.
fn fake(dir: &Path, answers: bool) -> Owned {
    let library = dir.join("shared/Microsoft.NETCore.App/8.0.11/libcoreclr.so");
    std::fs::create_dir_all(library.parent().unwrap()).unwrap();
    std::fs::write(&library, [0; 4096]).unwrap();
    let answer = dir.join("answer");
    std::fs::write(&answer, stream(&WHOLE)).unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", FAKE]).arg(library).args(answers.then_some(answer));
    command.env("TMPDIR", dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut fake = Owned(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(fake.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    fake
}

fn report(fake: &Owned, format: &str) -> Output {
    let arguments = ["heap", &fake.id().to_string(), "--format", format];
    Command::new(ZMTOP).args(arguments).output().unwrap()
}

#[test]
fn only_zmtop_heap_sends_a_request() {
    if !have("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let fake = fake(dir.path(), true);
    let stat = std::fs::read(format!("/proc/{}/stat", fake.id())).unwrap();
    let id = Identity {
        pid: fake.id(),
        starttime: zmtop::proc::pid::stat(&stat, 4096).unwrap().starttime,
    };
    let asked = dir.path().join("asked");
    // The monitor names it, and how to ask it.
    let lines = inquiry::read(Path::new("/proc"), id, Inquiry::Heap).unwrap();
    let text: Vec<u8> = lines.into_iter().flat_map(|(_, text)| text).collect();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("zmtop heap PID reads its counters"), "{text}");
    assert!(!asked.exists());
    report(&fake, "json");
    assert!(asked.exists());
}

#[test]
fn the_report_has_the_heap_of_a_runtime_and_says_before_that_it_is_asked() {
    if !have("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let asked = fake(dir.path(), true);
    let done = report(&asked, "json");
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let runtimes = document["runtimes"].as_array().unwrap();
    let dotnet = runtimes.iter().find(|runtime| runtime["name"] == ".NET").unwrap();
    assert_eq!(dotnet["version"], ".NET 8.0.11");
    let heap = json!({"name": "heap", "used": 120 * MB, "committed": 260 * MB, "resident": null, "objects": true});
    assert_eq!((&dotnet["parts"][0], &dotnet["gaps"]), (&heap, &json!(46_000_600)));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("the counters of .NET are read over its diagnostics socket"),
        "{said}"
    );
    let table = String::from_utf8(report(&asked, "table").stdout).unwrap();
    assert!(
        table.contains(".NET 8.0.11") && table.contains("large objects"),
        "{table}"
    );
    // Without a socket.
    let silent = fake(dir.path(), false);
    let table = String::from_utf8(report(&silent, "table").stdout).unwrap();
    let said = format!(
        ".NET was not queried: it has no diagnostics socket in {}",
        dir.path().display()
    );
    assert!(table.contains(&said), "{table}");
}
