//! Memory that a real process holds through its descriptors.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use zmtop::model::{Held, HeldKind, HeldObject, Missing, Reading, Snapshot};
use zmtop::proc::pid;
use zmtop::sampler::{Needs, Scanner};

use crate::support::{Owned, block_on, cannot};

const MIB: u64 = 1 << 20;

/// Does what it is told, a line of Python at a time.
struct Python {
    child: Owned,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

const HELPER: &str = r#"
import ctypes, os, struct, sys, mmap
libc = ctypes.CDLL(None, use_errno=True)
def bpf(command, attributes):
    attributes += bytes(128 - len(attributes))
    return libc.syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], command, attributes, 128)
def array(entries):
    return bpf(0, struct.pack("IIIII", 2, 4, 4096, entries, 0))
def program():
    code, license = ctypes.create_string_buffer(b"\xb7\0\0\0\0\0\0\0\x95\0\0\0\0\0\0\0"), ctypes.create_string_buffer(b"GPL")
    return bpf(5, struct.pack("IIQQ", 1, 2, ctypes.addressof(code), ctypes.addressof(license)))
for line in sys.stdin:
    exec(line, globals())
    print(globals().get("answer", 0), flush=True)
"#;

impl Python {
    fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", HELPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self {
            child: Owned(child),
            stdin,
            stdout: BufReader::new(stdout),
        }
    }

    /// Runs a line; returns the number in `answer`.
    fn run(&mut self, line: &str) -> i64 {
        writeln!(self.stdin, "{line}").unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        answer.trim().parse().unwrap()
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

fn held(snapshot: &Snapshot, pid: u32) -> Reading<&Held> {
    let row = snapshot.rows().iter().find(|row| row.id.pid == pid);
    row.ok_or(Missing::Gone)?.held()
}

fn scan() -> std::sync::Arc<Snapshot> {
    let mut scanner = Scanner::new(&crate::support::machine_options());
    scanner.set_needs(Needs::HELD);
    block_on(scanner.full())
}

fn object<'a>(held: &'a Held, name: &str) -> Option<&'a HeldObject> {
    held.objects.iter().find(|object| *object.name == *name.as_bytes())
}

