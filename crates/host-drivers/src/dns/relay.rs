//! Asking others: the question goes on as it came, with a number and a port of its own, and the answer comes back as it
//! is. So nothing that a later resolver may say gets lost here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::answer::Transport;

/// How long one server may take. The engine's own resolver gives up after some seconds, and all servers have to fit in.
const TRY_FOR: Duration = Duration::from_millis(1_500);
/// How long all servers may take together.
const ALL_FOR: Duration = Duration::from_secs(4);

/// Asks one server after the other; the first that gives a usable answer ends it. When none does, what the last one
/// said is better than nothing.
pub(super) async fn ask(servers: &[SocketAddr], question: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let mut last = None;
    let all = async {
        for server in servers {
            let once = async {
                match transport {
                    Transport::Udp => over_udp(*server, question).await,
                    Transport::Tcp => over_tcp(*server, question).await,
                }
            };
            match timeout(TRY_FOR, once).await {
                Ok(Ok(answer)) if usable(&answer) => return Some(answer),
                Ok(Ok(answer)) => last = Some(answer),
                Ok(Err(error)) => tracing::debug!(%server, "name server {server} failed: {error}"),
                Err(_) => tracing::debug!(%server, "name server {server} gave no answer"),
            }
        }
        None
    };
    let answer = timeout(ALL_FOR, all).await.ok().flatten();
    answer.or(last)
}

/// Another server may know better than one that has trouble or does not serve us.
fn usable(answer: &[u8]) -> bool {
    let code = answer.get(3).map_or(0, |byte| byte & 0x0F);
    ![ResponseCode::ServFail, ResponseCode::Refused, ResponseCode::NotImp]
        .iter()
        .any(|bad| u16::from(*bad) == u16::from(code))
}

async fn over_udp(server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let own: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((own, 0)).await?;
    socket.connect(server).await?;
    let number = chance()?;
    socket.send(&numbered(question, number)).await?;
    let mut buffer = vec![0; 65_535];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if answers(&buffer[..length], question, number) {
            return Ok(numbered(&buffer[..length], [question[0], question[1]]));
        }
    }
}

async fn over_tcp(server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let number = chance()?;
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    let mut message = length.to_be_bytes().to_vec();
    message.extend(numbered(question, number));
    stream.write_all(&message).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await?;
    if answers(&answer, question, number) {
        return Ok(numbered(&answer, [question[0], question[1]]));
    }
    Err(io::Error::other("the answer is to another question"))
}

/// A number that nobody can guess, as a forged answer would need it.
fn chance() -> io::Result<[u8; 2]> {
    let mut number = [0; 2];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    Ok(number)
}

fn numbered(message: &[u8], number: [u8; 2]) -> Vec<u8> {
    let mut message = message.to_vec();
    if let Some(start) = message.get_mut(..2) {
        start.copy_from_slice(&number);
    }
    message
}

/// Whether it is the answer to our question: its number, and the question in it.
fn answers(answer: &[u8], question: &[u8], number: [u8; 2]) -> bool {
    if answer.get(..2) != Some(&number) || answer.get(2).is_none_or(|byte| byte & 0x80 == 0) {
        return false;
    }
    match (Message::from_vec(answer), Message::from_vec(question)) {
        // A server that did not understand may leave the question out.
        (Ok(answer), Ok(question)) => answer.queries.is_empty() || answer.queries == question.queries,
        // Not everything that travels is understood here; the number and the port have to do then.
        _ => true,
    }
}
