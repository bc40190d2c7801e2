"""BLIP 3 over WebSocket over TLS, written from the protocol's description and apart from Kith's own code.

One thread, blocking sockets: whoever waits for an answer reads frames meanwhile, so requests of the
other side are answered on the way. It is stricter than it needs to be: whatever the other side does
that Couchbase Lite would close the connection for raises `ProtocolError`. Standard library only.
"""

import base64
import hashlib
import os
import socket
import ssl
import struct
import zlib

BIG_FRAME = 16384
PAUSE_BYTES = 128_000
ACK_BYTES = 50_000
REQUEST, RESPONSE, ERROR, ACK_REQUEST, ACK_RESPONSE = 0, 1, 2, 4, 5
COMPRESSED, URGENT, NO_REPLY, MORE_COMING = 8, 16, 32, 64


class ProtocolError(AssertionError):
    """The other side did what Couchbase Lite does not put up with."""


class Refused(Exception):
    """The upgrade was answered with another status than 101."""

    def __init__(self, status, headers, body):
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.headers, self.body = status, headers, body


class Closed(Exception):
    """The connection has ended: with the code of a close frame, or 1006 without one."""

    def __init__(self, code, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


def check(what, condition):
    if not condition:
        raise ProtocolError(what)


class WebSocket:
    """A client's end of a WebSocket (RFC 6455)."""

    def __init__(self, port, path, identity, protocols, headers=(), timeout=60):
        certificate, key = identity
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Couchbase Lite speaks TLS 1.2; trust is a pinned certificate, which the tests of the node's own look at.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(certificate, key)
        plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.buffer = b""
        self.has_sent_close = False
        self._upgrade(path, port, protocols, headers)

    def _upgrade(self, path, port, protocols, headers):
        nonce = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1", f"Host: localhost:{port}", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {nonce}",
            f"Sec-WebSocket-Protocol: {protocols}", "User-Agent: CouchbaseLite/3.2 (test)", *headers]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *fields = head.decode("ascii").split("\r\n")
        status = int(first.split(" ")[1])
        answer = {}
        for field in fields:
            name, colon, value = field.partition(":")
            check(f"a header without colon or value: {field!r}", colon and value.strip())
            answer[name.lower()] = value.strip()
        if status != 101:
            while len(self.buffer) < int(answer.get("content-length", 0)):
                self._fill()
            self.socket.close()
            raise Refused(status, answer, self.buffer)
        check("Connection must be upgrade and nothing else", answer["connection"].lower() == "upgrade")
        check("Upgrade must be exactly websocket", answer["upgrade"] == "websocket")
        digest = hashlib.sha1((nonce + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        check("the key is not answered", answer["sec-websocket-accept"] == base64.b64encode(digest).decode())
        check("an extension was agreed to", "sec-websocket-extensions" not in answer)
        self.protocol = answer["sec-websocket-protocol"]
        check("a subprotocol that was not offered", self.protocol in protocols.split(","))

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionError, ssl.SSLError) as error:
            raise Closed(1006, str(error)) from error
        if not data:
            raise Closed(1006)
        self.buffer += data

    def _take(self, count):
        while len(self.buffer) < count:
            self._fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def send(self, payload, opcode=2):
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        mask = os.urandom(4)
        repeated = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        try:
            self.socket.sendall(head + mask + masked)
        except OSError as error:
            raise Closed(1006, str(error)) from error

    def receive(self):
        """The next binary message; pings are answered on the way."""
        while True:
            first, second = self._take(2)
            check("a fragmented or compressed message", first & 0xF0 == 0x80)
            check("a masked frame from a server", second < 128)
            size = second
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            payload = self._take(size)
            opcode = first & 15
            if opcode == 2:
                check(f"a frame of {size} bytes", size <= BIG_FRAME)
                return payload
            if opcode == 9:
                self.send(payload, 10)
            elif opcode == 8:
                code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                if not self.has_sent_close:
                    self.has_sent_close = True
                    self.send(payload, 8)
                self.socket.close()
                raise Closed(code, payload[2:].decode())
            else:
                check(f"an unexpected opcode {opcode}", opcode == 10)

    def close(self, code=1000):
        """Says goodbye and gives the code of the echo."""
        self.has_sent_close = True
        self.send(struct.pack("!H", code), 8)
        try:
            while True:
                self.receive()
        except Closed as closed:
            return closed.code

    def cut(self):
        """Ends the connection without a word."""
        self.socket.close()


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data, place):
    number = shift = 0
    while True:
        check("a varint runs off the end", place < len(data))
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7


