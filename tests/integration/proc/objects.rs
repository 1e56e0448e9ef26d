//! Files and shmem in `maps`.

use zmtop::proc::maps::{Object, Objects};

const MAPS: &str = "\
55d0c8a00000-55d0c8b00000 r--p 00000000 fd:01 1312      /usr/bin/worker
55d0c8b00000-55d0c8e00000 r-xp 00100000 fd:01 1312      /usr/bin/worker
55d0c9000000-55d0ca000000 rw-p 00000000 00:00 0         [heap]
7f0000000000-7f0000100000 r--p 00000000 fd:01 77        /usr/lib/a name with blanks.so
7f0000200000-7f0008200000 rw-s 00000000 00:01 2049      /memfd:shared (deleted)
7f0010000000-7f0010400000 rw-s 00000000 00:01 5         /SYSV0000002a (deleted)
7f0010400000-7f0010800000 rw-s 00000000 00:01 6         /dev/zero (deleted)
7f0010800000-7f0010880000 r--p 00000000 fd:01 77        /usr/lib/a name with blanks.so
7f0020000000-7f0020200000 rw-s 00000000 00:1c 9         /dev/shm/PostgreSQL.1
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0         [stack]
";
const MB: u64 = 1 << 20;

fn read(pieces: &[&[u8]]) -> Objects {
    let mut objects = Objects::default();
    for piece in pieces {
        objects.feed(piece);
    }
    objects.finish();
    objects
}

fn object(device: (u32, u32), inode: u64, is_shmem: bool, bytes: u64) -> Object {
    Object {
        device,
        inode,
        is_shmem,
        bytes,
    }
}

#[test]
fn areas_of_one_inode_are_one_object() {
    let expected = [
        object((0, 1), 2049, true, 128 * MB),
        object((0, 1), 5, true, 4 * MB),
        object((0, 1), 6, true, 4 * MB),
        object((0, 0x1c), 9, true, 2 * MB),
        // The small ones are counted to the program.
        object((0xfd, 1), 1312, false, 11 * MB / 2),
    ];
    for size in [1, 7, 64, 4096] {
        let pieces: Vec<&[u8]> = MAPS.as_bytes().chunks(size).collect();
        let objects = read(&pieces);
        assert_eq!(objects.sizes(), [11 * MB / 2, 138 * MB]);
        assert_eq!(objects.large(2 * MB, 16), expected);
    }
}

#[test]
fn what_is_left_out_counts_to_the_program() {
    let objects = read(&[MAPS.as_bytes()]);
    let two = objects.large(2 * MB, 2);
    assert_eq!(two[..1], [object((0, 1), 2049, true, 128 * MB)]);
    assert_eq!(two[2], object((0xfd, 1), 1312, false, 11 * MB / 2 + (4 + 2) * MB));
    assert_eq!(objects.large(256 * MB, 16), []);
    assert_eq!(read(&[b""]).large(0, 16), []);
}

#[test]
fn a_list_without_end_is_kept_short() {
    let mut objects = Objects::default();
    for inode in 1..100_000_u64 {
        let line = format!(
            "1000-{:x} r--p 00000000 fd:01 {inode} /x\n",
            0x1000 + (inode % 1000) * 4096
        );
        objects.feed(line.as_bytes());
    }
    objects.finish();
    assert!(objects.large(0, usize::MAX).len() <= 4097);
    assert_eq!(objects.large(0, 1)[0].bytes, 999 * 4096);
}

#[test]
fn other_bytes_are_no_objects() {
    let lines: [&[u8]; 4] = [
        b"\xff\n",
        b"7f00-7e00 r--p 00000000 fd:01 77 /x\n",
        b"zz-7e00 r--p 00000000 fd:01 77 /x\n",
        b"7f00-7f01 r--p 00000000\n",
    ];
    for line in lines {
        assert_eq!(read(&[line]).sizes(), [0, 0]);
    }
}
