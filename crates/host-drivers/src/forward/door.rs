//! The socket that packets of a route come in by. On a host with several addresses an answer has to leave by the address
//! that the question came to, or its sender takes it for somebody else's; the kernel says which one and takes it back.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd as _;

use nix::cmsg_space;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use socket2::Socket;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// The socket of a route.
#[derive(Debug)]
pub(super) struct Door {
    socket: UdpSocket,
}

/// A packet's length, who sent it, and to which address of ours, where the kernel says.
pub(super) type Received = (usize, SocketAddr, Option<IpAddr>);

impl Door {
    /// The door of a bound socket.
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        if socket.domain()? == socket2::Domain::IPV6 {
            setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
        }
        Ok(Self { socket: UdpSocket::from_std(socket.into())? })
    }

    /// Waits for a packet.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.socket.async_io(Interest::READABLE, || self.receive_now(buffer)).await
    }

    /// Sends a packet from an address of ours.
    pub(super) async fn send(
        &self,
        packet: &[u8],
        to: SocketAddr,
        from: Option<IpAddr>,
    ) -> io::Result<usize> {
        self.socket.async_io(Interest::WRITABLE, || self.send_now(packet, to, from)).await
    }

    fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut space = cmsg_space!(in_pktinfo, in6_pktinfo);
        let mut parts = [IoSliceMut::new(buffer)];
        let message = recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::empty(),
        )?;
        let from = message.address.as_ref().and_then(address).ok_or(io::ErrorKind::InvalidData)?;
        let to = message.cmsgs()?.find_map(|said| match said {
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                Some(IpAddr::V4(u32::from_be(info.ipi_spec_dst.s_addr).into()))
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => Some(IpAddr::V6(info.ipi6_addr.s6_addr.into())),
            _ => None,
        });
        Ok((message.bytes, from, to))
    }

    fn send_now(&self, packet: &[u8], to: SocketAddr, from: Option<IpAddr>) -> io::Result<usize> {
        let parts = [IoSlice::new(packet)];
        let (v4, v6);
        let said = match from {
            Some(IpAddr::V4(ip)) => {
                let nowhere = in_addr { s_addr: 0 };
                let ours = in_addr { s_addr: ip.to_bits().to_be() };
                v4 = in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: ours, ipi_addr: nowhere };
                vec![ControlMessage::Ipv4PacketInfo(&v4)]
            }
            Some(IpAddr::V6(ip)) => {
                let ours = in6_addr { s6_addr: Ipv6Addr::octets(&ip) };
                v6 = in6_pktinfo { ipi6_addr: ours, ipi6_ifindex: 0 };
                vec![ControlMessage::Ipv6PacketInfo(&v6)]
            }
            None => Vec::new(),
        };
        let to = SockaddrStorage::from(to);
        Ok(sendmsg(self.socket.as_raw_fd(), &parts, &said, MsgFlags::empty(), Some(&to))?)
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}
