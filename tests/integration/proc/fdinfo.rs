//! Descriptors: the kinds of their links, and the figures in fdinfo, as drivers write it and as no driver would.

use proptest::prelude::*;
use zmtop::model::Missing;
use zmtop::proc::fdinfo::{self, DrmClient, Link};
use zmtop::proc::maps::Mapped;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

#[test]
fn links_tell_what_may_hold_memory() {
    let cases: &[(&[u8], Option<Link>)] = &[
        (b"anon_inode:bpf-map", Some(Link::BpfMap)),
        (b"anon_inode:bpf-prog", Some(Link::BpfProgram)),
        (b"anon_inode:[io_uring]", Some(Link::Uring)),
        (b"anon_inode:dmabuf", Some(Link::DmaBuf)),
        (b"/dmabuf:", Some(Link::DmaBuf)),
        (b"/dmabuf:a\x1b[31m", Some(Link::DmaBuf)),
        (b"/dev/dri/renderD128", Some(Link::Drm)),
        (b"/dev/accel/accel0", Some(Link::Drm)),
        (b"/memfd:x (deleted)", Some(Link::Unlinked)),
        (b"/tmp/x (deleted)", Some(Link::Unlinked)),
        (b"/memfd:x", None),
        (b"/dev/driver", None),
        (b"anon_inode:[eventpoll]", None),
        (b"anon_inode:bpf_link", None),
        (b"socket:[1234]", None),
        (b"pipe:[1]", None),
        (b"/", None),
        (b"", None),
        (b"(deleted)", None),
    ];
    for (link, expected) in cases {
        assert_eq!(Link::of(link), *expected, "{:?}", String::from_utf8_lossy(link));
    }
    assert_eq!(fdinfo::unlinked_name(b"/a (deleted) (deleted)"), b"/a (deleted)");
}

/// A client's driver, device, number, RAM and own memory.
fn drm(text: &str) -> (String, Option<String>, Option<u64>, Result<u64, Missing>, u64) {
    let DrmClient {
        driver,
        device,
        client,
        ram,
        vram,
    } = fdinfo::drm(text.as_bytes()).unwrap();
    let string = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
    (string(driver), device.map(string), client, ram, vram)
}

#[test]
fn every_driver_is_understood() {
    // A laptop's own graphics: all in RAM.
    let i915 = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t685\ndrm-driver:\ti915\ndrm-client-id:\t12\n\
        drm-pdev:\t0000:00:02.0\ndrm-total-system0:\t124 MiB\ndrm-shared-system0:\t5004 KiB\ndrm-active-system0:\t0\n\
        drm-resident-system0:\t123 MiB\ndrm-purgeable-system0:\t1912 KiB\ndrm-total-stolen-system0:\t8 MiB\n\
        drm-resident-stolen-system0:\t8 MiB\ndrm-engine-render:\t25662044495 ns\ndrm-engine-capacity-video:\t2\n";
    let expected = (
        "i915".into(),
        Some("0000:00:02.0".into()),
        Some(12),
        Ok(123 * MIB),
        8 * MIB,
    );
    assert_eq!(drm(i915), expected);
    // With memory of its own, and cycles under the prefix of totals.
    let xe = "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-total-system:\t0\ndrm-resident-system:\t0\n\
        drm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t23992 KiB\ndrm-resident-vram0:\t23992 KiB\n\
        drm-resident-stolen:\t0\ndrm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n";
    let expected = (
        "xe".into(),
        Some("0000:03:00.0".into()),
        Some(3),
        Ok(192 * KIB),
        23992 * KIB,
    );
    assert_eq!(drm(xe), expected);
    // Before the names were settled, and both since.
    let amdgpu = "drm-driver:\tamdgpu\npasid:\t32784\ndrm-pdev:\t0000:08:00.0\ndrm-client-id:\t217\n\
        drm-memory-vram:\t2068 KiB\ndrm-memory-gtt: \t8192 KiB\ndrm-memory-cpu: \t4 KiB\namd-evicted-vram:\t9 KiB\n\
        drm-engine-gfx:\t107322799 ns\n";
    let expected = (
        "amdgpu".into(),
        Some("0000:08:00.0".into()),
        Some(217),
        Ok(8196 * KIB),
        2068 * KIB,
    );
    assert_eq!(drm(amdgpu), expected);
    let both = "drm-driver:\tamdgpu\ndrm-total-vram:\t9 MiB\ndrm-memory-vram:\t8 MiB\ndrm-resident-vram:\t7 MiB\n\
        drm-total-gtt:\t6 MiB\ndrm-memory-gtt:\t5 MiB\ndrm-total-doorbell:\t4 KiB\n";
    assert_eq!(drm(both), ("amdgpu".into(), None, None, Ok(5 * MIB), 7 * MIB + 4 * KIB));
    // Of a phone: one region, and not all of it resident. Without a unit they are bytes.
    let msm = "drm-driver:\tmsm\ndrm-client-id:\t9\ndrm-total-memory:\t52484 KiB\ndrm-resident-memory:\t51200\n";
    assert_eq!(drm(msm), ("msm".into(), None, Some(9), Ok(51200), 0));
    let panfrost = "drm-driver:\tpanfrost\ndrm-client-id:\t4\ndrm-engine-fragment:\t1846584880 ns\n\
        drm-cycles-fragment:\t1424359409\ndrm-maxfreq-fragment:\t799999987 Hz\ndrm-total-memory:\t290 MiB\n\
        drm-shared-memory:\t0 MiB\ndrm-active-memory:\t226 MiB\n";
    assert_eq!(drm(panfrost), ("panfrost".into(), None, Some(4), Ok(290 * MIB), 0));
}