#[test]
fn a_memfd_and_a_removed_file_belong_to_who_holds_them() {
    let mut python = Python::start();
    python.run("fd = os.memfd_create('cache'); os.write(fd, bytes(3 << 20)); answer = fd");
    let path = format!("/dev/shm/zmtop-test-{}", std::process::id());
    let answer = python.run(&format!(
        "f = open('{path}', 'wb') if os.path.isdir('/dev/shm') else None; answer = -1 if f is None else f.write(bytes(1 << 20)); f and f.flush(); f and os.unlink('{path}')"
    ));
    let pid = python.pid();
    let snapshot = scan();
    let found = held(&snapshot, pid).unwrap();
    let memfd = object(found, "/memfd:cache").unwrap();
    assert_eq!((memfd.bytes, memfd.holders, memfd.fds), (Ok(3 * MIB), 1, 1));
    let shm_is_tmpfs = std::fs::read_to_string("/proc/mounts")
        .unwrap()
        .contains(" /dev/shm tmpfs ");
    if answer > 0 && shm_is_tmpfs {
        assert_eq!(object(found, &path).unwrap().bytes, Ok(MIB));
    } else {
        cannot("/dev/shm is no tmpfs here");
    }
    // A file with a name is nobody's, and one on a disk is no memory.
    python.run("import tempfile; g = tempfile.TemporaryFile(dir='/var/tmp'); g.write(bytes(1 << 20)); g.flush()");
    // Half of it is mapped, and so in its PSS; a second holder has half of all that is not.
    python.run("m = mmap.mmap(fd, 1 << 20)");
    let snapshot = scan();
    let found = held(&snapshot, pid).unwrap();
    assert_eq!(object(found, "/memfd:cache").unwrap().bytes, Ok(2 * MIB));
    let files = found.objects.iter().filter(|object| object.kind == HeldKind::Memfd);
    assert_eq!(files.count(), 1 + usize::from(shm_is_tmpfs), "{found:?}");
    python.run("m.close(); second = os.dup(fd); os.set_inheritable(second, True)");
    let child = python.run("child = os.fork() or os.execvp('sleep', ['sleep', '60']); answer = child");
    // By then it has closed what closes on exec.
    python.run(r#"while open(f"/proc/{child}/comm").read().strip() != "sleep": pass"#);
    let snapshot = scan();
    let shares: Vec<_> = [pid, u32::try_from(child).unwrap()]
        .iter()
        .map(|pid| {
            let object = object(held(&snapshot, *pid).unwrap(), "/memfd:cache").unwrap();
            (object.share(), object.holders, object.fds)
        })
        .collect();
    python.run("import signal; os.kill(child, signal.SIGKILL)");
    assert_eq!(shares, [(Ok(3 * MIB / 2), 2, 2), (Ok(3 * MIB / 2), 2, 1)]);
}

#[test]
fn a_thread_with_its_own_descriptors_holds_memory_for_its_process() {
    let own = std::process::id();
    if pid::compare_descriptors(own, own).is_err() {
        return cannot("this kernel has no kcmp(2)");
    }
    let mut python = Python::start();
    python.run("import threading; ready = threading.Event(); done = threading.Event()");
    python.run("both = os.memfd_create('both'); os.write(both, bytes(1 << 20))");
    python.run(
        "def work(): libc.unshare(0x400); own = os.memfd_create('own'); os.write(own, bytes(2 << 20)); ready.set(); done.wait()",
    );
    python.run("thread = threading.Thread(target=work); thread.start(); ready.wait()");
    let snapshot = scan();
    let found = held(&snapshot, python.pid()).unwrap();
    let known = |name: &str| object(found, name).map(|object| (object.bytes, object.holders, object.fds));
    assert_eq!(known("/memfd:own"), Some((Ok(2 * MIB), 1, 1)));
    assert_eq!(known("/memfd:both"), Some((Ok(MIB), 1, 2)));
    python.run("done.set(); thread.join()");
    let snapshot = scan();
    let found = held(&snapshot, python.pid()).unwrap();
    assert_eq!(object(found, "/memfd:own"), None);
    assert_eq!(object(found, "/memfd:both").map(|object| object.fds), Some(1));
}

#[test]
fn a_removed_file_with_a_path_that_is_too_long_is_held_memory() {
    let dir = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
    let mut python = Python::start();
    python.run(&format!("d = os.open('{}', os.O_RDONLY)", dir.path().display()));
    python.run("name = 'd' * 250");
    python.run("exec('for i in range(20):\\n os.mkdir(name, dir_fd=d); e = os.open(name, os.O_RDONLY, dir_fd=d); os.close(d); d = e')");
    python.run(
        "f = os.open('f', os.O_RDWR | os.O_CREAT, dir_fd=d); os.write(f, bytes(3 << 20)); os.unlink('f', dir_fd=d)",
    );
    let snapshot = scan();
    let found = held(&snapshot, python.pid()).unwrap();
    assert_eq!(object(found, "(path too long)").unwrap().bytes, Ok(3 * MIB));
}

#[test]
fn secret_memory_belongs_to_who_holds_it() {
    let mut python = Python::start();
    // `memfd_secret(2)` (Linux 5.14) and `cachestat(2)` (6.5), on all architectures.
    if python.run("fd = libc.syscall(447, 0); answer = fd") < 0 {
        cannot("this kernel has no secret memory");
        return;
    }
    if python.run("ctypes.set_errno(0); libc.syscall(451, 0, None, None, 1); answer = ctypes.get_errno()") == 38 {
        cannot("this kernel does not count the pages of a file");
        return;
    }
    python.run("os.ftruncate(fd, 64 << 20); m = mmap.mmap(fd, 3 << 20); m.write(bytes(3 << 20)); m.close()");
    let snapshot = scan();
    let found = held(&snapshot, python.pid()).unwrap();
    assert_eq!(object(found, "/secretmem").unwrap().bytes, Ok(3 * MIB));
}

#[test]
fn a_growing_memfd_is_seen_while_the_descriptors_stay() {
    let mut python = Python::start();
    let mut scanner = Scanner::new(&crate::support::machine_options());
    scanner.set_needs(Needs::HELD);
    let pid = python.pid();
    python.run("fds = [os.open('/dev/null', os.O_RDONLY) for _ in range(2000)]");
    // On a busy machine the first tick may end before the read.
    let first = (0..600).find_map(|_| {
        let snapshot = block_on(scanner.tick());
        match held(&snapshot, pid) {
            Err(Missing::Pending) => {
                std::thread::sleep(std::time::Duration::from_millis(100));
                None
            }
            known => Some(known.map(|held| held.figures.total())),
        }
    });
    assert_eq!(first, Some(Ok(0)));
    let mut seen = Vec::new();
    for mib in [1, 5] {
        python.run(&format!(
            "fd = globals().get('fd') or os.memfd_create('x'); os.write(fd, bytes({mib} << 20))"
        ));
        let mut last = 0;
        // Reads of descriptors have a budget, which a busy machine makes long.
        for _ in 0..600 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let snapshot = block_on(scanner.tick());
            last = held(&snapshot, pid).unwrap().figures.of(HeldKind::Memfd);
            if last > seen.last().copied().unwrap_or(0) {
                break;
            }
        }
        seen.push(last);
    }
    assert_eq!(seen, [MIB, 6 * MIB]);
}

