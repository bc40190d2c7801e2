"""REST over TLS on the loopback: for the node's own certificate, by curl, for users what they may do, and for nobody else."""

import base64
import http.client
import json
import socket
import ssl
import subprocess

from kithtest import NodeTestCase

PASSWORD = "correct horse battery"
JSON = {"Content-Type": "application/json"}


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
        self.assertEqual(self.curl("-H", "Sec-Fetch-Site: cross-site", url + "/demo/task3")[0], 403)
        # What comes behind the last request of a connection is not done.
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.node.folder / "run" / "kith.sock"))
        connection.sendall(
            b"GET /_up HTTP/1.1\r\nHost: kith\r\nConnection: close\r\n\r\nPUT /behind HTTP/1.1\r\nHost: kith\r\n\r\n")
        answers = b""
        while part := connection.recv(65536):
            answers += part
        connection.close()
        self.assertEqual(answers.count(b"HTTP/1.1 "), 1, answers)
        self.assertEqual(self.node.request("GET", "/behind")[0], 404)

        # Another user of this machine.
        self.assertEqual(self.curl(url + "/_up", identity="none")[0], 200)
        for path in ("/_all_dbs", "/demo/task3", "/_kith/status"):
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

    def ask(self, method, path, body=None, user=None, **headers):
        """(status, headers, parsed body) of a request over TLS without a certificate."""
        context = ssl.create_default_context(cafile=self.node.certificate)
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60, context=context)
        if user:
            token = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
            headers["Authorization"] = "Basic " + token
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {**JSON, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def test_users(self):
        """users do what _security gives them and no more, by Basic and by cookie, until it is taken back"""
        node = self.node
        for name, roles in (("ann", []), ("rita", []), ("adam", []), ("root", ["_admin"])):
            node.call("PUT", f"/_kith/users/{name}", {"password": PASSWORD, "roles": roles})
        node.create("db")
        node.put("db", "doc", {"a": 1})
        # What is for everybody is for every user, not for guests.
        node.create("open")
        node.call("PUT", "/open/_security", {})
        self.assertEqual(self.ask("GET", "/open")[0], 401)
        # Of a database of which nothing was said, users learn nothing.
        self.assertEqual(self.ask("GET", "/db", user="ann")[0], 404)
        self.assertEqual(self.ask("GET", "/none", user="ann")[0], 404)
        self.assertEqual(self.ask("GET", "/db/doc")[0], 401)
        node.call("PUT", "/db/_security", {
            "admins": {"names": ["adam"]}, "members": {"names": ["ann"]}, "readers": {"names": ["rita"]}})

        def statuses(user, *requests):
            return [self.ask(method, path, body, user)[0] for method, path, body in requests]

        design = {"_id": "_design/x"}
        requests = [
            ("GET", "/db/doc", None), ("POST", "/db/_all_docs", {}), ("PUT", "/db/{}", {}), ("POST", "/db", design),
            ("PUT", "/db/_design%2Fy", {}), ("GET", "/_all_dbs", None), ("DELETE", "/db", None)]
        for user, expected in (
                ("rita", [200, 200, 403, 403, 403, 401, 401]), ("ann", [200, 200, 201, 403, 403, 401, 401]),
                ("adam", [200, 200, 201, 201, 201, 401, 401]), ("root", [200, 200, 201, 409, 409, 200, 200])):
            named = [(m, p.replace("{}", "by-" + user), b) for m, p, b in requests]
            if user == "root":
                node.create("spare")
                named[-1] = ("DELETE", "/spare", None)
            self.assertEqual(statuses(user, *named), expected, user)
        # A design document among others, or as a copy, is one all the same.
        status, _, rows = self.ask("POST", "/db/_bulk_docs", {"docs": [{"_id": "_design/z"}, {"_id": "z"}]}, "ann")
        self.assertEqual([row.get("error") for row in rows], ["forbidden", None])
        self.assertEqual(self.ask("COPY", "/db/z", None, "ann", Destination="_design%2Fz")[0], 403)

        # The cookie of a session.
        self.assertEqual(self.ask("POST", "/_session", {"name": "ann", "password": "wrong password"})[0], 401)
        self.assertEqual(self.ask("POST", "/_session", {"name": "nobody", "password": PASSWORD})[0], 401)
        status, headers, body = self.ask("POST", "/_session", {"name": "ann", "password": PASSWORD})
        self.assertEqual((status, body["name"]), (200, "ann"))
        cookie = headers["Set-Cookie"]
        for word in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)
        session = {"Cookie": "x=1; " + cookie.split(";")[0]}
        self.assertEqual(self.ask("GET", "/db/doc", **session)[0], 200)
        _, headers, told = self.ask("GET", "/_session", **session)
        self.assertEqual((told["userCtx"], told["info"]["authenticated"]), ({"name": "ann", "roles": []}, "cookie"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(self.ask("GET", "/_session", user="ann")[2]["info"]["authenticated"], "default")
        self.assertEqual(self.ask("GET", "/db/_security", user="ann")[0], 403)
        # Another server on localhost may have set one of the name as well.
        self.assertEqual(self.ask("GET", "/db/doc", Cookie="AuthSession=evil; " + session["Cookie"])[0], 200)
        self.assertEqual(self.ask("GET", "/db/doc", Cookie=session["Cookie"] + "0")[0], 401)

        # What is under way ends when the right does.
        feed = http.client.HTTPSConnection(
            "localhost", self.port, timeout=60, context=ssl.create_default_context(cafile=node.certificate))
        feed.request("GET", "/db/_changes?feed=continuous&heartbeat=60000&since=0", headers=session)
        answer = feed.getresponse()
        self.assertEqual(answer.status, 200)
        answer.readline()
        node.call("PUT", "/db/_security", {"members": {"names": ["rita"]}})
        with self.assertRaises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
            while answer.read(1):
                pass
        feed.close()
        self.assertEqual(self.ask("GET", "/db/doc", **session)[0], 404)
        self.assertEqual(self.ask("GET", "/db/doc", user="rita")[0], 200)
        node.call("PUT", "/_kith/users/rita", {"disabled": True})
        self.assertEqual(self.ask("GET", "/db/doc", user="rita")[0], 401)
        # Guesses are slowed down: the wait doubles, so that it is met however slow this machine is.
        statuses = []
        while 429 not in statuses and len(statuses) < 10:
            statuses.append(self.ask("POST", "/_session", {"name": "rita", "password": "wrong password"})[0])
        self.assertEqual(set(statuses), {401, 429}, statuses)
