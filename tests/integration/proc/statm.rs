//! `statm`.

use zmtop::model::Missing;
use zmtop::proc::statm::{Statm, parse};

#[test]
fn anonymous_pages_are_those_that_are_not_shared() {
    for (bytes, anon, shared) in [
        (&b"2056 452 309 226 0 348 0\n"[..], 143, 309),
        (b"2056 452 309 226", 143, 309),
        (b"0 0 0 0 0 0 0\n", 0, 0),
        // Counters that lag behind.
        (b"2056 3 5 226 0 348 0\n", 0, 5),
    ] {
        let page = 16384;
        let statm = Statm {
            anon: anon * page,
            shared: shared * page,
        };
        assert_eq!(parse(bytes, page), Ok(statm), "{bytes:?}");
    }
}

#[test]
fn what_no_kernel_writes_is_refused() {
    for bytes in [
        &b""[..],
        b"\n",
        b"2056",
        b"2056 452",
        b"2056 452 30",
        b"2056 452 309 ",
        b"2056 -452 309 226",
        b"2056 452 x 226",
        b"2056 18446744073709551615 309 226",
        b"2056 99999999999999999999 309 226",
    ] {
        assert_eq!(parse(bytes, 4096), Err(Missing::Malformed), "{bytes:?}");
    }
}