#[test]
fn bpf_maps_and_programs_belong_to_who_holds_them() {
    let mut python = Python::start();
    if python.run("answer = array(256)") < 0 {
        return cannot("bpf(2) is not allowed here");
    }
    assert!(python.run("answer = program()") > 0);
    let snapshot = scan();
    let found = held(&snapshot, python.pid()).unwrap();
    let bpf: Vec<_> = found
        .objects
        .iter()
        .filter(|object| object.kind == HeldKind::Bpf)
        .collect();
    let [map, program] = bpf[..] else { panic!("{found:?}") };
    let name = String::from_utf8_lossy(&map.name);
    assert!(name.starts_with("array map "), "{name}");
    assert!(map.bytes.unwrap() >= MIB && program.bytes.unwrap() >= 4096, "{found:?}");
    assert_eq!(
        found.figures.of(HeldKind::Bpf),
        map.bytes.unwrap() + program.bytes.unwrap()
    );
}

#[test]
fn registered_buffers_count_once_they_are_unmapped() {
    let mut python = Python::start();
    let number = "{'x86_64': 425, 'aarch64': 425}[os.uname().machine]";
    if python.run(&format!(
        "ring = libc.syscall({number}, 8, ctypes.create_string_buffer(120)); answer = ring"
    )) < 0
    {
        return cannot("io_uring is not allowed here");
    }
    python.run("libc.mmap.restype = ctypes.c_void_p; at = libc.mmap(None, ctypes.c_size_t(2 << 20), 3, 0x8022, -1, 0)");
    python.run("libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]");
    let done = python.run("answer = libc.syscall(427, ring, 0, struct.pack('QQ', at, 2 << 20), 1)");
    if done < 0 {
        return cannot("buffers cannot be registered here");
    }
    let pid = python.pid();
    assert_eq!(held(&scan(), pid).unwrap().figures.of(HeldKind::Uring), 0);
    assert_eq!(python.run("answer = libc.munmap(at, 1 << 20)"), 0);
    assert_eq!(held(&scan(), pid).unwrap().figures.of(HeldKind::Uring), MIB);
}
