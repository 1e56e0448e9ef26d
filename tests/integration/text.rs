//! Foreign bytes as safe text, and figures as text of a known width.

mod lossless;
mod safe;
mod shell;
mod units;

#[test]
fn directories_go_before_names() {
    let cases = [
        ("python3 /srv/jobs/train.py 40", 29, "python3 /srv/jobs/train.py 40"),
        ("python3 /srv/jobs/train.py 40", 28, "python3 …/train.py 40"),
        ("python3 /srv/jobs/train.py 40", 5, "python3 …/train.py 40"),
        ("java -cp /opt/a/b.jar:/opt/c.jar Main", 20, "java -cp …/c.jar Main"),
        // From the left, as much as is needed.
        ("a /b/c /d/e", 10, "a …/c /d/e"),
        ("a /b/c /d/e", 8, "a …/c …/e"),
        // No directory above, an option, a relative path, a directory itself.
        ("ls /tmp --in=/a/b ./c/d /a/b/", 5, "ls /tmp --in=/a/b ./c/d /a/b/"),
        ("", 0, ""),
    ];
    for (command, width, expected) in cases {
        assert_eq!(
            zmtop::text::without_directories(command, width),
            expected,
            "{command} in {width}"
        );
    }
}
