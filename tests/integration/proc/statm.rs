//! `statm`.

use std::num::NonZero;

use zmtop::model::Missing;
use zmtop::proc::pid::{Statm, statm as parse};

#[test]
fn it_tells_kinds_of_pages_and_what_was_asked_for() {
    for (bytes, anon, shared, data) in [
        (&b"2056 452 309 226 0 348 0\n"[..], 143, 309, 348),
        (b"2056 452 309 226", 143, 309, 0),
        // Its last number may have been cut off.
        (b"2056 452 309 226 0 34", 143, 309, 0),
        (b"0 0 0 0 0 0 0\n", 0, 0, 0),
        // Counters that lag behind.
        (b"2056 3 5 226 0 348 0\n", 0, 5, 348),
    ] {
        let page = 16384;
        let statm = Statm {
            anon: anon * page,
            shared: shared * page,
            data: NonZero::new(data * page),
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
