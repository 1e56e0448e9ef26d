//! The kernel's records of tasks that end: taskstats over generic netlink.
//!
//! The kernel sends a `struct taskstats` for each thread that ends, if a listener has registered for its CPU
//! (`Documentation/accounting/taskstats.rst`). It is the only source that has the peak of a process that no snapshot saw.
//! `PERF_RECORD_EXIT` and the process connector have neither the peak nor the user, and need similar rights.
//!
//! To register takes `CAP_NET_ADMIN` in the initial user and pid namespaces. The records go to the initial network
//! namespace alone.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};

use super::files::{self, Roots};
use crate::model::{Missing, Reading};

/// The end of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// The id of the thread. The id of the first thread is the pid.
    pub tid: u32,
    /// The process. `None` before Linux 5.19 unless `is_last`.
    pub pid: Option<u32>,
    /// It was the last thread of the process. Before Linux 5.19 not known of a process that had one thread at a time.
    pub is_last: bool,
    pub ppid: u32,
    /// The real user.
    pub uid: u32,
    /// The name of the thread, raw.
    pub comm: Box<[u8]>,
    /// Time from the start of the thread; of the process if that is known.
    pub lifetime: Duration,
    /// The status as `wait(2)` returns it; 0 unless it is the first thread.
    pub status: u32,
    /// It is the first thread, and ran no program of its own.
    pub is_fork: bool,
    /// The highest RSS of the address space, in bytes; 0 for a kernel thread, and on a kernel without
    /// `CONFIG_TASK_XACCT`.
    pub peak: u64,
}

impl TaskEnd {
    /// Returns true if it can only be a first thread: the kernel leaves these fields 0 in others.
    pub const fn is_first(&self) -> bool {
        self.status != 0 || self.is_fork || matches!(self.pid, Some(pid) if pid == self.tid)
    }
}

// Constants of include/uapi/linux/netlink.h, genetlink.h and taskstats.h.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_TYPE_PID: u16 = 1;
const TASKSTATS_TYPE_TGID: u16 = 2;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
/// Bits of the type of an attribute that are flags.
const NLA_TYPE_MASK: u16 = 0x3fff;
/// Sizes of `struct nlmsghdr` and of `struct genlmsghdr`.
const HEAD: usize = 16;
const GENERIC_HEAD: usize = 4;
/// `AFORK` and `AGROUP` of `include/uapi/linux/acct.h`.
const AFORK: u8 = 0x01;
const AGROUP: u8 = 0x20;

// Offsets in `struct taskstats`, version 1 to 13 and from 16 on.
const VERSION: usize = 0;
const EXIT_CODE: usize = 4;
const FLAG: usize = 8;
const COMM: usize = 80;
const UID: usize = 120;
const PID: usize = 128;
const PPID: usize = 132;
const ELAPSED: usize = 144;
const PEAK_RSS: usize = 200;
/// Since version 12, as the next one.
const TGID: usize = 368;
const GROUP_ELAPSED: usize = 376;
const COMM_LEN: usize = 32;
/// The first version that has the process of a thread.
const HAS_PROCESS: u16 = 12;
/// Linux 6.14 inserted a field, and Linux 6.15 a second one, after each of the first three pairs and of the three pairs
/// before the process. Version 16 moved them to the end. So many bytes precede the name and the pid.
const INSERTED: [usize; 3] = [0, 24, 48];

/// Splits bytes into attributes: type and payload. Ends before an attribute that is cut off.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [low, high, kind_low, kind_high] = *bytes.first_chunk::<4>()?;
        let len = usize::from(u16::from_ne_bytes([low, high]));
        let payload = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([kind_low, kind_high]) & NLA_TYPE_MASK, payload))
    })
}

fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, payload)| (found == kind).then_some(payload))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Splits a datagram into messages: type and payload after the head. Ends before a message that is cut off.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::try_from(u32_at(bytes, 0)?).ok()?;
        let payload = bytes.get(HEAD..len)?;
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// Parses a datagram: the ends of threads, in order. Other and malformed messages are left out.
pub fn ends(datagram: &[u8]) -> impl Iterator<Item = TaskEnd> {
    messages(datagram)
        .filter(|(kind, _)| *kind > GENL_ID_CTRL)
        .filter_map(|(_, payload)| end(payload.get(GENERIC_HEAD..)?))
}

