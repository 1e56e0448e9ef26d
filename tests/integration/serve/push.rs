//! Pushes to a made collector of OpenTelemetry.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, metric, number_data_point};
use prost::Message as _;

use super::server::{PATIENCE, Server, tree};
use crate::support::tree::ProcTree;

/// A collector that gives the answers it is told to, the last of them from then on.
struct Collector {
    address: SocketAddr,
    requests: Receiver<(String, Vec<u8>)>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The answer of a collector that gives none.
const SILENCE: &str = "";

impl Collector {
    fn start(listener: TcpListener, answers: &'static [&'static str]) -> Self {
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let _ = sender.send(request);
                match answers[number.min(answers.len() - 1)] {
                    SILENCE => silent.push(stream),
                    answer => {
                        let head = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                        let _ = stream.write_all(head.as_bytes());
                    }
                }
            }
        });
        Self {
            address,
            requests,
            is_over,
            thread: Some(thread),
        }
    }

    fn new(answers: &'static [&'static str]) -> Self {
        Self::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    /// Waits for a request; returns its head and its metrics.
    fn next(&self) -> (String, ExportMetricsServiceRequest) {
        let (head, body) = self.requests.recv_timeout(PATIENCE).unwrap();
        let request = ExportMetricsServiceRequest::decode(&*body).unwrap();
        (head, request)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Reads a request: its head, and as many bytes as that says.
fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let (_, rest) = head.split_once("content-length: ")?;
    let mut body = vec![0; rest.split("\r\n").next()?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Starts pushing every 100 ms, which answers scrapes too.
fn push(tree: &ProcTree, address: SocketAddr, variables: &[(&str, &str)]) -> Server {
    let all = [&[("OTEL_METRIC_EXPORT_INTERVAL", "100")], variables].concat();
    Server::start_in(
        tree,
        &["--interval", "1h", "--otlp", &format!("http://{address}/base/")],
        &all,
    )
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text.clone()),
        _ => None,
    }
}

fn metrics(request: &ExportMetricsServiceRequest) -> &[Metric] {
    &request.resource_metrics[0].scope_metrics[0].metrics
}

fn metric<'r>(request: &'r ExportMetricsServiceRequest, name: &str) -> &'r Metric {
    let mut named = metrics(request).iter().filter(|metric| metric.name == name);
    let found = named.next().unwrap_or_else(|| panic!("{name}"));
    assert!(named.next().is_none(), "{name} stands there twice");
    found
}

