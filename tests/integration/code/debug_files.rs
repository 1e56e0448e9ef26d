//! Files with symbols that others made: FIFOs, and debug information that needs too much memory.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use object::{Object, ObjectSection};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, kill_process};
use zmtop::call_tree::{Counts, Frame, Measured};
use zmtop::proc::page_faults::Registers;
use zmtop::stacks::functions_by;
use zmtop::units::Units;

use super::programs::run;
use super::{Program, SERVER, compile};
use crate::support::{Owned, long};

const SOURCE: &str = "int answer(int n) { return n * 3; }\nint main(int argc, char **argv) { return answer(argc); }\n";
/// A link to a file that any file could be, as there is no build id.
const FLAGS: &[&str] = &["-g", "-O1", "-Wl,--build-id=none"];
const START: u64 = 0x5555_0000_0000;

/// Compiles [`SOURCE`] with objects of its own. Returns the program and the address of `answer`.
fn program(dir: &Path, objects: &[&str]) -> (PathBuf, u64) {
    let path = compile(dir, "cc", SOURCE, "c", &[FLAGS, objects].concat());
    let bytes = fs::read(&path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let answer = elf
        .symbols()
        .find(|symbol| object::ObjectSymbol::name(symbol) == Ok("answer"));
    (path, object::ObjectSymbol::address(&answer.unwrap()))
}

/// Returns the function at an address of a file, which is mapped at [`START`]. Fails if that takes a minute.
fn function(path: &Path, address: u64) -> Frame {
    let (path, registers) = (
        path.to_owned(),
        Registers {
            ip: START + address,
            sp: 0x7fff_0000_0000,
            fp: 0x7fff_0000_0040,
            lr: 0,
        },
    );
    let (send, found) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let frames = functions_by(&path, START, registers, &[0; 64]);
        let _ = send.send(frames.into_iter().next());
    });
    found.recv_timeout(Duration::from_secs(60)).unwrap().unwrap()
}

#[test]
fn a_fifo_in_place_of_the_separate_symbols_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let (path, address) = program(dir.path(), &[]);
    let debug = dir.path().join("program.debug");
    let [program, symbols] = [&path, &debug].map(|path| path.to_str().unwrap());
    run("objcopy", &["--only-keep-debug", program, symbols]);
    run("strip", &[program]);
    run("objcopy", &[&format!("--add-gnu-debuglink={symbols}"), program]);
    // Without a build id, the checksum says that it is the right one.
    let named = function(&path, address);
    assert_eq!((&*named.function, named.source.is_some()), ("answer", true));
    fs::create_dir(dir.path().join(".debug")).unwrap();
    for place in ["program.debug", ".debug/program.debug"] {
        let place = dir.path().join(place);
        let _ = fs::remove_file(&place);
        run("mkfifo", &[place.to_str().unwrap()]);
    }
    assert_ne!(&*function(&path, address).function, "answer");
    // One that is damaged.
    fs::remove_file(&debug).unwrap();
    fs::write(&debug, "no ELF file").unwrap();
    assert_ne!(&*function(&path, address).function, "answer");
    // One with a link of its own, to another FIFO.
    let (path, address) = self::program(dir.path(), &[]);
    run(
        "objcopy",
        &[&format!("--add-gnu-debuglink={symbols}"), path.to_str().unwrap()],
    );
    fs::remove_file(&debug).unwrap();
    run("mkfifo", &[symbols]);
    assert_eq!(&*function(&path, address).function, "answer");
}

/// Adds `size` zero bytes to the debug information of [`program`], and compresses it.
fn compressed(dir: &Path, kind: &str, size: usize) -> (PathBuf, u64) {
    let [text, more] = ["zeros.s", "zeros.o"].map(|name| dir.join(name).to_str().unwrap().to_owned());
    fs::write(&text, format!(".section .debug_str,\"\",@progbits\n.zero {size}\n")).unwrap();
    run("as", &[&text, "-o", &more]);
    let found = program(dir, &[&more]);
    let option = format!("--compress-debug-sections={kind}");
    run("objcopy", &[&option, found.0.to_str().unwrap()]);
    found
}

