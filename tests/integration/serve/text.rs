//! Families as text.

use std::sync::Arc;

use miniz_oxide::inflate::decompress_to_vec;
use zmtop::serve::Family;
use zmtop::serve::text::{TextFormat, gzip, is_accepted};

fn families() -> Vec<Family> {
    let labels = |name: &str| Arc::from([("by", "command".into()), ("group", name.into())]);
    let mut pss = Family::gauge("zmtop_pss_bytes", "Proportional set size.");
    pss.push(&labels("a \"b\" \\ c"), Some(4096.0));
    pss.push(&labels("unknown"), None);
    let mut swapped = Family::counter("zmtop_system_swap_in_bytes", "Read from swap.");
    swapped.push(&Arc::from([]), Some(8192.0));
    vec![pss, swapped, Family::gauge("zmtop_nothing", "Says nothing.")]
}

#[test]
fn open_metrics_has_units_and_an_end() {
    assert_eq!(
        TextFormat::OpenMetrics.write(&families()),
        r#"# HELP zmtop_pss_bytes Proportional set size.
# TYPE zmtop_pss_bytes gauge
# UNIT zmtop_pss_bytes bytes
zmtop_pss_bytes{by="command",group="a \"b\" \\ c"} 4096.0
# HELP zmtop_system_swap_in_bytes Read from swap.
# TYPE zmtop_system_swap_in_bytes counter
# UNIT zmtop_system_swap_in_bytes bytes
zmtop_system_swap_in_bytes_total 8192.0
# EOF
"#
    );
}

#[test]
fn the_text_format_names_counters_as_their_samples() {
    assert_eq!(
        TextFormat::Prometheus.write(&families()),
        r#"# HELP zmtop_pss_bytes Proportional set size.
# TYPE zmtop_pss_bytes gauge
zmtop_pss_bytes{by="command",group="a \"b\" \\ c"} 4096.0
# HELP zmtop_system_swap_in_bytes_total Read from swap.
# TYPE zmtop_system_swap_in_bytes_total counter
zmtop_system_swap_in_bytes_total 8192.0
"#
    );
}

#[test]
fn the_format_is_the_one_that_is_accepted() {
    for (accept, format) in [
        ("", TextFormat::Prometheus),
        ("*/*", TextFormat::Prometheus),
        ("text/plain;version=0.0.4", TextFormat::Prometheus),
        ("application/openmetrics-text", TextFormat::OpenMetrics),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
            TextFormat::OpenMetrics,
        ),
        ("text/plain, application/openmetrics-text; q=0", TextFormat::Prometheus),
        (";;,,q=", TextFormat::Prometheus),
    ] {
        assert_eq!(TextFormat::accepted(accept), format, "{accept}");
    }
}

#[test]
fn gzip_is_used_where_it_is_named_and_not_refused() {
    for (header, is_used) in [
        ("gzip", true),
        ("deflate, GZIP;q=0.5", true),
        ("", false),
        ("*", false),
        ("identity", false),
        ("gzip;q=0", false),
        ("x-gzipped, gzip; q=0.000", false),
    ] {
        assert_eq!(is_accepted(header, "gzip"), is_used, "{header}");
    }
}

#[test]
fn a_compressed_text_has_its_sum_and_its_length() {
    let file = gzip(b"123456789");
    let (content, end) = file[10..].split_at(file.len() - 18);
    assert_eq!(file[..4], [0x1f, 0x8b, 8, 0]);
    assert_eq!(decompress_to_vec(content).unwrap(), b"123456789");
    // The check value of CRC-32.
    assert_eq!(end, [0xcb_f4_39_26_u32.to_le_bytes(), 9_u32.to_le_bytes()].concat());
}
