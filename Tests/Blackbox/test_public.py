"""REST on the port of replication, where it is switched on: for users, paired nodes and guests, and nothing of administration."""

import base64
import http.client
import json
import ssl
import subprocess

from kithtest import NodeTestCase, tls_context, wait_for

from test_hostile import upgrade_request

PASSWORD = "correct horse battery"
JSON = {"Content-Type": "application/json"}
APP = "https://app.example"


class Public(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.new_node("anna")
        self.node.configure(rest={"public": True, "guests": True, "origins": [APP], "credentials": True})
        self.node.start("--port", "0", "--no-discovery", "--admin-port", "0")
        self.port = self.node.port

    def connect(self, identity=None):
        context = tls_context(identity)
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60, context=context)
        self.addCleanup(connection.close)
        return connection

    def ask(self, method, path, body=None, user=None, identity=None, **headers):
        """(status, headers, parsed body) of a request on the public port."""
        connection = self.connect(identity)
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        try:
            connection.request(method, path, data, {**JSON, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def status(self, *arguments, **keywords):
        return self.ask(*arguments, **keywords)[0]

    def curl(self, *arguments):
        done = subprocess.run(
            ["curl", "-sS", "--noproxy", "*", "--cacert", self.node.certificate, "--cert", self.node.certificate,
             "--key", self.node.key, "-w", "\n%{http_code}", *arguments], capture_output=True, text=True, timeout=60)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    def assertCut(self, answer):
        """The stream ends without its end; one that goes on for a minute is an error."""
        try:
            while answer.read(1):
                pass
        except (http.client.IncompleteRead, ConnectionError, ssl.SSLError):
            return
        self.fail("the stream came to its end")

    def feed(self, **keywords):
        """A feed of changes of demo that has begun."""
        connection = self.connect(keywords.pop("identity", None))
        connection.request("GET", "/demo/_changes?feed=continuous&heartbeat=60000", headers=keywords)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        answer.readline()
        return answer

    def test_tutorial(self):
        """the two calls of a tutorial for Sync Gateway, and what else it asks, work with the node's own certificate"""
        node = self.node
        node.create("demo")
        line = node.await_log("administration over TLS on https://localhost:")
        admin = line.rsplit(" ", 1)[1].strip("/")
        task = ("-X", "PUT", "-H", "Content-Type: application/json", "-d", '{"task":"milk"}')
        url = f"https://localhost:{self.port}"
        self.assertEqual(self.curl(*task, url + "/demo/task3")[0], 201)
        status, body = self.curl(admin + "/demo/_all_docs?access=false&channels=false&include_docs=true")
        self.assertEqual((status, json.loads(body)["rows"][0]["doc"]["task"]), (200, "milk"))
        # Also with the node's own key nothing of administration is on that port.
        for path in ("/_all_dbs", "/_kith/status", "/demo/_config", "/demo/_user"):
            self.assertEqual(self.curl(url + path)[0], 403, path)
        self.assertEqual(self.curl("-X", "DELETE", url + "/demo")[0], 403)

        changes = "/demo/_changes?filter=sync_gateway/bychannel&channels="
        self.assertEqual([row["id"] for row in node.get(changes + "*")["results"]], ["task3"])
        self.assertEqual(node.request("GET", changes + "sales")[0], 501)
        self.assertEqual(node.get("/_config")["databases"], {"demo": {"guest": {"disabled": False}}})
        self.assertEqual(node.get("/demo/_config")["revs_limit"], 1000)
        ann = {"name": "ann", "password": PASSWORD, "admin_roles": ["staff"], "admin_channels": []}
        self.assertEqual(node.request("POST", "/demo/_user/", ann)[0], 201)
        self.assertEqual(node.request("POST", "/demo/_user/", ann)[0], 409)
        self.assertEqual(node.get("/demo/_user/"), ["ann"])
        self.assertEqual(node.get("/demo/_user/ann")["admin_roles"], ["staff"])
        self.assertEqual(node.get("/demo/_role/"), ["staff"])
        self.assertEqual(node.request("PUT", "/demo/_user/ann", {"admin_channels": ["a"]})[0], 501)
        self.assertEqual(node.request("PUT", "/demo/_user/ann", {"disabled": True})[0], 200)
        self.assertTrue(node.get("/_kith/users/ann")["disabled"])
        self.assertEqual(node.request("DELETE", "/demo/_user/ann")[0], 200)

    def test_strangers(self):
        """who shows no certificate, or one that nobody knows, learns nothing, opens no link, and may do what guests may"""
        node = self.node
        node.create("demo")
        node.put("demo", "secret", {"text": "TOPSECRET"})
        node.create("open")
        node.call("PUT", "/open/_security", {})
        node.create("shown")
        node.call("PUT", "/shown/_security", {"members": {"names": ["ann"]}, "readers": {"roles": ["_guest"]}})
        stranger = self.home("stranger").init()
        for identity in (None, stranger):
            for path in ("/", "/_up", "/_uuids", "/_session", "/none/_session"):
                self.assertEqual(self.status("GET", path, identity=identity), 200, path)
            # The same, whether there is such a database or not.
            answers = [self.ask("GET", path, identity=identity) for path in ("/demo/secret", "/none/secret", "/demo", "/none")]
            self.assertEqual([(answer[0], answer[2]) for answer in answers], [(401, answers[0][2])] * 4)
            for method, path in (
                    ("GET", "/_all_dbs"), ("GET", "/_kith/status"), ("PUT", "/new"), ("DELETE", "/demo"),
                    ("GET", "/demo/%5fsecurity"), ("GET", "//demo//secret"), ("GET", "/_up/../demo"),
                    ("POST", "/_replicate"), ("PUT", "/demo/_user/x"), ("GET", "/open/_config"), ("PATCH", "/open/x"),
                    ("PUT", "/open/_security"), ("PUT", "/open/_design%2Fx"), ("OPTIONS", "/open")):
                self.assertEqual(self.status(method, path, {}, identity=identity), 401, (method, path))
            connection = self.connect(identity)
            connection.connect()
            connection.sock.sendall(upgrade_request("open"))
            self.assertEqual(http.client.HTTPResponse(connection.sock)._read_status()[1], 401)
            # As a guest, on one connection.
            connection = self.connect(identity)
            name = "stranger" if identity else "nobody"
            for method, path, expected in (
                    ("PUT", f"/open/{name}", 201), ("GET", f"/open/{name}", 200), ("GET", "/shown", 200),
                    ("POST", "/shown/_all_docs", 200), ("PUT", "/shown/x", 401)):
                connection.request(method, path, "{}", JSON)
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(answer.status, expected, path)
        # One address has so many connections and no more. They have ten seconds, so a slow machine needs more of them.
        connections, refused = [], False
        while not refused and len(connections) < 200:
            connections.append(self.connect())
            connections[-1].connect()
            if len(connections) >= 33:
                refused = connections[-1].sock.recv(12) == b"HTTP/1.1 503"
        self.assertTrue(refused)
        for connection in connections:
            connection.close()

        # A node that is not trusted is told so: its status says it.
        carl = self.new_node("carl")
        carl.configure(rest={"public": True})
        carl.trust(node)
        carl.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{self.port}")
        carl.create("demo")
        # Guests are let in only where it was said.
        carl.call("PUT", "/demo/_security", {})
        connection = http.client.HTTPSConnection("localhost", carl.port, timeout=60, context=tls_context(None))
        connection.request("GET", "/demo")
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()
        wait_for("carl to know", lambda: "does not trust this node" in json.dumps(carl.status()))
        self.assertNotIn("TOPSECRET", node.log())

    def test_users(self):
        """users do what _security gives them, also from pages of allowed origins, and from no others"""
        node = self.node
        for name, roles in (("ann", []), ("rita", []), ("root", ["_admin"])):
            node.call("PUT", f"/_kith/users/{name}", {"password": PASSWORD, "roles": roles})
        node.create("demo")
        node.put("demo", "doc", {"a": 1})
        node.call("PUT", "/demo/_security", {"members": {"names": ["ann"]}, "readers": {"names": ["rita"]}})
        for user, expected in (("rita", [200, 403, 401, 404, 401]), ("ann", [200, 201, 401, 404, 401]),
                               ("root", [200, 201, 403, 404, 403])):
            statuses = [self.status(method, path, {}, user=user) for method, path in (
                ("GET", "/demo/doc"), ("PUT", "/demo/by-" + user), ("GET", "/_all_dbs"), ("GET", "/none"),
                ("PUT", "/demo2"))]
            self.assertEqual(statuses, expected, user)

        # A page of this node, of an allowed origin, and another one.
        login = {"name": "ann", "password": PASSWORD}
        status, headers, _ = self.ask("POST", "/_session", login, Origin=f"https://localhost:{self.port}")
        self.assertEqual(status, 200)
        self.assertIn("SameSite=Strict", headers["Set-Cookie"])
        status, headers, _ = self.ask(
            "OPTIONS", "/demo/doc", Origin=APP, Access_Control_Request_Method="PUT",
            Access_Control_Request_Headers="content-type")
        self.assertEqual(status, 204)
        self.assertEqual(headers["Access-Control-Allow-Origin"], APP)
        self.assertIn("PUT", headers["Access-Control-Allow-Methods"])
        self.assertIsNone(headers["Content-Length"])
        status, headers, _ = self.ask("POST", "/_session", login, Origin=APP)
        self.assertEqual((status, headers["Access-Control-Allow-Credentials"]), (200, "true"))
        self.assertIn("SameSite=None", headers["Set-Cookie"])
        cookie = headers["Set-Cookie"].split(";")[0]
        status, headers, _ = self.ask("GET", "/demo/doc", Cookie=cookie, Origin=APP)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, APP, "Origin"))
        # A page that may ask reads also why it was refused.
        status, headers, _ = self.ask("GET", "/demo/doc", Origin=APP)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (401, APP))
        for origin in ("https://evil.example", "null", "https://app.example:1"):
            status, headers, _ = self.ask("GET", "/demo/doc", Cookie=cookie, Origin=origin)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (403, None), origin)
            form = f"name=ann&password={PASSWORD.replace(' ', '+')}"
            self.assertEqual(
                self.status("POST", "/_session", form, Origin=origin,
                            Content_Type="application/x-www-form-urlencoded"), 403)
        # A client that does not take its answers has its next requests wait.
        node.put("demo", "long", {"text": "x" * (6 << 20)})
        connection = self.connect()
        connection.connect()
        basic = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()

        def request(method, path, body=""):
            return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {basic}\r\n"
                    f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

        connection.sock.sendall(request("GET", "/demo/long") * 3 + request("PUT", "/demo/behind", "{}"))
        first = connection.sock.recv(1)
        for _ in range(30):
            self.assertEqual(node.request("GET", "/demo/behind")[0], 404)
        received = len(first)
        while received < 3 * (6 << 20) or node.request("GET", "/demo/behind")[0] == 404:
            received += len(connection.sock.recv(1 << 20))
        connection.close()
        # Rights that end, end at once.
        answer = self.feed(Cookie=cookie)
        node.call("PUT", "/_kith/users/ann", {"password": PASSWORD + " staple"})
        self.assertCut(answer)
        self.assertEqual(self.status("GET", "/demo/doc", Cookie=cookie), 401)

    def test_peers(self):
        """a paired node does over REST what it may by replication, and no more, until it may not"""
        node = self.node
        bert = self.home("bert").init()
        bert.node_id = bert.check("id").split()[0]
        node.trust(bert)
        node.create("demo")
        node.put("demo", "doc", {"a": 1})

        def may(access):
            node.call("PUT", "/_kith/peers/bert/sharing", {"access": access})
            return [self.status(method, path, {}, identity=bert) for method, path in (
                ("GET", "/demo/doc"), ("PUT", "/demo/by-" + access), ("POST", "/demo/_all_docs"), ("GET", "/none"),
                ("PUT", "/demo/_security"), ("GET", "/_all_dbs"), ("PUT", "/demo2"))]

        self.assertEqual(may("both"), [200, 201, 200, 404, 403, 401, 401])
        # What replication does not show: who may do what, and local documents of others.
        node.call("PUT", "/demo/_local/x", {"of": "anna"})
        self.assertEqual(self.status("GET", "/demo/_security", identity=bert), 403)
        self.assertEqual(self.status("GET", "/demo/_local/x", identity=bert), 404)
        self.assertEqual(self.status("PUT", "/demo/_local/x", {"of": "bert"}, identity=bert), 201)
        self.assertEqual(self.ask("GET", "/demo/_local/x", identity=bert)[2]["of"], "bert")
        self.assertEqual(node.get("/demo/_local/x")["of"], "anna")
        self.assertEqual(self.status("COPY", "/demo/doc", identity=bert, Destination="copy"), 201)
        self.assertEqual(may("read"), [200, 403, 200, 404, 403, 401, 401])
        self.assertEqual(may("write"), [403, 201, 403, 404, 403, 401, 401])
        self.assertEqual(self.status("COPY", "/demo/doc", identity=bert, Destination="copy2"), 403)
        self.assertEqual(may("none"), [404, 404, 404, 404, 404, 401, 401])
        # A right that ends, and trust that does, cut what is under way.
        may("both")
        answer = self.feed(identity=bert)
        may("none")
        self.assertCut(answer)
        may("both")
        answer = self.feed(identity=bert)
        node.check("peers", "revoke", "bert", "--yes")
        self.assertCut(answer)
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.status("GET", "/_up", identity=bert)
