"""Administration over TLS on the loopback: with the node's own certificate, by curl, and by nobody else."""

import http.client
import json
import socket
import ssl
import subprocess

from kithtest import NodeTestCase


class Administration(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna", "--admin-port", "0")
        line = self.node.await_log("administration over TLS on https://localhost:")
        self.port = int(line.rsplit(":", 1)[1].strip("/ "))

    def curl(self, *arguments, identity=None):
        identity = identity or self.node
        command = ["curl", "-sS", "--noproxy", "*", "--cacert", self.node.certificate, "-w", "\n%{http_code}"]
        if identity != "none":
            command += ["--cert", identity.certificate, "--key", identity.key]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    def test_administration(self):
        """the tutorial's calls work with the node's own certificate, under each name, and for nobody else"""
        url = f"https://localhost:{self.port}"
        self.assertEqual(self.curl("-X", "PUT", url + "/demo")[0], 201)
        task = ("-X", "PUT", "-H", "Content-Type: application/json", "-d", '{"task":"milk"}')
        self.assertEqual(self.curl(*task, url + "/demo/task3")[0], 201)
        status, body = self.curl(url + "/demo/_all_docs?access=false&channels=false&include_docs=true")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["rows"][0]["doc"]["task"], "milk")
        self.assertEqual(self.curl(f"https://127.0.0.1:{self.port}/demo")[0], 200)
        if socket.has_ipv6 and "not served on [::1]" not in self.node.log():
            self.assertEqual(self.curl(f"https://[::1]:{self.port}/demo")[0], 200)
        # A name of somebody else's that points to this machine.
        self.assertEqual(self.curl("-H", "Host: evil.example", url + "/demo")[0], 403)
        self.assertEqual(self.curl("-X", "DELETE", "-H", "Origin: https://evil.example", url + "/demo")[0], 403)

        # Another user of this machine.
        self.assertEqual(self.curl(url + "/_up", identity="none")[0], 200)
        for path in ("/", "/_all_dbs", "/demo/task3", "/_kith/status"):
            status, body = self.curl(url + path, identity="none")
            self.assertEqual(status, 401, path)
            self.assertEqual(json.loads(body)["error"], "unauthorized")
        self.assertEqual(self.curl(*task, url + "/demo/task4", identity="none")[0], 401)
        # Nothing behind a refused request is looked at.
        context = ssl.create_default_context(cafile=self.node.certificate)
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60, context=context)
        connection.connect()
        connection.sock.sendall(
            b"POST /demo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n{}\n"
            b"GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = b""
        while part := connection.sock.recv(65536):
            answers += part
        connection.close()
        self.assertEqual(answers.count(b"HTTP/1.1 "), 1, answers)
        self.assertIn(b'WWW-Authenticate: Basic realm="Kith"', answers)

        # A paired node, whose key has no business here: its handshake fails, so there is no answer at all.
        other = self.new_node("bert")
        self.node.trust(other)
        self.assertEqual(self.curl(url + "/_up", identity=other)[0], 0)
        # A renewed certificate is shown at once, and is good at once.
        self.node.check("cert", "renew")
        self.assertEqual(self.curl(url + "/demo")[0], 200)
        self.assertEqual(self.node.get("/demo")["doc_count"], 1)
