//! Examples of the language.

/// Returns examples, and what each lets through.
pub const fn help() -> &'static [(&'static str, &'static str)] {
    &[
        ("firefox", "firefox in the command line, the name or the user"),
        (
            "\"http server\"",
            "words with a space between; also where a word holds : = ( or |",
        ),
        (
            "/post(gres|master)/",
            "a regular expression on the command line or the name",
        ),
        (
            "user:alice",
            "the user, by whole name or uid; user:alice,bob for either",
        ),
        ("cmd:train", "a word in the command line"),
        ("name:python", "a word in the kernel's short name"),
        ("pid:1,1234", "these processes"),
        (
            "unit:ssh",
            "a word in the systemd unit; likewise container: and cgroup:",
        ),
        (
            "family:postgres",
            "a daemon and its descendants, by the name and pid of the first",
        ),
        (
            "replaced:deleted",
            "the program's file is gone, or updated; exe: a word in its path",
        ),
        ("host:web", "a word in the host's name, in zmtop fleet"),
        ("cmd:/^python3? /", "a regular expression in any of these"),
        ("state:D", "the state, by letter; state:RD for either"),
        ("pss>100M", "a column and a size: > >= < <= = !="),
        ("growth>1M/min", "a size per time"),
        ("verdict:leaking", "what it does; verdict>=growing for that or worse"),
        ("dpss<-1M", "shrank by more than 1M"),
        ("cpu>50%", "a percentage; plain numbers and times (5m, 2h) likewise"),
        ("!user:root", "not; a figure that is unknown passes neither way"),
        ("user:alice swap>0", "a space is \"and\""),
        ("firefox | chrome", "\"or\", after every \"and\""),
        ("!(user:root | user:daemon) uss>1G", "parentheses group"),
    ]
}
