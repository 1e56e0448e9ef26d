//! Command lines, as they are kept.

use zmtop::group::command_name;
use zmtop::model::Facts;
use zmtop::proc::pid::{MAX_CMDLINE as MAX, cmdline as kept};

#[test]
fn long_ones_say_that_they_are_cut() {
    let x = |n: usize| vec![b'x'; n];
    let padded = [&b"postgres: idle"[..], &vec![0; 2 * MAX]].concat();
    let cases: [(Vec<u8>, Vec<u8>); 6] = [
        (Vec::new(), Vec::new()),
        (b"cat\0x\0".to_vec(), b"cat\0x\0".to_vec()),
        (x(MAX), x(MAX)),
        (x(MAX + 1), [x(MAX - 1024 - 3), "…".into(), x(1024)].concat()),
        // The room behind a short title is not long.
        (padded, b"postgres: idle".to_vec()),
        (vec![0; MAX + 1], Vec::new()),
    ];
    for (line, expected) in cases {
        assert_eq!(*kept(&line), expected, "{} bytes", line.len());
    }
    // No character is cut in two, wherever it lies.
    for before in 0..4 {
        let line = [x(before), "🦀".repeat(MAX).into()].concat();
        let kept = kept(&line);
        let text = str::from_utf8(&kept).unwrap();
        assert!(
            text.contains("🦀…🦀") && (MAX - 9..=MAX).contains(&kept.len()),
            "{before}"
        );
    }
    // Foreign bytes that are no text at all are cut all the same.
    assert_eq!(kept(&vec![0x80; MAX * 4]).len(), MAX);
}

#[test]
fn the_class_of_a_java_program_is_kept_behind_a_long_class_path() {
    let path = "/opt/kafka/libs/some-library.jar:".repeat(MAX / 10);
    let line = format!("java\0-Xmx1G\0-cp\0{path}\0-Dlog=x\0kafka.Kafka\0server.properties\0");
    let facts = Facts {
        exe: Ok(b"/usr/bin/java"[..].into()),
        cmdline: Ok(kept(line.as_bytes())),
        ..Facts::pending(b"java")
    };
    assert_eq!(&*command_name(&facts, || None), b"java Kafka");
}
