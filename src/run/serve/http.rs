//! Answers requests over HTTP/1.1, plain or in TLS, within limits of time, size and number.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, VARY,
    WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::access::Access;
use super::page::Page;
use super::passwords::Passwords;
use crate::export::text::{TextFormat, is_accepted};

/// Maximum number of connections; further ones are closed at once.
const MAX_CONNECTIONS: usize = 512;
/// Time to agree on TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
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

/// The first byte that a client sends in TLS: that of a handshake.
const HANDSHAKE: u8 = 22;
/// The answer to who speaks plain HTTP where TLS is spoken.
const NOT_TLS: &[u8] = b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
    plain HTTP at a port that speaks TLS: ask with https://\n";

const INDEX: &str = "<!doctype html><title>zmtop</title><h1>zmtop</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

/// The parts that answers are made with.
pub(super) struct Server {
    pub(super) page: Arc<Page>,
    pub(super) passwords: Passwords,
    pub(super) access: watch::Receiver<Arc<Access>>,
}

/// Answers until `stopped` comes, and then what is under way.
pub(super) async fn serve(
    listener: TcpListener,
    server: Arc<Server>,
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
        let connection = converse(stream, Arc::clone(&server), graceful.watcher());
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

async fn converse(stream: TcpStream, server: Arc<Server>, watcher: Watcher) {
    let access = Arc::clone(&server.access.borrow());
    let Some(acceptor) = &access.acceptor else {
        let _ = watcher.watch(connection(stream, server, access)).await;
        return;
    };
    let agreed = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake(stream, acceptor)).await;
    let Ok(Some(stream)) = agreed else { return };
    let shown = stream.get_ref().1.peer_certificates();
    if access.config.tls.as_ref().is_some_and(|tls| tls.allows(shown)) {
        let _ = watcher.watch(connection(stream, server, Arc::clone(&access))).await;
    }
}

/// Agrees on TLS; `None` where that fails.
async fn handshake(stream: TcpStream, acceptor: &TlsAcceptor) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? > 0 && first[0] != HANDSHAKE {
        // What is left unread would make the kernel throw the answer away.
        let _ = stream.try_read(&mut [0; MAX_HEAD]);
        let _ = stream.try_write(NOT_TLS);
        return None;
    }
    let agreed = acceptor.accept(stream).await;
    agreed.map_err(|error| tracing::debug!(%error, "no TLS")).ok()
}

fn connection<S>(
    stream: S,
    server: Arc<Server>,
    access: Arc<Access>,
) -> impl GracefulConnection<Error = hyper::Error> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, access) = (Arc::clone(&server), Arc::clone(&access));
        async move {
            let mut response = admit(&request, &server, &access).await;
            for (name, value) in &access.config.headers {
                if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::try_from(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            Ok::<_, Infallible>(response)
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
}

/// Answers who may ask, as often as it may be asked.
async fn admit(request: &Request<Incoming>, server: &Server, access: &Access) -> Response<Full<Bytes>> {
    if access.is_over_limit() {
        return plain(StatusCode::TOO_MANY_REQUESTS, "too many requests\n");
    }
    let users = &access.config.users;
    if !users.is_empty() {
        let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if !server.passwords.are_right(users, header.unwrap_or_default()).await {
            let mut response = plain(StatusCode::UNAUTHORIZED, "user and password are needed\n");
            let asks = HeaderValue::from_static("Basic realm=\"zmtop\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, asks);
            return response;
        }
    }
    answer(request, Arc::clone(&server.page)).await
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
            let format = TextFormat::accepted(&joined(request, &ACCEPT));
            let is_gzip = is_accepted(&joined(request, &ACCEPT_ENCODING), "gzip");
            // Off the worker that takes connections and times the sampling.
            match tokio::task::spawn_blocking(move || page.text(format, is_gzip)).await {
                Ok(Some(text)) => {
                    let mut response = body(StatusCode::OK, format.media_type(), text);
                    let headers = response.headers_mut();
                    headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
                    if is_gzip {
                        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                    }
                    response
                }
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

/// Returns all values of a header as one.
fn joined(request: &Request<Incoming>, name: &HeaderName) -> String {
    let values = request.headers().get_all(name).iter();
    let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
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