class Message:
    """A message that came."""

    def __init__(self, number, flags, payload):
        self.number, self.flags = number, flags
        size, place = read_varint(payload, 0)
        block, self.body = payload[place:place + size], bytes(payload[place + size:])
        check("the properties end in the middle", len(block) == size and (not block or block[-1] == 0))
        parts = block.decode("utf-8").split("\0")[:-1]
        check("a property without value", len(parts) % 2 == 0)
        check("a property twice", len(set(parts[::2])) == len(parts) // 2)
        self.properties = dict(zip(parts[::2], parts[1::2]))

    @property
    def error(self):
        """Domain and code of an error, such as `HTTP/404`; None for a success."""
        if self.flags & 7 != ERROR:
            return None
        return f"{self.properties.get('Error-Domain', 'BLIP')}/{self.properties['Error-Code']}"


class Blip:
    """A BLIP connection. `on_request(message)` gives what `reply` takes, or None where no reply is wanted."""

    def __init__(self, websocket, on_request):
        self.websocket, self.on_request = websocket, on_request
        self.sent_crc = self.received_crc = 0
        self.deflater = zlib.compressobj(6, zlib.DEFLATED, -15, 9)
        self.inflater = zlib.decompressobj(-15)
        self.last_sent = self.last_received = 0
        self.incoming = {}  # (number, is response) -> [first flags, payload, bytes, bytes acknowledged]
        self.expected, self.replies = set(), {}
        self.acknowledged = {}
        self.waiting = []  # requests that came while another one was being answered
        self.is_answering = False

    # Sending

    def _send_frames(self, number, flags, payload, compressed):
        kind = flags & 7
        key = (number, kind != REQUEST)
        self.acknowledged[key] = sent = place = 0
        while True:
            # Compressed frames are small, so that what deflate does not shrink still fits.
            chunk = payload[place:place + (8192 if compressed else BIG_FRAME - 30)]
            place += len(chunk)
            more = MORE_COMING if place < len(payload) else 0
            self.sent_crc = zlib.crc32(chunk, self.sent_crc)
            if compressed:
                chunk = self.deflater.compress(chunk) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
                check("deflate did not flush", chunk[-4:] == b"\0\0\xff\xff")
                chunk = chunk[:-4]
            if not more and kind == REQUEST and not flags & NO_REPLY:
                self.expected.add(number)
            head = varint(number) + bytes([flags | more | (COMPRESSED if compressed else 0)])
            self.websocket.send(head + chunk + struct.pack("!I", self.sent_crc))
            sent += len(chunk) + 4
            if not more:
                break
            while sent - self.acknowledged[key] >= PAUSE_BYTES:
                self._receive_frame()
        del self.acknowledged[key]

    @staticmethod
    def _encode(properties, body):
        block = "".join(f"{name}\0{value}\0" for name, value in properties.items()).encode()
        return varint(len(block)) + block + body

    def send(self, properties, body=b"", no_reply=False, compressed=None, urgent=False):
        """Sends a request and returns its number."""
        self.last_sent += 1
        number = self.last_sent
        payload = self._encode(properties, body)
        flags = REQUEST | (NO_REPLY if no_reply else 0) | (URGENT if urgent else 0)
        self._send_frames(number, flags, payload, len(payload) > 200 if compressed is None else compressed)
        return number

    def ask(self, properties, body=b"", **options):
        """Sends a request and returns the answer to it."""
        return self.answer(self.send(properties, body, **options))

    def answer(self, number):
        """The answer to a request, once it is there."""
        while number not in self.replies:
            self.pump()
        return self.replies.pop(number)

    # Receiving

    def pump(self):
        """Receives one frame, and answers what requests are complete."""
        self._receive_frame()
        # Not inside of an answer that is being sent: it has to end first.
        if self.is_answering:
            return
        self.is_answering = True
        try:
            while self.waiting:
                self._answer(self.waiting.pop(0))
        finally:
            self.is_answering = False

    def _answer(self, request):
        result = self.on_request(request)
        if request.flags & NO_REPLY:
            return
        properties, body = result if result is not None else ({}, b"")
        kind = ERROR if "Error-Code" in properties else RESPONSE
        is_compressible = len(body) > 200 and request.properties.get("Profile") != "getAttachment"
        self._send_frames(
            request.number, kind | request.flags & URGENT, self._encode(properties, body), is_compressible)

    def _receive_frame(self):
        frame = self.websocket.receive()
        number, place = read_varint(frame, 0)
        flags, place = read_varint(frame, place)
        kind = flags & 7
        if kind in (ACK_REQUEST, ACK_RESPONSE):
            total, _ = read_varint(frame, place)
            key = (number, kind == ACK_RESPONSE)
            if key in self.acknowledged:
                self.acknowledged[key] = max(self.acknowledged[key], total)
            return
        check(f"a frame of type {kind}", kind in (REQUEST, RESPONSE, ERROR))
        check("a frame without checksum", len(frame) - place >= 4)
        data, crc = frame[place:-4], struct.unpack("!I", frame[-4:])[0]
        if flags & COMPRESSED:
            data = self.inflater.decompress(data + b"\0\0\xff\xff")
        self.received_crc = zlib.crc32(data, self.received_crc)
        check("the checksum is wrong", crc == self.received_crc)

        key = (number, kind != REQUEST)
        if key not in self.incoming:
            if kind == REQUEST:
                check(f"request {number} after {self.last_received}", number == self.last_received + 1)
                self.last_received = number
            else:
                check(f"an answer to nothing, {number}", number in self.expected)
                self.expected.remove(number)
            self.incoming[key] = [flags, bytearray(), 0, 0]
        entry = self.incoming[key]
        entry[1] += data
        entry[2] += len(frame) - place
        if flags & MORE_COMING:
            if entry[2] - entry[3] >= ACK_BYTES:
                entry[3] = entry[2]
                ack = ACK_REQUEST if kind == REQUEST else ACK_RESPONSE
                self.websocket.send(varint(number) + bytes([ack | NO_REPLY | URGENT]) + varint(entry[2]))
            return
        del self.incoming[key]
        message = Message(number, entry[0], entry[1])
        if kind == REQUEST:
            self.waiting.append(message)
        else:
            self.replies[number] = message
