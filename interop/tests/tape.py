"""A relay between agent and server that records both directions, and the reading of OpAMP messages from the recording.

It understands what the peers really send: HTTP/1.1 with Content-Length or chunks, gzip bodies, and WebSocket frames
without extensions. It is no general decoder, and it never changes a byte. Not for TLS: it would see ciphertext only.
"""

import gzip
import socket
import threading

A2S = {
    1: "instance_uid", 2: "sequence_num", 3: "agent_description", 4: "capabilities", 5: "health", 6: "effective_config",
    7: "remote_config_status", 8: "package_statuses", 9: "agent_disconnect", 10: "flags", 14: "available_components",
}
S2A = {
    1: "instance_uid", 2: "error_response", 3: "remote_config", 4: "connection_settings", 5: "packages_available",
    6: "flags", 7: "capabilities", 8: "agent_identification", 9: "command",
}
REPORT_FULL_STATE = 1


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data, names):
    """The top-level fields of a Protobuf message by name; numbers as int, everything else as bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = bytes(data[at:at + size]), at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = bytes(data[at:at + size]), at + size
        else:
            raise ValueError(f"wire type {kind}")
        fields[names.get(key >> 3, str(key >> 3))] = value
    return fields


class Incomplete(Exception):
    """The recording ends in the middle of something."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise Incomplete
        piece = self.data[self.at:self.at + size]
        self.at += size
        return piece

    def line(self):
        end = self.data.find(b"\r\n", self.at)
        if end < 0:
            raise Incomplete
        piece, self.at = self.data[self.at:end], end + 2
        return piece.decode("latin-1")

    def head(self):
        """Start line and headers (lower-case names) of an HTTP message."""
        start, headers = self.line(), {}
        while text := self.line():
            name, _, value = text.partition(":")
            headers[name.strip().lower()] = value.strip()
        return start, headers

    def body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.line().split(";")[0], 16):
                parts.append(self.take(size))
                self.take(2)
            self.take(2)
            data = b"".join(parts)
        else:
            data = self.take(int(headers.get("content-length", "0")))
        return gzip.decompress(data) if headers.get("content-encoding") == "gzip" else data

    def frame(self):
        """One WebSocket frame: final, opcode, payload."""
        first, second = self.take(2)
        size = second & 0x7F
        if size == 126:
            size = int.from_bytes(self.take(2), "big")
        elif size == 127:
            size = int.from_bytes(self.take(8), "big")
        mask = self.take(4) if second & 0x80 else None
        payload = self.take(size)
        if mask:
            payload = bytes(byte ^ mask[i & 3] for i, byte in enumerate(payload))
        return bool(first & 0x80), first & 0x0F, payload

    def frames(self):
        """Whole binary messages and control frames as (opcode, payload)."""
        parts = []
        while True:
            final, opcode, payload = self.frame()
            if opcode >= 8:
                yield opcode, payload
                continue
            parts.append(payload)
            if final:
                yield 2, b"".join(parts)
                parts = []


class Connection:
    """What went over one connection: `sent` by the agent, `received` by it."""

    def __init__(self):
        self.sent, self.received = bytearray(), bytearray()
        self.open = True

    def read(self, data, names):
        """All messages of one direction, as far as they are complete; HTTP heads are kept under "http"."""
        reader, found = Reader(bytes(data)), []
        try:
            while reader.at < len(reader.data):
                start, headers = reader.head()
                if "upgrade" in headers:
                    for opcode, payload in reader.frames():
                        if opcode == 8:
                            found.append({"close": int.from_bytes(payload[:2], "big")})
                        elif opcode == 2:
                            _, at = varint(payload, 0) if payload else (0, 0)
                            found.append(message(payload[at:], names))
                else:
                    body = reader.body(headers)
                    fields = message(body, names) if headers.get("content-type") == "application/x-protobuf" else {}
                    found.append({**fields, "http": start, "headers": headers})
        except Incomplete:
            pass
        return found


class Tape:
    """Listens on a port of its own and passes everything on to `target` (host, port), from the address `source` if given."""

    def __init__(self, target, source=None):
        self.target, self.source = target, (source, 0) if source else None
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                agent, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, source_address=self.source)
            except OSError:
                agent.close()
                continue
            connection = Connection()
            self.connections.append(connection)
            for source, sink, log in ((agent, server, connection.sent), (server, agent, connection.received)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(source, sink, log, connection), daemon=True).start()

    def _pump(self, source, sink, log, connection):
        try:
            while data := source.recv(65536):
                log.extend(data)
                sink.sendall(data)
        except OSError:
            pass
        connection.open = False
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()

    def sent(self):
        """All AgentToServer messages, oldest connection first."""
        return [m for c in list(self.connections) for m in c.read(c.sent, A2S)]

    def received(self):
        """All ServerToAgent messages, oldest connection first."""
        return [m for c in list(self.connections) for m in c.read(c.received, S2A)]

    def full_state_asked(self):
        """How many answers had ReportFullState set."""
        return sum(1 for m in self.received() if m.get("flags", 0) & REPORT_FULL_STATE)