fn points(metric: &Metric) -> &[NumberDataPoint] {
    match metric.data.as_ref().unwrap() {
        metric::Data::Gauge(gauge) => &gauge.data_points,
        metric::Data::Sum(sum) => &sum.data_points,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_collector_gets_the_metrics_by_the_conventions() {
    let (tree, collector) = (tree(), Collector::new(&["200 OK"]));
    let server = push(
        &tree,
        collector.address,
        &[
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-tenant=one"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=test,host.name=named",
            ),
        ],
    );
    let (head, request) = collector.next();
    for line in [
        "post /base/v1/metrics http/1.1\r\n",
        "content-type: application/x-protobuf\r\n",
        "authorization: bearer abc\r\n",
        "x-tenant: one\r\n",
    ] {
        assert!(head.contains(line), "{head}");
    }
    let resource = &request.resource_metrics[0].resource.as_ref().unwrap().attributes;
    for (key, value) in [
        ("service.name", "zmtop"),
        ("host.name", "named"),
        ("deployment.environment.name", "test"),
        ("os.type", "linux"),
    ] {
        assert_eq!(text(resource, key).as_deref(), Some(value), "{key}");
    }
    let usage = metric(&request, "process.memory.usage");
    assert_eq!(usage.unit, "By");
    assert!(matches!(&usage.data, Some(metric::Data::Sum(sum)) if !sum.is_monotonic));
    let of_server = |metric| {
        let mut all = points(metric).iter();
        let is_it =
            |point: &&NumberDataPoint| text(&point.attributes, "process.executable.name").as_deref() == Some("server");
        *all.find(is_it).unwrap().value.as_ref().unwrap()
    };
    assert!(matches!(of_server(usage), number_data_point::Value::AsDouble(bytes) if bytes > 0.0));
    let pss = metric(&request, "zmtop.pss");
    assert_eq!(of_server(pss), number_data_point::Value::AsDouble(3_072_000.0));
    assert!(matches!(&pss.data, Some(metric::Data::Gauge(_))));
    let faults = metric(&request, "process.paging.faults");
    assert!(
        matches!(&faults.data, Some(metric::Data::Sum(sum)) if sum.is_monotonic && sum.aggregation_temporality == 2)
    );
    let kinds = points(faults)
        .iter()
        .filter_map(|point| text(&point.attributes, "system.paging.fault.type"));
    let mut kinds: Vec<_> = kinds.collect();
    kinds.dedup();
    assert_eq!(kinds, ["minor", "major"]);
    // The same families as those of a scrape.
    let scraped = server.scrape();
    let families = scraped.lines().filter(|line| line.starts_with("# TYPE ")).count();
    let now = collector.next();
    let pushed = metrics(&now.1).len();
    assert!(pushed + 3 >= families && pushed <= families, "{pushed} of {families}");
}

#[test]
fn counters_name_the_time_from_which_they_count() {
    let tree = tree();
    tree.system("vmstat", "pswpin 5\npswpout 6\npgmajfault 7\n");
    let nanoseconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    // Of a counter of zmtop's, of a group's, of the kernel's.
    let names = ["zmtop.cpu", "process.paging.faults", "zmtop.system_swap_in"];
    let starts = |request: &ExportMetricsServiceRequest| {
        names.map(|name| {
            let point = points(metric(request, name))[0].clone();
            assert!(point.start_time_unix_nano <= point.time_unix_nano, "{name}");
            point.start_time_unix_nano
        })
    };
    let run = || {
        let collector = Collector::new(&["200 OK"]);
        let before = nanoseconds(SystemTime::now());
        let _server = push(&tree, collector.address, &[]);
        let (first, second) = (collector.next().1, collector.next().1);
        assert_eq!(starts(&first), starts(&second), "it stays as it is from push to push");
        let gauge = &points(metric(&first, "zmtop.pss"))[0];
        assert_eq!(gauge.start_time_unix_nano, 0);
        (before, starts(&first))
    };
    let ((first_run, [own, group, boot]), (second_run, [own_again, group_again, boot_again])) = (run(), run());
    assert!(first_run <= own && own < second_run && second_run <= own_again);
    assert!(own <= group && group < second_run && second_run <= group_again);
    // The boot is that of the tree, whose uptime stands still.
    let uptime = nanoseconds(SystemTime::UNIX_EPOCH + Duration::from_secs(1_036_800));
    assert!(
        boot + uptime <= own + 120_000_000_000 && boot + uptime + 120_000_000_000 >= own,
        "{boot}"
    );
    assert!(boot_again >= boot);
}

#[test]
fn a_token_on_its_way_to_another_host_is_warned_of() {
    let tree = tree();
    // What is listened at already: it ends after all that it says at the start.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let headers = "authorization=Bearer%20secret";
    for (url, headers, is_warned) in [
        ("http://192.0.2.1:4318", headers, true),
        ("http://collector.example/base", headers, true),
        ("http://[2001:db8::1]:4318", headers, true),
        ("http://localhost.example", headers, true),
        ("http://192.0.2.1:4318", "", false),
        ("https://192.0.2.1:4318", headers, false),
        ("http://localhost:4318", headers, false),
        ("http://127.0.0.2:4318", headers, false),
        ("http://[::1]:4318", headers, false),
    ] {
        let mut command = std::process::Command::new(crate::support::pty::ZMTOP);
        command
            .args(["serve", "--listen", &taken, "--otlp", url, "--proc-root"])
            .arg(tree.root())
            .env_clear()
            .env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(said.contains("cannot listen") || url.starts_with("https"), "{said}");
        assert_eq!(said.contains("in plain text"), is_warned, "{url}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn a_push_that_may_work_later_is_tried_again_and_the_rest_is_said() {
    let tree = tree();
    let collector = Collector::new(&["503 Service Unavailable", "200 OK"]);
    let server = push(&tree, collector.address, &[]);
    let (first, again) = (collector.next().1, collector.next().1);
    assert_eq!(first, again, "the same request");
    collector.next();
    assert!(
        server
            .scrape()
            .contains("\nzmtop_pushes_total{result=\"failed\"} 0.0\n")
    );
    let collector = Collector::new(&["400 Bad Request"]);
    let mut server = push(&tree, collector.address, &[]);
    server.wait_for("it answers 400 Bad Request");
    collector.next();
    let counted = server.scrape();
    assert!(
        counted.contains("\nzmtop_pushes_total{result=\"taken\"} 0.0\n"),
        "{counted}"
    );
}

#[test]
fn a_collector_that_is_absent_or_silent_delays_no_scrape() {
    let tree = tree();
    // Where no other test listens meanwhile.
    let listener = TcpListener::bind("127.0.0.7:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut server = push(&tree, address, &[]);
    server.wait_for("cannot push to http://127.0.0.7:");
    server.scrape();
    let collector = Collector::start(TcpListener::bind(address).unwrap(), &["200 OK"]);
    collector.next();
    let silent = Collector::new(&[SILENCE]);
    let mut server = push(&tree, silent.address, &[("OTEL_EXPORTER_OTLP_TIMEOUT", "50")]);
    silent.next();
    server.scrape();
    server.wait_for("it does not answer in time");
    server.scrape();
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let tree = tree();
    for (url, variable, why) in [
        (
            "localhost:4318",
            "",
            "expected an address such as http://localhost:4318",
        ),
        (
            "ftp://localhost",
            "",
            "expected an address such as http://localhost:4318",
        ),
        ("http://me:secret@localhost", "", "must not contain a user and password"),
        ("http://[::1", "", "expected an address"),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_HEADERS=secret",
            "OTEL_EXPORTER_OTLP_HEADERS: expected key=value",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_METRICS_HEADERS=a b=secret",
            "OTEL_EXPORTER_OTLP_METRICS_HEADERS: expected headers",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_HEADERS=a=secret%0a",
            "OTEL_EXPORTER_OTLP_HEADERS: expected headers",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_HEADERS=a=secret%zz",
            "OTEL_EXPORTER_OTLP_HEADERS: expected key=value",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_TIMEOUT=soon",
            "OTEL_EXPORTER_OTLP_TIMEOUT: expected milliseconds",
        ),
        (
            "http://x",
            "OTEL_METRIC_EXPORT_INTERVAL=0",
            "OTEL_METRIC_EXPORT_INTERVAL: expected milliseconds",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
            "OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf",
        ),
        (
            "http://x",
            "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
            "OTEL_EXPORTER_OTLP_COMPRESSION: only none",
        ),
        (
            "https://x",
            "OTEL_EXPORTER_OTLP_CERTIFICATE=/nonexistent",
            "/nonexistent: ",
        ),
    ] {
        let mut command = std::process::Command::new(crate::support::pty::ZMTOP);
        command
            .args(["serve", "--otlp", url, "--proc-root"])
            .arg(tree.root())
            .env_clear();
        if let Some((name, value)) = variable.split_once('=') {
            command.env(name, value);
        }
        let done = command.output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(why) && !said.contains("secret"), "{said}");
    }
}