fn end(attributes: &[u8]) -> Option<TaskEnd> {
    let task = find(attributes, TASKSTATS_TYPE_AGGR_PID)?;
    let tid = u32_at(find(task, TASKSTATS_TYPE_PID)?, 0)?;
    let stats = find(task, TASKSTATS_TYPE_STATS)?;
    // The pid in front of the struct shows which layout it has.
    let inserted = INSERTED
        .into_iter()
        .find(|more| u32_at(stats, PID + more) == Some(tid))?;
    let version = u16::from_ne_bytes(*stats.get(VERSION..)?.first_chunk()?);
    let flag = *stats.get(FLAG)?;
    let comm = stats.get(COMM + inserted..)?.get(..COMM_LEN)?;
    let comm = comm.split(|b| *b == 0).next().unwrap_or_default();
    let has_process = version >= HAS_PROCESS;
    let process = |at: usize| at + 2 * inserted;
    let tgid = if has_process {
        Some(u32_at(stats, process(TGID))?)
    } else {
        None
    };
    // Also sent at the end of the last thread, but only of a process that had several.
    let ended = find(attributes, TASKSTATS_TYPE_AGGR_TGID);
    let ended = ended.and_then(|group| u32_at(find(group, TASKSTATS_TYPE_TGID)?, 0));
    let micros = match tgid {
        Some(_) => u64_at(stats, process(GROUP_ELAPSED))?,
        None => u64_at(stats, ELAPSED + inserted)?,
    };
    Some(TaskEnd {
        tid,
        pid: tgid.or(ended),
        is_last: ended.is_some() || (has_process && flag & AGROUP != 0),
        ppid: u32_at(stats, PPID + inserted)?,
        uid: u32_at(stats, UID + inserted)?,
        comm: comm.into(),
        lifetime: Duration::from_micros(micros),
        status: u32_at(stats, EXIT_CODE)?,
        is_fork: flag & AFORK != 0,
        peak: u64_at(stats, PEAK_RSS + inserted)?.saturating_mul(1 << 10),
    })
}

/// Size of a datagram's buffer: a record has some 600 bytes, and twice that with the sum of a process.
const DATAGRAM: usize = 8 << 10;
/// Size of the kernel's buffer, with its own overhead: some 6500 records, which may wait until the reader runs.
const RECEIVE_BUFFER: usize = 4 << 20;

/// A listener for the ends of all threads of the machine.
#[derive(Debug)]
pub struct EndSocket {
    socket: OwnedFd,
    buf: Vec<u8>,
}