/// Overwrites the size that a compressed section states.
fn set_size(path: &Path, change: impl FnOnce(u64) -> u64) {
    let mut bytes = fs::read(path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let section = elf.section_by_name(".debug_str").unwrap();
    let at = section.compressed_file_range().unwrap().offset as usize - 16;
    let stated = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&change(stated).to_le_bytes());
    // Another file, as names are kept by file.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn debug_information_that_needs_too_much_memory_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    for kind in ["zlib", "zstd"] {
        // The limit is the same for both, and making such files takes seconds.
        let large = if long() { 100_000_000 } else { 1_000_000 };
        let too_large = (long() || kind == "zlib").then_some((300_000_000, false));
        for (size, has_lines) in [(large, true)].into_iter().chain(too_large) {
            let (path, address) = compressed(dir.path(), kind, size);
            let found = function(&path, address);
            let found = (&*found.function, found.source.is_some());
            assert_eq!(found, ("answer", has_lines), "{size} bytes by {kind}");
        }
        for change in [|_| 1 << 62, |stated| stated / 2, |stated| stated + 1] {
            let (path, address) = compressed(dir.path(), kind, 1_000_000);
            set_size(&path, change);
            let found = function(&path, address);
            assert_eq!((&*found.function, found.source), ("answer", None), "{kind}");
        }
    }
    let measured = Measured {
        counts: Counts {
            too_large: 2,
            ..Counts::default()
        },
        ..Measured::default()
    };
    let notes = measured.notes(Units::Bytes);
    assert!(notes.iter().any(|note| note.contains("of 2 files")), "{notes:?}");
}

#[test]
fn signals_end_the_command_while_its_report_waits() {
    let mut program = Program::compiled("cc", SERVER, "c", &["-O1"]);
    let (_reader, full) = rustix::pipe::pipe_with(PipeFlags::NONBLOCK).unwrap();
    while rustix::io::write(&full, &[0; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&full, false).unwrap();
    let pid = program.pid().to_string();
    let mut zmtop = Command::new(crate::support::pty::ZMTOP)
        .args(["callers", &pid])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    let mut errors = BufReader::new(zmtop.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.contains("sampling for"), "{line}");
    let start = Instant::now();
    let status = loop {
        kill_process(Pid::from_child(&zmtop), Signal::TERM).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        if let Some(status) = zmtop.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
    };
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(status.code(), Some(128 + Signal::TERM.as_raw()), "{rest}");
    program.child.kill().unwrap();
}

/// 400,000 units that share a line program of 8 MB, which names no line.
const SHARED_LINES: &str = r#"
.section .debug_abbrev,"",@progbits
abbreviations: .byte 1, 0x11, 0, 0x10, 0x17, 0, 0, 0
.section .debug_info,"",@progbits
.rept 400000
.long 12
.short 4
.long abbreviations
.byte 8, 1
.long lines
.endr
.section .debug_line,"",@progbits
lines: .long 26 + (8 << 20)
.short 4
.long 20
.byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0
.fill 8 << 20, 1, 6
"#;

#[test]
fn debug_information_that_would_take_hours_ends_the_measurement() {
    if !long() {
        // It takes 40 s of CPU time.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let [text, more] = ["lines.s", "lines.o"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    fs::write(&text, SHARED_LINES).unwrap();
    run("as", &[&text, "-o", &more]);
    let mut program = Program::compiled("cc", SERVER, "c", &["-O1", &more]);
    let mut zmtop = Command::new(crate::support::pty::ZMTOP)
        .args(["callers", &program.pid().to_string(), "--for", "2s"])
        .stderr(Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    let mut errors = BufReader::new(zmtop.stderr.take().unwrap());
    errors.read_line(&mut String::new()).unwrap();
    program.go();
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert!(said.contains("takes too long to read"), "{said}");
    assert_eq!(zmtop.wait().unwrap().code(), Some(3));
}

#[test]
fn a_file_that_others_may_change_is_copied_or_at_least_its_symbols() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let (path, address) = program(dir.path(), &[]);
    // The mode, the length if it is extended, and whether the line of the source is known.
    for (mode, len, has_line) in [(0o755, None, true), (0o777, None, true), (0o777, Some(1 << 40), false)] {
        let copy = dir.path().join(format!("{mode:o}-{}", len.is_some()));
        fs::copy(&path, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).unwrap();
        if let Some(len) = len {
            fs::File::options()
                .write(true)
                .open(&copy)
                .unwrap()
                .set_len(len)
                .unwrap();
        }
        let found = function(&copy, address);
        assert_eq!(
            (&*found.function, found.source.is_some()),
            ("answer", has_line),
            "{mode:o} {len:?}"
        );
    }
}
