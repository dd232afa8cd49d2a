//! A server of one file on loopback, for programs that download: `HEAD`, and `GET` of ranges.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};

/// Serves these bytes under every name, until the server is dropped.
pub fn serve(port: u16, bytes: Vec<u8>) -> Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("port {port} of loopback cannot be served"))?;
    let bytes = Arc::new(bytes);
    let is_over = Arc::new(AtomicBool::new(false));
    let is_over_too = Arc::clone(&is_over);
    let thread = thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if is_over_too.load(Ordering::Relaxed) {
                break;
            }
            let bytes = Arc::clone(&bytes);
            // A client that goes away before it has its answer is its own affair.
            thread::spawn(move || answer(&client, &bytes));
        }
    });
    Ok(Server {
        port,
        is_over,
        thread: Some(thread),
    })
}

/// A server that runs.
pub struct Server {
    port: u16,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It waits for a client.
        let woken = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Answers one request; the connection ends with it.
fn answer(mut client: &TcpStream, bytes: &[u8]) -> Result<()> {
    let mut lines = BufReader::new(client).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut range = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        range = range.or_else(|| requested(&line, bytes.len()));
    }
    let (status, part) = match range {
        Some(range) => ("206 Partial Content", &bytes[range]),
        None => ("200 OK", bytes),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
        part.len()
    );
    let body = if request.starts_with("HEAD") {
        &[]
    } else {
        part
    };
    client.write_all(&[head.as_bytes(), body].concat())?;
    Ok(())
}

/// The part that a line `Range: bytes=3-10` of a request asks for; its end may be left out.
fn requested(line: &str, length: usize) -> Option<std::ops::Range<usize>> {
    let (from, to) = line.strip_prefix("Range: bytes=")?.split_once('-')?;
    let from: usize = from.parse().ok()?;
    let end = to.trim().parse().map_or(length, |last: usize| last + 1);
    (from <= end).then(|| from.min(length)..end.min(length))
}

#[cfg(test)]
mod tests {
    use super::requested;

    #[test]
    fn ranges_are_read() {
        assert_eq!(requested("Range: bytes=3-10", 100), Some(3..11));
        assert_eq!(requested("Range: bytes=90-", 100), Some(90..100));
        assert_eq!(requested("Range: bytes=90-200", 100), Some(90..100));
        assert_eq!(requested("Range: bytes=9-3", 100), None);
        assert_eq!(requested("Host: a", 100), None);
    }
}
