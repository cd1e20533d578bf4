//! A connection that can be cut from inside a handler, so that the client gets
//! no answer at all, not even a status line.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// The handler's hold on its connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    cut: Arc<AtomicBool>,
}

impl Line {
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }
}

/// A listener whose connections can be cut.
pub(crate) struct Cuttable(pub(crate) TcpListener);

/// A connection that can be cut.
pub(crate) struct Wire {
    stream: TcpStream,
    line: Line,
}

impl Listener for Cuttable {
    type Io = Wire;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        let line = Line::default();
        (Wire { stream, line }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Cuttable>> for Line {
    fn connect_info(stream: IncomingStream<'_, Cuttable>) -> Self {
        stream.io().line.clone()
    }
}

impl Wire {
    fn whole(&self) -> io::Result<()> {
        if self.line.cut.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.whole()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.whole()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