#[test]
fn what_a_driver_does_not_tell_is_unknown() {
    assert_eq!(fdinfo::drm(b"pos:\t0\nflags:\t02\n"), None);
    assert_eq!(fdinfo::drm(b""), None);
    assert_eq!(drm("drm-driver: vgem\n").3, Err(Missing::Unsupported));
    for bad in [
        "-1 KiB",
        "1 TiB",
        "x",
        "",
        "1 KiB KiB",
        "18446744073709551616",
        "18446744073709551615 KiB",
        "99999999999999999999999 MiB",
    ] {
        let text =
            format!("drm-driver: a\ndrm-resident-memory: 5 KiB\ndrm-resident-gtt: {bad}\ndrm-total-gtt: 4 KiB\n");
        assert_eq!(drm(&text).3, Err(Missing::Malformed), "{bad}");
    }
    // Sums do not wrap around.
    let text = "drm-driver: a\ndrm-total-gtt: 18446744073709551615\ndrm-total-memory: 18446744073709551615\n\
        drm-total-x: 18446744073709551615\ndrm-total-y: 18446744073709551615\n";
    assert_eq!((drm(text).3, drm(text).4), (Ok(u64::MAX), u64::MAX));
    // A device with nothing but its own memory takes no RAM.
    assert_eq!(drm("drm-driver: a\ndrm-total-vram: 7\n").3, Ok(0));
}

#[test]
fn dma_bufs_and_their_names_are_distinguished() {
    let text = b"pos:\t0\nflags:\t02\nmnt_id:\t9\nino:\t77\nsize:\t8294400\ncount:\t3\nexp_name:\tsystem\n\
        name:\tframe\nsize:\t1\nexp_name:\tevil\n";
    let found = fdinfo::dma_buf(text);
    assert_eq!(
        (&*found.exporter, &*found.name, found.bytes),
        (&b"system"[..], &b"frame"[..], Ok(8_294_400))
    );
    assert_eq!(fdinfo::inode(text), Some(77));
    assert_eq!(fdinfo::dma_buf(b"").bytes, Err(Missing::Unsupported));
    assert_eq!(fdinfo::dma_buf(b"size: 12 kB\n").bytes, Err(Missing::Malformed));
    assert_eq!(fdinfo::inode(b"ino:\t0\n"), None);
}

