"""The resolver that hosts of a lab are told to ask: it knows one name, x.test, and prints each question that it hears. Start it on
the wire: lab.client(sys.executable, resolver.__file__)."""

import socket
import struct

import wire

NAME, ADDRESS = "x.test", "203.0.113.7"


def question(packet):
    """(name, type, where it ends) of the first question."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode(errors="replace"))
        at += 1 + packet[at]
    return ".".join(labels).lower(), struct.unpack_from(">H", packet, at + 1)[0], at + 5


def answer(packet):
    name, kind, end = question(packet)
    print(f"asked {name} {kind}", flush=True)
    known = name == NAME
    records = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(ADDRESS) if known and kind == 1 else b""
    flags = 0x8580 if known else 0x8583  # an answer with authority; NXDOMAIN
    return packet[:2] + struct.pack(">HHHHH", flags, 1, 1 if records else 0, 0, 0) + packet[12:end] + records


def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((wire.CLIENT, 53))
        print("ready", flush=True)
        while True:
            packet, peer = listener.recvfrom(4096)
            if len(packet) > 16:
                listener.sendto(answer(packet), peer)


if __name__ == "__main__":
    main()
