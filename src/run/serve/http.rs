//! Answers requests over HTTP/1.1, within limits of time, size and number.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::page::Page;
use crate::export::text::TextFormat;

/// Maximum number of connections; further ones are closed at once.
const MAX_CONNECTIONS: usize = 512;
/// Time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a connection as a whole, that of Prometheus for a scrape. Each answers one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;
/// Time for answers under way once zmtop is told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Time until connections are taken again after that failed, mostly for want of descriptors.
const RETRY: Duration = Duration::from_millis(100);

const INDEX: &str = "<!doctype html><title>zmtop</title><h1>zmtop</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

/// Answers until `stopped` comes, and then what is under way.
pub(super) async fn serve(
    listener: TcpListener,
    page: &Arc<Page>,
    stopped: impl Future<Output = ()>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stopped);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            },
            () = &mut stopped => break,
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let connection = graceful.watch(connection(stream, Arc::clone(page)));
        tokio::spawn(async move {
            // A client that vanished or was too slow is no fault of zmtop.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_TIMEOUT, graceful.shutdown()).await;
    Ok(())
}

fn connection(stream: TcpStream, page: Arc<Page>) -> impl GracefulConnection<Error = hyper::Error> + Send {
    let service = service_fn(move |request: Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { Ok::<_, Infallible>(answer(&request, page).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
}

async fn answer(request: &Request<Incoming>, page: Arc<Page>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let accept: Vec<_> = request
                .headers()
                .get_all(ACCEPT)
                .iter()
                .filter_map(|v| v.to_str().ok())
                .collect();
            let format = TextFormat::accepted(&accept.join(","));
            // Off the worker that takes connections and times the sampling.
            match tokio::task::spawn_blocking(move || page.text(format)).await {
                Ok(Some(text)) => body(StatusCode::OK, format.media_type(), text),
                Ok(None) => plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the first snapshot is still being taken\n",
                ),
                Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be made\n"),
            }
        }
        "/" => body(StatusCode::OK, "text/html; charset=utf-8", INDEX.into()),
        _ => plain(StatusCode::NOT_FOUND, "not found: the metrics are at /metrics\n"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    body(status, "text/plain; charset=utf-8", text.into())
}

fn body(status: StatusCode, media_type: &'static str, text: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
