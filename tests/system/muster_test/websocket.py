"""A WebSocket client (RFC 6455) as plain as can be: for tests that read slowly, or go away."""

import base64
import hashlib
import os
import socket
import struct
import urllib.parse

from .client import Kubeconfig
from .story import DEADLINE, Failure

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Failure):
    """An answer other than 101; .code and .body."""

    def __init__(self, code, body):
        self.code, self.body = code, body
        super().__init__(f"no WebSocket: {code} {body[:500]!r}")


class WebSocket:
    def __init__(self, kubeconfig, path, protocols="v5.channel.k8s.io", headers=(), method="GET",
                 upgrade="websocket", version=13, receive_buffer=None):
        config = Kubeconfig(kubeconfig)
        url = urllib.parse.urlparse(config.server)
        plain = socket.socket()
        if receive_buffer:  # so that little is on the way when nobody reads
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(DEADLINE * 2)
        plain.connect((url.hostname, url.port))
        context = config.context()
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        key = base64.b64encode(os.urandom(16))
        lines = [f"{method} {path} HTTP/1.1", f"Host: {url.netloc}", "Connection: Upgrade",
                 f"Upgrade: {upgrade}", f"Sec-WebSocket-Version: {version}",
                 f"Sec-WebSocket-Key: {key.decode()}", f"Sec-WebSocket-Protocol: {protocols}",
                 *headers]
        if config.token:
            lines.append(f"Authorization: Bearer {config.token}")
        if method == "POST":
            lines.append("Content-Length: 0")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.pending = b""
        head, rest = self.read_head()
        self.status = int(head.split(" ", 2)[1])
        self.headers = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:])
        if self.status != 101:
            body = self.read_body(rest)
            self.close()
            raise Refused(self.status, body.decode(errors="replace"))
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        if self.headers["sec-websocket-accept"] != accept.lower():
            raise Failure(f"Sec-WebSocket-Accept is not {accept}: {self.headers}")
        self.pending = rest

    def read_head(self):
        text = b""
        while b"\r\n\r\n" not in text:
            more = self.socket.recv(65536)
            if not more:
                raise Failure(f"the connection was closed: {text!r}")
            text += more
        head, rest = text.split(b"\r\n\r\n", 1)
        return head.decode(), rest

    def read_body(self, rest):
        chunked = self.headers.get("transfer-encoding") == "chunked"
        length = int(self.headers.get("content-length", 0))
        while not rest.endswith(b"0\r\n\r\n") if chunked else len(rest) < length:
            more = self.socket.recv(65536)
            if not more:
                break
            rest += more
        body = b"" if chunked else rest[:length]
        while chunked and rest:
            size, rest = rest.split(b"\r\n", 1)
            body += rest[:int(size, 16)]
            rest = rest[int(size, 16) + 2:]
        return body

    def take(self, n):
        while len(self.pending) < n:
            more = self.socket.recv(1 << 20)
            if not more:
                return None
            self.pending += more
        taken, self.pending = self.pending[:n], self.pending[n:]
        return taken

    def receive(self):
        """(opcode, payload) of the next frame; None at the connection's end."""
        head = self.take(2)
        if head is None:
            return None
        n = head[1] & 0x7f
        if n >= 126:
            n = int.from_bytes(self.take(2 if n == 126 else 8), "big")
        return head[0] & 0x0f, self.take(n) if n else b""

    def channels(self):
        """Channel and bytes of each message, until the other side closes."""
        while True:
            frame = self.receive()
            if frame is None or frame[0] == 8:
                return
            if frame[1]:
                yield frame[1][0], frame[1][1:]

    @staticmethod
    def frame(payload, opcode=2):
        mask = os.urandom(4)
        n = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) \
            if n < 65536 else struct.pack(">BQ", 0x80 | 127, n)
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        return head + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(n, "big")

    def send(self, payload, opcode=2):
        self.socket.sendall(self.frame(payload, opcode))

    def close(self):
        self.socket.close()
