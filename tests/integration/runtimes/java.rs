//! The answers of Java machines of JDK 8 to 25, and what must hold before one is asked.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Gid, Signal};
use serde_json::Value;
use zmtop::heap::java::jfr::kept;
use zmtop::heap::java::{heap_info, histogram, native_memory};
use zmtop::heap::kinds::Kind;
use zmtop::heap::runtimes::{Objects, Runtime};
use zmtop::heaps::java::{Status, safety, unpack};
use zmtop::heaps::runtimes::Accepted;
use zmtop::heaps::socket::{Refusal, Socket, within};
use zmtop::heaps::{self, runtimes};

use crate::proc::hsperfdata;
use crate::support::pty::ZMTOP;
use crate::support::{Owned, cannot};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const HISTOGRAM: &str = "
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         25000        1200000  [B (java.base@17.0.15)
   2:          9000         288000  Leak$Session
   3:          9000         216000  java.lang.String (java.base@17.0.15)
   4:           884          90000  [Ljava.util.HashMap$Node; (java.base@17.0.15)
   5:            12            480  [[Lcom.shop.Item;
   6:             7            112  Leak$$Lambda$14/0x0000000800c03000
   7:             1             16  Leak$$Lambda$15/0x0000000800c03218
   8:             3             96  Leak$Session
   9:             2             32  jdk.internal.vm.FillerElement (java.base@25.0.3)
  10:             1             24  Leak$1
Total         42910        1794760
";

/// As JDK 8 writes it, without modules.
const OLD: &str = "
 num     #instances         #bytes  class name
----------------------------------------------
   1:           500          40000  [C
   2:           100           2400  com.shop.Item
   3:            10            800  <methodKlass>
Total           610          43200
";

#[test]
fn classes_are_named_as_in_java_and_those_of_the_program_are_marked() {
    let own = |text: &str| {
        let classes = histogram(text.as_bytes()).unwrap();
        classes
            .into_iter()
            .map(|of| (of.name, of.count, of.bytes, of.is_own))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("byte[]", 25_000, 1_200_000, false),
        // Of two loaders.
        ("Leak$Session", 9003, 288_096, true),
        ("java.lang.String", 9000, 216_000, false),
        ("java.util.HashMap$Node[]", 884, 90_000, false),
        ("com.shop.Item[][]", 12, 480, true),
        ("Leak$$Lambda", 8, 128, true),
        ("jdk.internal.vm.FillerElement", 2, 32, false),
        ("Leak$1", 1, 24, true),
    ];
    assert_eq!(
        own(HISTOGRAM),
        expected.map(|(name, count, bytes, own)| (name.to_owned(), count, bytes, own))
    );
    let expected = [("char[]", false), ("com.shop.Item", true), ("<methodKlass>", false)];
    let marks: Vec<_> = own(OLD).into_iter().map(|(name, .., own)| (name, own)).collect();
    assert_eq!(marks, expected.map(|(name, own)| (name.to_owned(), own)));
    // Cut, another text, and numbers that no heap has.
    let cut = &HISTOGRAM[..HISTOGRAM.len() - 40];
    for text in [
        "",
        "Unknown diagnostic command",
        cut,
        &OLD.replace("40000", "99999999999999999999999"),
    ] {
        assert_eq!(histogram(text.as_bytes()), None, "{text}");
    }
    let vast = OLD
        .replace("40000", &u64::MAX.to_string())
        .replace("2400", &u64::MAX.to_string());
    let types = histogram(vast.as_bytes()).unwrap();
    assert_eq!(Objects { types, is_whole: true }.bytes(), u64::MAX);
}

#[test]
fn long_names_of_classes_are_cut_and_limited_as_a_whole() {
    // Classes, and bytes of each name; classes that are reported.
    for (count, len, expected) in [
        (2, 8000, Some(2)),
        (3, 100_000, Some(1)),
        (3000, 8000, Some(3000)),
        (5000, 8000, None),
    ] {
        let lines = (0..count).map(|n| format!("{n}: 1 8 {}{n:04}\n", "0".repeat(len - 4)));
        let text = lines.collect::<String>() + "Total 1 8\n";
        let types = histogram(text.as_bytes());
        assert_eq!(types.map(|types| types.len()), expected, "{count} of {len}");
    }
}

#[test]
fn each_collector_states_its_heap_in_its_own_words() {
    type Parts<'p> = &'p [(&'p str, u64, u64)];
    let cases: [(&str, Parts<'_>); 8] = [
        (
            " def new generation   total 116160K, used 36783K [0x00000000da800000, 0x00000000e2600000, 0x00000000e7000000)\n  \
             eden space 103296K,  23% used [0x00000000da800000, 0x00000000dbf5bfa0, 0x00000000e0ce0000)\n tenured generation   \
             total 258048K, used 28639K [0x00000000e7000000, 0x00000000f6c00000, 0x0000000100000000)\n   the space 258048K,  11% \
             used [0x00000000e7000000, 0x00000000e8bf7df0, 0x00000000e8bf7e00, 0x00000000f6c00000)\n Metaspace       used 155K, \
             committed 384K, reserved 1114112K\n  class space    used 4K, committed 128K, reserved 1048576K\n",
            &[
                ("def new generation", 36_783 * KIB, 116_160 * KIB),
                ("tenured generation", 28_639 * KIB, 258_048 * KIB),
                ("Metaspace", 155 * KIB, 384 * KIB),
            ],
        ),
        (
            "PSYoungGen      total 113152K, used 19712K [0x00000000f3800000, 0x0000000100000000, 0x0000000100000000)\nParOldGen       \
             total 258048K, used 45982K [0x00000000da800000, 0x00000000ea400000, 0x00000000f3800000)\n",
            &[
                ("PSYoungGen", 19_712 * KIB, 113_152 * KIB),
                ("ParOldGen", 45_982 * KIB, 258_048 * KIB),
            ],
        ),
        (
            " garbage-first heap   total 389120K, used 66060K [0x00000000da800000, 0x0000000100000000)\n  region size 1024K, 61 young \
             (62464K), 3 survivors (3072K)\n",
            &[("garbage-first heap", 66_060 * KIB, 389_120 * KIB)],
        ),
        (
            "garbage-first heap   total reserved 614400K, committed 389120K, used 113767K [0x00000000da800000, 0x0000000100000000)\n",
            &[("garbage-first heap", 113_767 * KIB, 389_120 * KIB)],
        ),
        (
            "ZHeap            used 102M, capacity 378M, max capacity 600M\n Cache           276M (2)\n",
            &[("ZHeap", 102 * MIB, 378 * MIB)],
        ),
        (
            "Shenandoah Heap\n 600M max, 600M soft max, 376M committed, 97872K used\n 2400 x 256K regions\nStatus: not cancelled\n\
             Reserved region:\n - [0x00000000da800000, 0x0000000100000000)\n",
            &[("heap", 97_872 * KIB, 376 * MIB)],
        ),
        ("java.lang.IllegalArgumentException: Unknown diagnostic command", &[]),
        (
            " x total 99999999999999999999K, used 1K\n total , used\n used\n total 18446744073709551615K, used 1K\n",
            &[],
        ),
    ];
    for (text, expected) in cases {
        let parts: Vec<_> = heap_info(text.as_bytes())
            .into_iter()
            .map(|(part, _)| (part.name, part.used, part.committed.unwrap()))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, used, total)| ((*name).to_owned(), *used, *total))
            .collect();
        assert_eq!(parts, expected, "{text}");
    }
    for (text, _) in &cases[2..6] {
        let range = heap_info(text.as_bytes())[0].1.clone();
        let has_range = !text.starts_with("ZHeap");
        assert_eq!(range, has_range.then_some(0xda80_0000..0x1_0000_0000), "{text}");
    }
}

#[test]
fn native_memory_is_listed_without_the_java_heap() {
    let text = "Native Memory Tracking:\n\nTotal: reserved=2078262KB, committed=465698KB\n-                 Java Heap \
                (reserved=614400KB, committed=389120KB)\n                            (mmap: reserved=614400KB, committed=389120KB)\n-  \
                                  Class (reserved=1048652KB, committed=204KB)\n-                        GC (reserved=60956KB, \
                committed=52596KB)\n";
    let expected = vec![("GC".to_owned(), 52_596 * KIB), ("Class".to_owned(), 204 * KIB)];
    assert_eq!(native_memory(text.as_bytes()), expected);
    assert_eq!(native_memory(b"Native memory tracking is not enabled\n"), []);
}

#[test]
fn a_signal_is_sent_only_to_a_machine_that_takes_it_as_a_request() {
    type Case<'c> = (Option<&'c [u8]>, &'c [u8], &'c [Vec<u8>], Result<(), Refusal>);
    let published = |capabilities: &str| hsperfdata::file_of(true, &[("sun.rt.jvmCapabilities", capabilities)], &[]);
    let (able, unable) = (published("11000000"), published("01000000"));
    let named = [b"java".to_vec(), b"Signal Dispatch\n".to_vec()];
    let nameless = [b"java\n".to_vec()];
    let cases: [Case<'_>; 9] = [
        (Some(&able), b"java\0App\0", &nameless, Ok(())),
        (Some(&unable), b"java\0App\0", &named, Err(Refusal::Disabled)),
        (None, b"java\0App\0", &named, Ok(())),
        (None, b"java\0App\0", &nameless, Err(Refusal::Unsure)),
        (
            None,
            b"java\0-XX:+DisableAttachMechanism\0App\0",
            &named,
            Err(Refusal::Disabled),
        ),
        (
            None,
            b"java\0App\0JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism\0",
            &named,
            Err(Refusal::Disabled),
        ),
        (None, b"java\0@options\0App\0", &named, Err(Refusal::Unsure)),
        (None, b"java\0-XX:Flags=.hotspotrc\0App\0", &named, Err(Refusal::Unsure)),
        (Some(b"damaged"), b"java\0App\0", &nameless, Err(Refusal::Unsure)),
    ];
    for (counters, arguments, threads, expected) in cases {
        assert_eq!(
            safety(counters, arguments, threads),
            expected,
            "{}",
            String::from_utf8_lossy(arguments)
        );
    }
}

#[test]
fn the_pid_of_the_innermost_namespace_and_the_effective_user_count() {
    let status = "Name:\tjava\nState:\tS (sleeping)\nPid:\t4711\nUid:\t0\t1000\t0\t0\nGid:\t0\t1001\t0\t0\nNSpid:\t4711\t20\t7\nSigCgt:\t\
                  0000000181005cce\n";
    let expected = Status {
        uid: 1000,
        gid: 1001,
        own_pid: 7,
        caught: 0x1_8100_5cce,
        is_stopped: false,
    };
    assert_eq!(Status::parse(status.as_bytes()), Some(expected));
    assert!(expected.handles(Signal::QUIT) && !expected.handles(Signal::USR1));
    let cases = [
        (
            "0000000181005cce",
            "0000000181005cca",
            Some(Status {
                caught: 0x1_8100_5cca,
                ..expected
            }),
        ),
        (
            "S (sleeping)",
            "T (stopped)",
            Some(Status {
                is_stopped: true,
                ..expected
            }),
        ),
        ("NSpid:\t4711\t20\t7\n", "", None),
        ("SigCgt", "SigIgn", None),
    ];
    for (from, to, expected) in cases {
        assert_eq!(Status::parse(status.replace(from, to).as_bytes()), expected, "{to}");
    }
}

#[test]
fn a_request_has_the_user_and_the_group_of_the_process_and_no_groups_of_zmtop() {
    if !rustix::process::geteuid().is_root() {
        cannot("only root may become another user");
        return;
    }
    let socket = Socket {
        pid: rustix::process::getpid(),
        uid: 4711,
        gid: 4712,
        dir: File::open("/").unwrap().into(),
        name: String::new(),
    };
    let ids = || {
        Ok((
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
            rustix::process::getgroups()?,
        ))
    };
    // On a thread of its own, as the groups of the process are those of each thread.
    let done = std::thread::spawn(move || {
        rustix::thread::set_thread_groups(&[Gid::from_raw(4713)]).unwrap();
        (socket.as_owner(ids), ids())
    });
    let expected = (Ok((4711, 4712, Vec::new())), Ok((0, 0, vec![Gid::from_raw(4713)])));
    assert_eq!(done.join().unwrap(), expected);
}

#[test]
fn a_time_that_is_over_is_the_one_of_the_step_that_took_it() {
    let limit = Duration::from_secs(120);
    for (step, said) in [(Duration::ZERO, 120), (Duration::from_secs(10), 10)] {
        let why = within::<()>(limit, |_| Err(Refusal::TimedOut(step))).unwrap_err();
        assert_eq!(why.to_string(), format!("it did not answer within {said} s"));
    }
    assert_eq!(within(limit, |_| Ok(7)), Ok(7));
}

#[test]
fn the_first_line_of_an_answer_is_its_result() {
    assert_eq!(unpack(b"0\nheap\n".to_vec()), Ok(b"heap\n".to_vec()));
    assert_eq!(unpack(b"0".to_vec()), Ok(Vec::new()));
    assert_eq!(unpack(Vec::new()), Err(Refusal::Closed));
    let failed = Refusal::Failed("Unknown command\nat Main\n".to_owned());
    assert_eq!(failed.to_string(), "it answered: Unknown command");
    assert_eq!(unpack(b"1\nUnknown command\nat Main\n".to_vec()), Err(failed));
}

/// Changed bytes of the answers are read without a panic.
#[test]
fn damaged_answers_are_harmless() {
    let counters = hsperfdata::file_of(true, &[("sun.rt.jvmCapabilities", "11000000")], &[]);
    for seed in 0..4000_u64 {
        for original in [HISTOGRAM.as_bytes(), OLD.as_bytes(), &counters] {
            let mut bytes = original.to_vec();
            for n in 0..4 {
                let hash = (seed * 4 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let at = (hash >> 8) as usize % bytes.len().min(600);
                bytes[at] = if n % 2 == 0 {
                    hash as u8
                } else {
                    b"0[L;()$K, \n\xff"[(hash >> 40) as usize % 12]
                };
            }
            let _ = (
                histogram(&bytes),
                heap_info(&bytes),
                native_memory(&bytes),
                Status::parse(&bytes),
            );
            let _ = safety(Some(&bytes), &bytes, &[]);
        }
    }
}

/// A recording of JDK 17: a program kept what `Session.<init>` allocated.
fn recording() -> Vec<u8> {
    let packed = include_bytes!("../../fixtures/jfr/jdk-17.jfr.zst");
    zstd::decode_all(&packed[..]).unwrap()
}

#[test]
fn a_recording_names_the_code_that_allocated_what_stayed() {
    let bytes = recording();
    let kept = kept(&bytes).unwrap();
    let first = (kept[0].class.as_str(), kept[0].frames.join(" "), kept[0].samples);
    assert_eq!(
        first,
        ("byte[]", "Leak$Session.<init> Leak.handle Leak.main".to_owned(), 142)
    );
    assert_eq!(kept.iter().map(|kept| kept.samples).sum::<u64>(), 144);
    assert_eq!(kept[1].class, "java.lang.Object[]");
    // Two chunks, one that is cut, and another file.
    assert_eq!(self::kept(&bytes.repeat(2)).unwrap()[0].samples, 284);
    for text in [
        &bytes[..bytes.len() - 1],
        b"FLR\0",
        b"no recording, and longer than the header of one: 68 bytes and then some",
    ] {
        assert_eq!(self::kept(text), None);
    }
}

#[test]
fn damaged_recordings_are_harmless() {
    let whole = recording();
    for seed in 0..200_u64 {
        let mut bytes = whole.clone();
        let hash = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The header, the metadata, or the constants at the end.
        let at = match seed % 4 {
            0 => 8 + (hash >> 8) as usize % 60,
            1 => 68 + (hash >> 8) as usize % 14_000,
            _ => (hash >> 8) as usize % bytes.len(),
        };
        bytes[at] = if seed % 3 == 0 { 0xff } else { hash as u8 };
        let _ = kept(&bytes);
    }
}

/// A program that keeps 200,000 objects of a class.
const KEEPS: &str = r#"
import java.util.*;
class Keeps {
    static final class Session { long first, second; }
    public static void main(String[] arguments) throws Exception {
        List<Session> kept = new ArrayList<>();
        for (int n = 0; n < 200000; n++) kept.add(new Session());
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
"#;

#[test]
fn a_real_machine_stands_still_no_longer_than_is_allowed_and_gets_no_signal_that_ends_it() {
    if Command::new("javac").arg("-version").output().is_err() {
        return cannot("no JDK is installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Keeps.java");
    std::fs::write(&source, KEEPS).unwrap();
    let compiled = Command::new("javac").arg(&source).status().unwrap();
    assert!(compiled.success());
    // What the report says, and whether it has the class.
    for (option, pause, said, is_counted) in [
        ("-Xmx64m", "2s", "", true),
        (
            "-Xmx64m",
            "0s",
            "Its objects were not counted: it would pause for up to 1 s.",
            false,
        ),
        (
            "-Xrs",
            "2s",
            "it does not handle SIGQUIT (-Xrs?), so an attach request would end it",
            false,
        ),
        ("-XX:+DisableAttachMechanism", "2s", "it was started with", false),
    ] {
        let mut command = Command::new("java");
        command.arg(option).arg("-cp").arg(dir.path()).arg("Keeps");
        let mut machine = Owned(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
        let mut output = BufReader::new(machine.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let done = Command::new(ZMTOP)
            .args(["heap", &machine.id().to_string(), "--format", "json", "--pause", pause])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        let runtime = &document["runtimes"][0];
        assert!(
            runtime["verdict"].to_string().contains(said),
            "{option} {pause}: {runtime:#}"
        );
        let types = runtime["types"].to_string();
        assert_eq!(
            types.contains("Keeps$Session"),
            is_counted,
            "{option} {pause}: {runtime:#}"
        );
        assert!(!is_counted || types.contains("200000"), "{types}");
        assert_eq!(machine.try_wait().unwrap(), None, "{option}");
    }
}

/// A program that keeps 100 MB more after it reads a line.
const GROWS: &str = r#"
class Grows {
    static final byte[][] kept = new byte[100][];
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int n = 0; n < kept.length; n++) kept[n] = new byte[1 << 20];
        System.out.println("grown");
        System.in.read();
    }
}
"#;

#[test]
fn a_machine_that_has_grown_is_not_paused_for_longer_than_is_allowed() {
    if Command::new("javac").arg("-version").output().is_err() {
        return cannot("no JDK is installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Grows.java");
    std::fs::write(&source, GROWS).unwrap();
    assert!(Command::new("javac").arg(&source).status().unwrap().success());
    let mut command = Command::new("java");
    command
        .args(["-Xmx256m", "-XX:+UseSerialGC", "-cp"])
        .arg(dir.path())
        .arg("Grows");
    let mut machine = Owned(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(machine.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "ready");
    let proc = Path::new("/proc");
    let state = heaps::look(proc, machine.id(), Duration::from_secs(60)).unwrap();
    let doors = runtimes::open(proc, &state);
    let accepted = Accepted {
        collection: false,
        pause: Duration::from_millis(50),
        inspector: false,
    };
    let look = || {
        let mut found = doors.iter().map(|door| door.look(accepted));
        found.find(|runtime| runtime.kind == Kind::Java).unwrap()
    };
    let before = look();
    assert!(before.objects.is_some(), "{:?}", before.remarks);
    machine.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(lines.next().unwrap(), "grown");
    let mut after = look();
    let has = |runtime: &Runtime, said: &str| runtime.remarks.iter().any(|remark| remark.contains(said));
    assert!(has(&after, "were not counted: it would pause"), "{:?}", after.remarks);
    // Nor does it collect garbage at the end of a recording.
    let accepted = Accepted {
        collection: true,
        ..accepted
    };
    for door in &doors {
        door.record(Duration::from_secs(1), accepted, || (), &mut after);
    }
    assert!(has(&after, "did not collect garbage"), "{:?}", after.remarks);
}
