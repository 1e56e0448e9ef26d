//! Helpers that the tests share.

pub(crate) mod certificates;
pub(crate) mod kept;
pub(crate) mod kills;
pub(crate) mod machine;
mod malloc;
pub(crate) mod pty;
pub(crate) mod recorded;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod svg;
pub(crate) mod terminal;
pub(crate) mod tree;
mod tree_process;
pub(crate) mod world;

/// The time after which a test gives up: only a guard against hanging, also if builds run beside the tests.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The processor time of this thread: a bound on it holds however loaded the machine is.
pub(crate) fn thread_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().unwrap()
}

/// The sampler's options for this machine, with a deadline that no read misses because others keep the processors busy.
pub(crate) fn machine_options() -> zmtop::sampler::Options {
    zmtop::sampler::Options {
        deadline: PATIENCE,
        ..zmtop::sampler::Options::new(None)
    }
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// A directory for many small files, removed when dropped. It is in memory where the machine has a tmpfs with room: on a disk,
/// making the files takes longer than all that a test does with them.
pub(crate) fn scratch() -> tempfile::TempDir {
    use std::path::{Path, PathBuf};
    const TMPFS: i64 = 0x0102_1994;
    const ROOM: u64 = 1 << 30;
    static PLACE: std::sync::LazyLock<PathBuf> = std::sync::LazyLock::new(|| {
        let memory = Path::new("/dev/shm");
        let has_room = |fs: rustix::fs::StatFs| fs.f_type == TMPFS && fs.f_bavail * fs.f_bsize as u64 >= ROOM;
        let is_fit = rustix::fs::statfs(memory).is_ok_and(has_room);
        if is_fit {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        }
    });
    let made = || tempfile::Builder::new().prefix("zmtop-tree-").tempdir_in(&*PLACE);
    // Who may not write there uses the disk.
    made().or_else(|_| tempfile::tempdir()).unwrap()
}

/// A child process that is killed and reaped when dropped.
pub(crate) struct Owned(pub(crate) std::process::Child);

impl Owned {
    /// Runs a command without input or output.
    pub(crate) fn quiet(command: &mut std::process::Command) -> Self {
        use std::process::Stdio;
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(quiet.spawn().unwrap())
    }

    /// Waits for it to end; its exit code.
    #[track_caller]
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let begun = std::time::Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// `sleep` with that argument, which is what to search for.
    pub(crate) fn sleep(seconds: &str) -> Self {
        Self::quiet(std::process::Command::new("sleep").arg(seconds))
    }
}

impl std::ops::Deref for Owned {
    type Target = std::process::Child;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl std::ops::DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fills a pipe with empty lines, by its name or by one of its ends: a write to it then waits until it is read.
pub(crate) fn fill(pipe: impl AsRef<std::path::Path>) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut end = std::fs::File::options()
        .write(true)
        .custom_flags(flags)
        .open(pipe)
        .unwrap();
    for size in [4096, 1] {
        while end.write(&[b'\n'; 4096][..size]).is_ok() {}
    }
}

/// The name of a file that this process has open.
pub(crate) fn name_of(file: &impl std::os::fd::AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Writes a config with an alert that fires at once to a folder; returns its path, and the file that the alert's program makes.
pub(crate) fn alert(folder: &std::path::Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let (config, ran) = (folder.join("alert.toml"), folder.join("ran"));
    let text = format!(
        "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['/usr/bin/touch', '{}']\n",
        ran.display()
    );
    std::fs::write(&config, text).unwrap();
    (config, ran)
}

/// Copies a program that is to be run. Another program does it: a file that this one has open for writing is open in every
/// child that another test forks meanwhile, too, and a file that anyone may write to cannot be run.
pub(crate) fn copy_program(from: impl AsRef<std::path::Path>, to: &std::path::Path) {
    let copied = std::process::Command::new("cp").arg(from.as_ref()).arg(to).status();
    assert!(copied.unwrap().success(), "no copy at {}", to.display());
}

/// Says that a test is passed over for want of `what`; where `CI` is `true` it fails instead.
pub(crate) fn skip(what: &str) {
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "{what}: not to be skipped in CI"
    );
    cannot(what);
}

/// Says that this machine cannot run a test at all, whoever asks.
pub(crate) fn cannot(what: &str) {
    use std::io::Write;
    // Past the test harness, which shows nothing of a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Returns true if the tests run in their long form, with every seed and case, as `.ci/run long` does: `ZMTOP_TEST_LONG` is set.
pub(crate) fn long() -> bool {
    std::env::var_os("ZMTOP_TEST_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}

/// A process that holds a BPF map of so many bytes, and nothing else.
#[expect(clippy::unnecessary_wraps, reason = "a field takes it")]
pub(crate) fn holding(bytes: u64) -> zmtop::model::held::SharedHeld {
    let object = zmtop::model::HeldObject {
        kind: zmtop::model::HeldKind::Bpf,
        name: (*b"hash map 1").into(),
        bytes: Ok(bytes),
        vram: 0,
        holders: 1,
        fds: 1,
    };
    Some(std::sync::Arc::new(Ok(zmtop::model::Held::new(vec![object]))))
}
