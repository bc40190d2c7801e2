"""Peers that send garbage, half of something, or nothing: cut off in bounded time, logged, and no harm to others."""

import base64
import os
import socket
import ssl
import struct
import unittest

from kithtest import LONG, NodeTestCase, read_until_closed, tls_connect, wait_for

import generate

# The node's time-out for a handshake is 10 s; a loaded machine may need some more to act on it.
CUT_OFF_SECONDS = 30


def garbage(length, seed=1):
    """Bytes without meaning, the same each time."""
    dice = generate.Dice(seed)
    return b"".join(struct.pack("<Q", dice.next()) for _ in range(length // 8 + 1))[:length]


def http_request(method="GET", path="/", *headers, body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: kith", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def upgrade_request(database="clinic", *extra):
    key = base64.b64encode(os.urandom(16)).decode()
    return http_request(
        "GET", f"/{database}/_blipsync", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Protocol: BLIP_3+CBMobile_3", *extra)


def frame(payload, opcode=2, final=True, masked=True, length=None):
    """One WebSocket frame, honest unless told otherwise."""
    size = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | opcode])
    mask_bit = 0x80 if masked else 0
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 65536:
        head += bytes([mask_bit | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask_bit | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


class Hostile(NodeTestCase):
    """One node that two peers trust: bert behaves, mallory has a good key and bad manners."""

    def setUp(self):
        super().setUp()
        self.node, self.bert = self.start_pair("clinic")
        self.mallory = self.home("mallory").init()
        self.node.trust(_Known(self.mallory))
        self.stranger = self.home("stranger").init()
        self.port = self.node.port
        self.node.await_peer("bert", "inSync")
        self.secret = self.node.put("clinic", "secret", {"text": "TOPSECRET"})
        self.log_size = len(self.node.log())

    def assertUnharmed(self):
        """The node runs, and the peer that behaves still gets what is new."""
        self.assertTrue(self.node.is_running, self.node.log()[-2000:])
        self.number = getattr(self, "number", 0) + 1
        name = f"after:{self.number}"
        rev = self.node.put("clinic", name, {"n": 1})
        wait_for("bert to receive", lambda: self.bert.has("clinic", name, rev))
        self.assertEqual(self.node.peer("bert")["state"], "inSync")

    def new_log_lines(self):
        return self.node.log()[self.log_size:].splitlines()

    def assertLogged(self):
        """There is a reason in the log. A flood of one kind is told once and then counted, so this is not asked for
        each of several connections."""
        wait_for("a reason in the log", lambda: self.new_log_lines())
        self.log_size = len(self.node.log())

    def plain(self, *parts):
        """Sends these bytes without TLS; whatever comes back until the node ends it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=CUT_OFF_SECONDS) as connection:
            try:
                for part in parts:
                    connection.sendall(part)
            except ConnectionError:
                pass
            return read_until_closed(connection, CUT_OFF_SECONDS)

    def paired(self, *parts, identity=None):
        """Sends these bytes through TLS with mallory's good key; whatever comes back until the node ends it."""
        with tls_connect(self.port, identity or self.mallory) as connection:
            try:
                for part in parts:
                    connection.sendall(part)
            except (ConnectionError, ssl.SSLError):
                pass
            return read_until_closed(connection, CUT_OFF_SECONDS)

    def upgraded(self):
        """A connection of mallory on which BLIP can be spoken."""
        connection = tls_connect(self.port, self.mallory)
        self.addCleanup(connection.close)
        connection.sendall(upgrade_request())
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = connection.recv(1)
            self.assertNotEqual(part, b"", f"the upgrade was refused: {answer!r}")
            answer += part
        self.assertIn(b"101", answer.split(b"\r\n")[0])
        return connection

    # --- before and instead of TLS

    def test_garbage(self):
        """plain garbage on the TLS port is cut off and logged"""
        for data in (garbage(5000), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 100, b"\x16\x03\x01\xff\xff" + garbage(70000),
                     b"\x80\x2e\x01\x00\x02" + garbage(50)):
            with self.subTest(data=data[:16]):
                self.assertNotIn(b"TOPSECRET", self.plain(data))
        self.assertLogged()
        self.assertUnharmed()

    def test_half_handshake(self):
        """half a handshake is cut off in bounded time, with a reason"""
        hello = client_hello()
        for part in (hello[: len(hello) // 2], hello[:3]):
            with self.subTest(bytes=len(part)):
                self.plain(part)
        self.assertLogged()
        self.assertUnharmed()

    def test_nothing(self):
        """a connection on which nothing comes is cut off in bounded time, with a reason"""
        self.assertEqual(self.plain(), b"")
        self.assertLogged()
        self.assertUnharmed()

    def test_slow_handshake(self):
        """a handshake that comes byte by byte does not hold its place for long"""
        hello = client_hello()
        with socket.create_connection(("127.0.0.1", self.port), timeout=CUT_OFF_SECONDS) as connection:
            connection.settimeout(1)
            sent = 0
            for byte in hello:
                try:
                    connection.sendall(bytes([byte]))
                    sent += 1
                    if connection.recv(100) == b"":
                        break
                except socket.timeout:
                    continue
                except ConnectionError:
                    break
            self.assertLess(sent, CUT_OFF_SECONDS)
        self.assertLogged()
        self.assertUnharmed()

    # --- TLS, but not paired

    def test_no_certificate(self):
        """without a certificate nothing is answered"""
        self.assertEqual(self.ask(None), b"")
        self.assertLogged()
        self.assertUnharmed()

    def test_unknown_certificate(self):
        """with an unknown certificate nothing is answered, and the log says whose it was"""
        self.assertEqual(self.ask(self.stranger), b"")
        short = self.stranger.check("id").split()[0].split("-")[0]
        wait_for("the stranger's short ID in the log", lambda: any(short in line for line in self.new_log_lines()))
        self.assertUnharmed()

    def test_stolen_certificate(self):
        """bert's certificate is no use without bert's key"""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with self.assertRaises(ssl.SSLError):
            context.load_cert_chain(self.bert.certificate, self.stranger.key)

    def test_old_tls(self):
        """TLS 1.1, and TLS 1.2 without forward secrecy, are refused"""
        for settings in ({"maximum_version": ssl.TLSVersion.TLSv1_1, "ciphers": "ALL:@SECLEVEL=0"},
                         {"maximum_version": ssl.TLSVersion.TLSv1_2, "ciphers": "AES128-GCM-SHA256"},
                         {"maximum_version": ssl.TLSVersion.TLSv1_2, "ciphers": "ECDHE-ECDSA-AES128-SHA"}):
            with self.subTest(settings=settings):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                context.minimum_version = ssl.TLSVersion.TLSv1
                context.set_ciphers(settings["ciphers"])
                context.maximum_version = settings["maximum_version"]
                context.load_cert_chain(self.mallory.certificate, self.mallory.key)
                with socket.create_connection(("127.0.0.1", self.port)) as plain:
                    with self.assertRaises((ssl.SSLError, ConnectionError)):
                        context.wrap_socket(plain)
        self.assertUnharmed()

    def ask(self, identity):
        """What a request with this certificate is answered."""
        try:
            with tls_connect(self.port, identity) as connection:
                connection.sendall(http_request("GET", "/clinic/secret"))
                return read_until_closed(connection, CUT_OFF_SECONDS)
        except (ssl.SSLError, ConnectionError):
            return b""

    # --- paired, then garbage

    def test_garbage_http(self):
        """garbage instead of HTTP from a paired peer ends its connection, with a reason"""
        for data in (garbage(3000), b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost kith\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: kith\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
                     b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: kith\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X-Filler: y\r\n" * 20_000 + b"\r\n"):
            with self.subTest(data=data[:40]):
                answer = self.paired(data)
                self.assertNotIn(b" 200 ", answer[:20])
                self.assertNotIn(b"TOPSECRET", answer)
        self.assertLogged()
        self.assertUnharmed()

    def test_silent_after_handshake(self):
        """a paired peer that says nothing after the handshake is cut off in bounded time"""
        self.paired()
        self.assertLogged()
        self.assertUnharmed()

    def test_slow_http(self):
        """half a request is cut off in bounded time"""
        self.paired(upgrade_request()[:-20])
        self.assertLogged()
        self.assertUnharmed()

    def test_bad_upgrades(self):
        """an upgrade that is wrong in one thing is refused with a status, and nothing is given away"""
        good = upgrade_request().decode()
        for old, new in (("BLIP_3+CBMobile_3", "BLIP_9"), ("/clinic/", "/nowhere/"), ("/clinic/", "/_secret/"),
                         ("Version: 13", "Version: 8"), ("Upgrade: websocket", "Upgrade: h2c"), ("GET ", "POST ")):
            with self.subTest(new=new):
                answer = self.paired(good.replace(old, new).encode())
                self.assertRegex(answer.split(b"\r\n")[0], rb"^HTTP/1.1 [45]\d\d ")
        self.assertUnharmed()

    def test_garbage_websocket(self):
        """garbage instead of WebSocket frames ends the connection, with a reason"""
        for name, data in {
            "no mask": frame(b"hello", masked=False),
            "reserved bits": bytes([0xF2]) + frame(b"hello")[1:],
            "unknown opcode": frame(b"hello", opcode=7),
            "long ping": frame(b"x" * 126, opcode=9),
            "continuation first": frame(b"x", opcode=0),
            "huge length": frame(b"", length=1 << 62),
            "negative length": frame(b"", length=(1 << 63) + 5),
            "random": garbage(4000, 3),
        }.items():
            with self.subTest(name):
                connection = self.upgraded()
                connection.sendall(data)
                read_until_closed(connection, CUT_OFF_SECONDS)
        self.assertLogged()
        self.assertUnharmed()

    def test_garbage_blip(self):
        """garbage instead of BLIP frames ends the connection, with a reason"""
        for name, payload in {
            "random": garbage(300, 4),
            "empty": b"",
            "unknown type": b"\x01\x0f" + b"\x00" * 8,
            "bad checksum": b"\x01\x00" + b"\x10Profile\x00subChanges\x00" + b"\xde\xad\xbe\xef",
            "endless number": b"\xff" * 20,
            "text": b"{}",
        }.items():
            with self.subTest(name):
                connection = self.upgraded()
                connection.sendall(frame(payload, opcode=1 if name == "text" else 2))
                read_until_closed(connection, CUT_OFF_SECONDS)
        self.assertLogged()
        self.assertUnharmed()

    def test_half_frame(self):
        """a paired peer that stops in the middle of a frame does not disturb the others"""
        connection = self.upgraded()
        connection.sendall(frame(garbage(1000))[:500])
        self.assertUnharmed()
        connection.close()
        self.assertUnharmed()

    def test_many_connections(self):
        """hundreds of silent connections do not keep a good peer out"""
        count = 1000 if LONG else 300
        idle = []
        try:
            for _ in range(count):
                idle.append(socket.create_connection(("127.0.0.1", self.port), timeout=10))
        except OSError:
            pass  # the node may refuse more than it wants
        self.addCleanup(lambda: [connection.close() for connection in idle])
        self.assertGreater(len(idle), 50)
        self.assertUnharmed()
        for connection in idle:
            connection.close()
        self.assertUnharmed()

    # --- the socket of the administration

    def test_garbage_on_socket(self):
        """garbage on the administration socket is answered or cut off, and the node goes on"""
        for data in (garbage(2000), b"GET / HTTP/1.1\r\n\r\n", b"BREW /clinic HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"PUT /clinic/x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"PUT /clinic/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{\"a\""):
            with self.subTest(data=data[:40]):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(self.node.socket_path)
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    answer = read_until_closed(connection, CUT_OFF_SECONDS)
                    self.assertNotIn(b" 20", answer[:13])
        self.assertFalse(self.node.has("clinic", "x"))
        self.assertUnharmed()


class _Known:
    """A home that can be trusted without a running node."""

    def __init__(self, home):
        self.name = home.name
        self.node_id = home.check("id").split()[0]


def client_hello():
    """The first bytes of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_bio(incoming, outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


if __name__ == "__main__":
    unittest.main()
