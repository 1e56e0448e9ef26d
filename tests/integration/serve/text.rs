//! Families as text.

use std::sync::Arc;

use zmtop::export::Family;
use zmtop::export::text::TextFormat;

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
        TextFormat::OpenMetrics.write(families()),
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
        TextFormat::Prometheus.write(families()),
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
