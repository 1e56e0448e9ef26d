//! Headers of a request that the exporter parses after hyper, and the metrics in its answers. The input has one header a line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use zmtop::serve::connections::ClientAddress;
use zmtop::serve::families::{Family, Labels};
use zmtop::serve::passwords::Passwords;
use zmtop::serve::text::{TextFormat, gzip, is_accepted};
use zmtop::text;

thread_local! {
    static PASSWORDS: Passwords = Passwords::new().expect("the kernel has random numbers");
}

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n').take(16) {
        let header = String::from_utf8_lossy(line);
        black_box((is_accepted(&header, "gzip"), is_accepted(&header, "text/plain")));
        let from = ClientAddress::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
        // Without users, every header is refused once it is decoded.
        PASSWORDS.with(|passwords| {
            let users = HashMap::new();
            let mut answer = pin!(passwords.are_right(&users, line, from));
            let done = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(done, Poll::Ready(false));
        });
        let labels: Labels = [("name", Box::from(&*text::safe(line)))].into();
        let mut family = Family::gauge("zmtop_fuzz_bytes", "Help.");
        family.push(&labels, Some(line.len() as f64));
        let written = TextFormat::accepted(&header).write(&[family]);
        // A value never ends its line.
        let ends = written.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ends, 1, "{written}");
        black_box(gzip(written.as_bytes()));
    }
});
