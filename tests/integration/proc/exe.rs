//! The link to a program's file.

use zmtop::model::Replaced;
use zmtop::proc::pid::{ExeLink as Link, FileId, exe_link as parse};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_kernels_mark_is_no_part_of_the_path() {
    for (link, path, marked) in [
        ("/usr/bin/cat", "/usr/bin/cat", false),
        ("/usr/bin/cat (deleted)", "/usr/bin/cat", true),
        ("/usr/bin/cat (deleted) (deleted)", "/usr/bin/cat (deleted)", true),
        ("/tmp/a b (deleted", "/tmp/a b (deleted", false),
        ("/tmp/(deleted)", "/tmp/(deleted)", false),
        (" (deleted)", "", true),
        ("", "", false),
        ("/memfd:sealed (deleted)", "/memfd:sealed", false),
        ("/memfd: (deleted)", "/memfd:", false),
        ("/tmp/memfd:x (deleted)", "/tmp/memfd:x", true),
    ] {
        let got = parse(link.as_bytes());
        assert_eq!(
            (text(got.path), got.marked, text(got.whole)),
            (path, marked, link),
            "{link}"
        );
    }
    assert_eq!(parse(b"/\xff\x1b (deleted)").path, b"/\xff\x1b");
}

#[test]
fn what_became_of_the_file() {
    const OLD: FileId = (1, 10);
    const NEW: FileId = (1, 11);
    let judge = |link: &str, runs: Option<FileId>, there: &[(&str, FileId)]| {
        let found = |path: &[u8]| there.iter().find(|(at, _)| at.as_bytes() == path).map(|(_, id)| *id);
        let link: Link<'_> = parse(link.as_bytes());
        let (path, replaced) = link.judge(runs, found);
        (text(path).to_owned(), replaced)
    };
    let gone = "/a/b (deleted)";
    for (link, runs, there, path, replaced) in [
        // Not marked: nothing became of it, whatever there is.
        ("/a/b", Some(OLD), &[("/a/b", NEW)][..], "/a/b", None),
        (gone, Some(OLD), &[], "/a/b", Some(Replaced::Deleted)),
        (gone, Some(OLD), &[("/a/b", NEW)], "/a/b", Some(Replaced::Updated)),
        // Really named so.
        (gone, Some(OLD), &[(gone, OLD)], gone, None),
        // One is, but it is another file.
        (gone, Some(OLD), &[(gone, NEW)], "/a/b", Some(Replaced::Deleted)),
        (
            gone,
            Some(OLD),
            &[(gone, NEW), ("/a/b", NEW)],
            "/a/b",
            Some(Replaced::Updated),
        ),
        // The name was given back to the same file.
        (gone, Some(OLD), &[("/a/b", OLD)], "/a/b", None),
        // Which file runs is not known.
        (gone, None, &[("/a/b", NEW)], "/a/b", Some(Replaced::Updated)),
        (gone, None, &[], "/a/b", Some(Replaced::Deleted)),
        ("/memfd:x (deleted)", Some(OLD), &[], "/memfd:x", None),
    ] {
        assert_eq!(
            judge(link, runs, there),
            (path.to_owned(), replaced),
            "{link} {runs:?} {there:?}"
        );
    }
}