impl EndSocket {
    /// Registers for all CPUs.
    ///
    /// # Errors
    /// `Denied` without `CAP_NET_ADMIN`, `Unsupported` without `CONFIG_TASKSTATS` or for another tree, and `OutOfView` in a
    /// pid or network namespace of its own.
    pub fn open(roots: &Roots) -> Reading<Self> {
        if !roots.is_own() {
            return Err(Missing::Unsupported);
        }
        if !files::is_in_first_pid_namespace(&roots.proc) || has_own_network(roots) {
            return Err(Missing::OutOfView);
        }
        let cpus = roots.sys.as_ref().map(|sys| sys.join("devices/system/cpu/possible"));
        let cpus = cpus
            .and_then(|path| std::fs::read(path).ok())
            .ok_or(Missing::Unsupported)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let kind = SocketType::RAW;
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(netlink::GENERIC)).map_err(files::reason)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(files::reason)?;
        let mut opened = Self {
            socket,
            buf: vec![0; DATAGRAM],
        };
        let name = (CTRL_ATTR_FAMILY_NAME, &b"TASKSTATS\0"[..]);
        let family = opened
            .ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name)
            .map_err(files::optional_reason)?;
        let family = family.and_then(|payload| {
            let id = find(payload.get(GENERIC_HEAD..)?, CTRL_ATTR_FAMILY_ID)?;
            Some(u16::from_ne_bytes(*id.first_chunk()?))
        });
        let family = family.ok_or(Missing::Malformed)?;
        // The rights to exceed the default are those to register.
        let _ = sockopt::set_socket_recv_buffer_size_force(&opened.socket, RECEIVE_BUFFER);
        let mask = [cpus.trim_ascii(), b"\0"].concat();
        let mask = (TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, &mask[..]);
        match opened.ask(family, TASKSTATS_CMD_GET, mask) {
            Ok(_) => Ok(opened),
            // Another user or pid namespace.
            Err(Errno::INVAL) => Err(Missing::OutOfView),
            Err(other) => Err(files::reason(other)),
        }
    }

    /// Sends a request with one attribute and waits for its acknowledgement, which the kernel sends before `send`
    /// returns. Returns the answer in front of it, if any.
    fn ask(&mut self, family: u16, command: u8, (kind, payload): (u16, &[u8])) -> Result<Option<Vec<u8>>, Errno> {
        let attribute = 4 + payload.len();
        let len = HEAD + GENERIC_HEAD + attribute.next_multiple_of(4);
        let mut request = Vec::with_capacity(len);
        request.extend((len as u32).to_ne_bytes());
        request.extend(family.to_ne_bytes());
        request.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        // The number of the request, and the port, which the kernel knows.
        request.extend([0; 8]);
        request.extend([command, 1, 0, 0]);
        request.extend((attribute as u16).to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend(payload);
        request.resize(len, 0);
        send(&self.socket, &request, SendFlags::empty())?;
        let mut answer = None;
        loop {
            let (_, len) = recv(&self.socket, &mut self.buf[..], RecvFlags::empty())?;
            for (kind, payload) in messages(&self.buf[..len.min(self.buf.len())]) {
                if kind != NLMSG_ERROR {
                    answer = Some(payload.to_vec());
                    continue;
                }
                return match u32_at(payload, 0).map(u32::cast_signed) {
                    Some(0) => Ok(answer),
                    Some(errno) => Err(Errno::from_raw_os_error(errno.wrapping_neg())),
                    None => Err(Errno::PROTO),
                };
            }
        }
    }

    /// Passes all ends that have come to `each`. Never blocks.
    ///
    /// # Errors
    /// The socket failed for good.
    pub fn drain(&mut self, mut each: impl FnMut(TaskEnd)) -> Result<(), Errno> {
        loop {
            match recv(&self.socket, &mut self.buf[..], RecvFlags::empty()) {
                Ok((_, len)) => ends(&self.buf[..len.min(self.buf.len())]).for_each(&mut each),
                Err(Errno::WOULDBLOCK) => return Ok(()),
                // Some were lost, see `lost`.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(other) => return Err(other),
            }
        }
    }

    /// Returns the number of records since the start for which the buffer had no room. `None` before Linux 4.12.
    pub fn lost(&self) -> Option<u32> {
        let mut figures = [0_u32; 16];
        let mut len = size_of_val(&figures) as libc::socklen_t;
        #[expect(unsafe_code, reason = "no library offers SO_MEMINFO")]
        // SAFETY: the kernel writes at most `len` bytes to `figures`, which has as many and may hold any, and the length to `len`.
        let status = unsafe {
            let (level, name) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
            let to = (&raw mut figures).cast();
            libc::getsockopt(self.socket.as_raw_fd(), level, name, to, &raw mut len)
        };
        let known = len as usize / size_of::<u32>();
        let drops = libc::SK_MEMINFO_DROPS as usize;
        (status == 0 && drops < known).then_some(figures[drops])
    }
}

impl AsFd for EndSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns true if zmtop is in another network namespace than the machine's first process, as in a container that shows
/// the processes of its host.
fn has_own_network(roots: &Roots) -> bool {
    let namespace = |pid: &str| std::fs::read_link(roots.proc.join(pid).join("ns/net")).ok();
    // Only root may read the first process's.
    namespace("1").is_some_and(|first| namespace("self").is_some_and(|own| own != first))
}
