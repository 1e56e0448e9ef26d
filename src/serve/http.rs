//! Answers requests over HTTP/1.1, plain or in TLS, with limits of time, size and number.

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
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::access::Access;
use super::connections::{ClientAddress, Connections, Place, Stage};
use super::page::Page;
use super::passwords::Passwords;
use super::text::{TextFormat, is_accepted};

/// Maximum number of connections. A further one replaces another, or is closed at once.
const MAX_CONNECTIONS: usize = 512;
/// The part of the files that the process may have open that connections may use; the sampler uses the rest.
const SHARE_OF_FILES: u64 = 4;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a whole connection, which has one request: Prometheus's default timeout of a scrape.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the head of a request.
const MAX_HEAD: usize = 16 << 10;
/// Time for the remaining responses when zmtop stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after a connection could not be accepted, mostly for lack of descriptors.
const RETRY: Duration = Duration::from_millis(10);

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;
/// The response to plain HTTP if TLS is required.
const NOT_TLS: &[u8] = b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
    plain HTTP on a TLS port: use https://\n";

const INDEX: &str = "<!doctype html><title>zmtop</title><h1>zmtop</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

pub(crate) struct Server {
    pub(crate) page: Arc<Page>,
    pub(crate) passwords: Passwords,
    pub(crate) access: watch::Receiver<Arc<Access>>,
}

/// Serves until `stopped`, then finishes the responses under way.
pub(crate) async fn serve(
    listener: TcpListener,
    server: Arc<Server>,
    stopped: impl Future<Output = ()>,
) -> io::Result<()> {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(files / SHARE_OF_FILES).unwrap_or(MAX_CONNECTIONS);
    let connections = Arc::new(Connections::new(room.clamp(2, MAX_CONNECTIONS)));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stopped);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => (stream, ClientAddress::from(from.ip())),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    connections.close_one();
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            },
            () = &mut stopped => break,
        };
        let Some((place, closed)) = connections.admit(address) else {
            continue;
        };
        let client = Client { address, place };
        let connection = converse(stream, client, Arc::clone(&server), graceful.watcher());
        tokio::spawn(async move {
            tokio::select! {
                // A client that vanished or was too slow is not worth a message.
                _ = timeout(CONNECTION_TIMEOUT, connection) => {}
                _ = closed => {}
            }
        });
        // The requests of accepted connections are read before more are accepted, which could close them.
        tokio::task::yield_now().await;
    }
    drop(listener);
    let _ = timeout(STOP_TIMEOUT, graceful.shutdown()).await;
    Ok(())
}

struct Client {
    address: ClientAddress,
    place: Place,
}

async fn converse(stream: TcpStream, client: Client, server: Arc<Server>, watcher: Watcher) {
    let access = Arc::clone(&server.access.borrow());
    let Some(acceptor) = &access.acceptor else {
        let _ = watcher.watch(connection(stream, client, server, access)).await;
        return;
    };
    let agreed = timeout(HANDSHAKE_TIMEOUT, handshake(stream, acceptor)).await;
    let Ok(Some(stream)) = agreed else { return };
    let shown = stream.get_ref().1.peer_certificates();
    if access.config.tls.as_ref().is_some_and(|tls| tls.allows(shown)) {
        let _ = watcher
            .watch(connection(stream, client, server, Arc::clone(&access)))
            .await;
    }
}

/// Performs the TLS handshake; `None` if it fails.
async fn handshake(stream: TcpStream, acceptor: &TlsAcceptor) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? > 0 && first[0] != HANDSHAKE {
        // If the request stays unread, the kernel drops the response.
        let _ = stream.try_read(&mut [0; MAX_HEAD]);
        let _ = stream.try_write(NOT_TLS);
        return None;
    }
    let agreed = acceptor.accept(stream).await;
    agreed.map_err(|error| tracing::debug!(%error, "no TLS")).ok()
}

fn connection<S>(
    stream: S,
    client: Client,
    server: Arc<Server>,
    access: Arc<Access>,
) -> impl GracefulConnection<Error = hyper::Error> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let client = Arc::new(client);
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, access, client) = (Arc::clone(&server), Arc::clone(&access), Arc::clone(&client));
        async move {
            let mut response = admit(&request, &client, &server, &access).await;
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

/// Answers a client that may read. Refused clients do not count against the rate limit.
async fn admit(
    request: &Request<Incoming>,
    client: &Client,
    server: &Server,
    access: &Access,
) -> Response<Full<Bytes>> {
    let users = &access.config.users;
    if !users.is_empty() {
        client.place.reach(Stage::Unproven);
        let header = request.headers().get(AUTHORIZATION);
        let header = header.map(HeaderValue::as_bytes).unwrap_or_default();
        if !server.passwords.are_right(users, header, client.address).await {
            let mut response = plain(StatusCode::UNAUTHORIZED, "user and password are needed\n");
            let asks = HeaderValue::from_static("Basic realm=\"zmtop\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, asks);
            return response;
        }
    }
    if access.is_over_limit() {
        return plain(StatusCode::TOO_MANY_REQUESTS, "too many requests\n");
    }
    let is_guarded = access.config.is_guarded();
    client
        .place
        .reach(if is_guarded { Stage::Known } else { Stage::Public });
    answer(request, Arc::clone(&server.page)).await
}

async fn answer(request: &Request<Incoming>, page: Arc<Page>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n");
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let format = TextFormat::accepted(&joined(request, &ACCEPT));
            let is_gzip = is_accepted(&joined(request, &ACCEPT_ENCODING), "gzip");
            // Not on the worker that accepts connections.
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
                Ok(None) => {
                    let why = "the first snapshot is still being taken\n";
                    plain(StatusCode::SERVICE_UNAVAILABLE, why)
                }
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
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}