#[test]
fn bpf_maps_and_programs_have_numbers_and_sizes() {
    let map = b"pos:\t0\nmap_type:\t2\nkey_size:\t4\nvalue_size:\t4096\nmax_entries:\t256\nmap_flags:\t0x0\n\
        map_extra:\t0x0\nmemlock:\t1048888\nmap_id:\t25\nfrozen:\t0\n";
    let found = fdinfo::bpf_map(map);
    assert_eq!(
        (found.id, &*found.name, found.bytes),
        (Ok(25), "array map 25", Ok(1_048_888))
    );
    let program = b"prog_type:\t1\nprog_jited:\t1\nprog_tag:\t59f4a931744dcdc6\nmemlock:\t4096\nprog_id:\t97\n";
    let found = fdinfo::bpf_program(program);
    assert_eq!((found.id, &*found.name, found.bytes), (Ok(97), "program 97", Ok(4096)));
    let unknown = fdinfo::bpf_map(b"map_type:\t4000000000\nmap_id:\t1\n");
    assert_eq!((&*unknown.name, unknown.bytes), ("map 1", Err(Missing::Unsupported)));
    assert_eq!(fdinfo::bpf_map(b"").name, "map");
}

#[test]
fn registered_buffers_lie_where_they_were() {
    let text = b"SqThread:\t-1\nUserFiles:\t1\n    0: /etc/passwd\nUserBufs:\t2\n    0: 0x7f0000001000/8192\n    \
        1: 0x7f0000010000/4096\nPollList:\n  op=1, task_works=0\n";
    let (ranges, is_short) = fdinfo::registered_buffers(text);
    assert_eq!(
        ranges,
        [
            (0x7f00_0000_1000, 0x7f00_0000_3000),
            (0x7f00_0001_0000, 0x7f00_0001_1000)
        ]
    );
    assert!(!is_short);
    assert_eq!(fdinfo::registered_buffers(b"UserBufs:\t0\n"), (vec![], false));
    assert_eq!(fdinfo::registered_buffers(b""), (vec![], false));
    // Of what cannot be understood it is not said that it is nothing.
    let bad = b"UserBufs:\t3\n    0: 0xffffffffffffffff/8192\n    1: <none>\n    2: 0x1/2\n";
    assert_eq!(fdinfo::registered_buffers(bad), (vec![(1, 3)], true));
}

#[test]
fn what_is_mapped_is_known_by_file_and_by_address() {
    let mut mapped = Mapped::default();
    let maps = "1000-3000 rw-s 00000000 00:01 77     /memfd:a (deleted)\n3000-4000 rw-p 00000000 00:00 0\n\
        8000-9000 rw-s 00002000 00:01 77     /memfd:a (deleted)\n9000-a000 r--p 00000000 fd:01 77     /lib/x\nnonsense\n";
    for piece in maps.as_bytes().chunks(7) {
        mapped.feed(piece);
    }
    assert_eq!(mapped.of_file(((0, 1), 77)), 0x3000);
    assert_eq!(mapped.of_file(((0, 1), 78)), 0);
    let within = |from, to| mapped.within((from, to));
    assert_eq!(within(0x1000, 0x4000), 0x3000);
    assert_eq!(within(0, 0x10000), 0x5000);
    assert_eq!(within(0x3800, 0x8800), 0x1000);
    assert_eq!(
        (within(0x4000, 0x8000), within(5, 5), within(0xa000, u64::MAX)),
        (0, 0, 0)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400), lines in proptest::collection::vec(
        "(drm-(resident|total|memory)-[a-z0-9]{0,3}|drm-driver|drm-client-id|size|memlock|UserBufs| 1): ?[0-9a-fx/]{0,22}( KiB)?\n", 0..12)) {
        for text in [&*bytes, lines.concat().as_bytes()] {
            let _ = (fdinfo::drm(text), fdinfo::dma_buf(text), fdinfo::bpf_map(text), fdinfo::bpf_program(text));
            for (start, end) in fdinfo::registered_buffers(text).0 {
                prop_assert!(start <= end);
            }
            let mut mapped = Mapped::default();
            mapped.feed(text);
            let _ = mapped.within((0, u64::MAX));
        }
    }
}
