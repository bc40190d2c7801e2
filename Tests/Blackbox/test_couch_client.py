"""A node replicates with a server that speaks CouchDB's protocol: `kith sync DB URL`."""

import json
import re
import ssl
import subprocess
import unittest
from pathlib import Path

from couchdb_server import CouchServer
from kithtest import NodeTestCase, RestError, quoted, wait_for
from socket_proxy import SocketProxy


class CouchClient(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.server = CouchServer()
        self.addCleanup(self.server.close)
        self.server.database("notes")
        self.node = self.start_node("anna")
        self.node.create("notes")

    def sync(self, *arguments, url=None):
        """What `kith sync` says at its end."""
        lines = self.node.check("sync", "notes", url or self.server.url("notes"), *arguments, "--json").splitlines()
        return json.loads(lines[-1])

    def test_both_ways(self):
        """documents, histories, conflicts and deletions go both ways once, and nothing goes twice"""
        server, node = self.server, self.node
        first = server.put("notes", "theirs", {"v": 1})
        second = server.put("notes", "theirs", {"v": 2}, parent=first)
        server.put("notes", "branch", {"v": "a"}, rev="1-" + "a" * 32)
        server.put("notes", "branch", {"v": "b"}, rev="1-" + "b" * 32)
        gone = server.put("notes", "gone", {"v": 1})
        server.put("notes", "gone", {}, parent=gone, deleted=True)
        server.put("notes", "odd /?ä%2F", {"v": 1})
        for number in range(300):
            server.put("notes", f"many-{number}", {"n": number, "text": "x" * 100})
        own = node.put("notes", "ours", {"v": 1})
        own = node.put("notes", "ours", {"v": 2}, own)
        node.load("notes", [{"_id": f"own-{n}", "n": n} for n in range(250)])
        done = self.sync()
        self.assertEqual((done["received"], done["refused"]), (305, 0))
        self.assertEqual(done["sent"], 251)
        self.assertEqual(node.document("notes", "theirs")["_rev"], second)
        history = node.get(f"/notes/theirs?revs=true")["_revisions"]
        self.assertEqual(history, {"start": 2, "ids": [second[2:], first[2:]]})
        self.assertEqual(node.document("notes", "branch", conflicts=True)["_conflicts"], ["1-" + "a" * 32])
        self.assertTrue(node.has("notes", "odd /?ä%2F"))
        self.assertFalse(node.has("notes", "gone"))
        self.assertEqual(server.get("notes", "ours"), {"_rev": own, "v": 2})
        self.assertEqual(len(server.databases["notes"].history("ours", own)), 2)
        self.assertGreater(server.commits, 0)
        # Checkpoints of both sides are the same, one for each direction.
        local = server.databases["notes"].local
        self.assertEqual(len(local), 2)
        for name, theirs in local.items():
            ours = node.get(f"/notes/{name}")
            for member in ("session_id", "source_last_seq", "history", "replication_id_version"):
                self.assertEqual(ours[member], theirs[member])
            self.assertEqual(theirs["history"][0]["recorded_seq"], theirs["source_last_seq"])
        # The next looks at what has changed and at nothing else.
        before = len(server.requests)
        done = self.sync()
        self.assertEqual((done["sent"], done["received"]), (0, 0))
        asked = [path for _, path, _ in server.requests[before:]]
        self.assertFalse([path for path in asked if "_bulk" in path], asked)
        server.put("notes", "theirs", {"v": 3}, parent=second)
        self.assertEqual(self.sync("--pull")["received"], 1)
        node.put("notes", "ours", {"v": 3}, own)
        self.assertEqual(self.sync("--push")["sent"], 1)

    def test_one_by_one(self):
        """a server without _bulk_get, with numbers for positions, that answers 500 and 429, is replicated with all the same"""
        server, node = self.server, self.node
        server.hasBulkGet = server.hasOpaqueSequences = server.packs = False
        for number in range(12):
            server.put("notes", f"many-{number}", {"n": number})
        faults = [("status", 500, {}, {"error": "oops"}), ("status", 429, {"Retry-After": "0"}, {"error": "slow"})]
        server.fault = lambda method, path, query: faults.pop() if faults and "many-" in path else None
        self.assertEqual(self.sync("--pull")["received"], 12)
        self.assertEqual(node.count("notes"), 12)
        self.assertEqual(faults, [])

    def test_attachments(self):
        """attachments go both ways as streams, packed ones are unpacked, and those that are there do not go again"""
        server, node = self.server, self.node
        large = bytes(range(256)) * 12_000  # 3 MB, and no text
        first = server.put(
            "notes", "theirs", {"v": 1}, attachments={"a.bin": large, "ä ö.txt": b"short", "packed": (1, b"p" * 70_000)})
        server.put("notes", "plain", {"v": 1})
        node.put("notes", "ours", {"v": 1})
        rev = node.document("notes", "ours")["_rev"]
        for name, data in [("z.bin", large), ("ü.txt", b"short"), ("empty", b"")]:
            status, _, body = node.exchange(
                "PUT", f"/notes/ours/{quoted(name)}?rev={rev}", data, {"Content-Type": "text/plain"})
            self.assertEqual(status, 201, body)
            rev = json.loads(body)["rev"]
        done = self.sync()
        self.assertEqual((done["sent"], done["received"], done["refused"]), (1, 2, 0))
        for name, data in [("a.bin", large), ("ä ö.txt", b"short"), ("packed", b"p" * 70_000)]:
            self.assertEqual(node.exchange("GET", f"/notes/theirs/{quoted(name)}")[2], data)
        self.assertEqual(node.get("/notes/theirs")["_attachments"]["a.bin"]["revpos"], 1)
        for name, data in [("z.bin", large), ("ü.txt", b"short"), ("empty", b"")]:
            self.assertEqual(server.attachment("notes", "ours", name), data)
        # What the other side has is only told of.
        sent = len(server.sent_attachments)
        second = server.put(
            "notes", "theirs", {"v": 2}, parent=first, attachments={"a.bin": None, "new": b"new", "packed": None})
        node.put("notes", "ours", {"v": 2, "_attachments": node.get("/notes/ours")["_attachments"]}, rev)
        self.assertEqual((lambda one: (one["sent"], one["received"]))(self.sync()), (1, 1))
        self.assertEqual(server.sent_attachments[sent:], [("theirs", "new")])
        self.assertEqual(node.exchange("GET", "/notes/theirs/a.bin")[2], large)
        self.assertEqual(node.document("notes", "theirs")["_rev"], second)
        self.assertEqual(server.get("notes", "ours")["v"], 2)
        self.assertEqual(server.attachment("notes", "ours", "z.bin"), large)
        self.assertEqual(server.lastUpload < 10_000, True, "what the server has was sent again")
        # An answer that is cut off in its middle once is asked for again; one that always is, is refused.
        server.put("notes", "once", {"v": 1}, attachments={"a.bin": large})
        server.put("notes", "always", {"v": 1}, attachments={"a.bin": large})
        server.packs = False
        cuts = {"/notes/once": 1, "/notes/always": 99}

        def fault(_method, path, query):
            if "attachments" not in query or not cuts[path]:
                return None
            cuts[path] -= 1
            return ("cut", 2_000_000)

        server.fault = fault
        node.run("sync", "notes", server.url("notes"), "--pull")
        self.assertEqual(node.exchange("GET", "/notes/once/a.bin")[2], large)
        self.assertEqual([row["id"] for row in node.get("/notes/_refusals")["rows"]], ["always"])
        server.fault = None
        self.sync("--pull")
        self.assertEqual(node.exchange("GET", "/notes/always/a.bin")[2], large)
        self.assertEqual(node.check("db", "check", "notes").count("fault"), 0)

    def test_two_nodes(self):
        """a node replicates over HTTP with the REST interface of another one, and both hold the same"""
        node, other = self.node, self.start_node("bert")
        proxy = SocketProxy(other.socket_path)
        self.addCleanup(proxy.close)
        other.create("notes")
        node.load("notes", [{"_id": f"a-{n}", "n": n} for n in range(120)])
        other.load("notes", [{"_id": f"b-{n}", "n": n} for n in range(80)])
        node.put("notes", "both", {"v": "anna"})
        other.put("notes", "both", {"v": "bert"})
        node.put("notes", "file", {"v": 1, "_attachments": {"x": {"data": "aGVsbG8="}}})
        other.remove("notes", "b-0", other.document("notes", "b-0")["_rev"])
        url = f"http://127.0.0.1:{proxy.port}/notes"
        done = self.sync(url=url)
        self.assertEqual((done["sent"], done["received"], done["refused"]), (122, 81, 0))
        self.assertEqual(node.digest("notes")["digest"], other.digest("notes")["digest"])
        self.assertEqual(other.exchange("GET", "/notes/file/x")[2], b"hello")
        self.assertEqual(self.sync(url=url)["sent"], 0)

    def test_replicate(self):
        """_replicate does once and on and on what it is asked for, is shown while it does, and ends when it is cancelled"""
        server, node = self.server, self.node
        url = server.url("notes")
        for number in range(3):
            server.put("notes", f"a-{number}", {"n": number})
        done = node.call("POST", "/_replicate", {"source": url, "target": "copy", "create_target": True})
        self.assertEqual(done["history"][0]["docs_written"], 3)
        self.assertIn("no_changes", node.call("POST", "/_replicate", {"source": url, "target": "copy"}))
        only = node.call("POST", "/_replicate", {"source": url, "target": "notes", "doc_ids": ["a-1"]})
        self.assertEqual(only["history"][0]["docs_written"], 1)
        live = {"source": {"url": url}, "target": "notes", "continuous": True}
        first = node.call("POST", "/_replicate", live)
        self.assertEqual(node.call("POST", "/_replicate", live)["_local_id"], first["_local_id"])
        wait_for("what was there", lambda: node.has("notes", "a-2"))
        server.put("notes", "later", {"v": 1})
        wait_for("what came later", lambda: node.has("notes", "later"))
        task = wait_for("the state to be told", lambda: [
            one for one in node.get("/_active_tasks") if one["state"] == "inSync"])[0]
        self.assertEqual((task["source"], task["target"], task["changes_pending"]), (url, "notes", 0))
        self.assertIn("in sync", node.check("status"))
        out = {"source": "notes", "target": url, "continuous": True}
        node.call("POST", "/_replicate", out)
        node.put("notes", "mine", {"v": 1})
        wait_for("what was written here", lambda: server.get("notes", "mine"))
        wait_for("both to be in sync", lambda: [one["state"] for one in node.status()["servers"]] == ["inSync"] * 2)
        # A server that goes wrong is told, with when, and waited for.
        server.fault = lambda *_: ("status", 503, {}, {"error": "down"})
        with server.changed:
            server.changed.notify_all()
        node.put("notes", "mine too", {"v": 1})
        told = wait_for("the error to be told", lambda: [
            one for one in node.status()["servers"] if one["direction"] == "send" and one["lastError"]])[0]
        self.assertEqual(told["state"], "waiting")
        self.assertIn("503", told["lastError"])
        self.assertTrue(told["lastErrorAt"] and told["retryAt"] and told["lastInSyncAt"])
        self.assertIn("503", node.check("status"))
        server.fault = None
        wait_for("what waited", lambda: server.get("notes", "mine too"))
        for body in (live, out):
            node.call("POST", "/_replicate", {**body, "cancel": True})
        wait_for("both to be gone", lambda: node.get("/_active_tasks") == [])
        for body, status in [({**live, "cancel": True}, 404), ({"source": "notes", "target": "copy"}, 501),
                             ({**live, "since_seq": "9"}, 501), ({"source": "nothing", "target": url}, 404)]:
            with self.assertRaises(RestError) as caught:
                node.call("POST", "/_replicate", body)
            self.assertEqual(caught.exception.status, status)

    def test_replicator(self):
        """documents of _replicator go on after a restart, tell how they stand, and show no password"""
        server, node = self.server, self.node
        server.credentials = "alice:s3cret-word"
        url = server.url("notes")
        auth = {"basic": {"username": "alice", "password": "s3cret-word"}}
        server.put("notes", "a", {"v": 1})
        node.call("PUT", "/_replicator/once", {"source": {"url": url, "auth": auth}, "target": "notes"})
        node.call("PUT", "/_replicator/live", {
            "source": "notes", "target": {"url": url, "auth": auth}, "continuous": True})
        wait_for("the first to be done", lambda: node.get("/_replicator/once")["_replication_state"] == "completed")
        self.assertTrue(node.has("notes", "a"))
        shown = node.get("/_replicator/live")
        self.assertNotIn("s3cret", json.dumps(shown) + json.dumps(node.get("/_active_tasks")) + node.log())
        with self.assertRaises(RestError) as caught:
            node.call("PUT", "/_replicator/live", {"source": "notes", "target": url})
        self.assertEqual(caught.exception.status, 409)
        kept = node.folder / "replications.json"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        node.stop()
        node.start()
        node.put("notes", "b", {"v": 1})
        wait_for("it to go on", lambda: server.get("notes", "b"))
        self.assertEqual(node.get("/_replicator/once")["_replication_state"], "completed")
        # Written back as it was shown, it keeps its password.
        shown = node.get("/_replicator/live")
        changed = node.call("PUT", "/_replicator/live", {
            name: value for name, value in shown.items() if not name.startswith("_replication")})
        node.put("notes", "c", {"v": 1})
        wait_for("it to go on with its password", lambda: server.get("notes", "c"))
        rows = node.get("/_replicator/_all_docs?include_docs=true")["rows"]
        self.assertEqual([row["id"] for row in rows], ["live", "once"])
        docs = {row["doc_id"]: row["state"] for row in node.get("/_scheduler/docs")["docs"]}
        self.assertEqual(docs, {"live": "running", "once": "completed"})
        node.call("DELETE", f"/_replicator/live?rev={changed['rev']}")
        wait_for("it to end", lambda: node.get("/_active_tasks") == [])
        with self.assertRaises(RestError) as caught:
            node.call("PUT", "/_replicator/wrong", {"source": "notes"})
        self.assertEqual(caught.exception.status, 400)

    def test_refused(self):
        """what one side does not take is recorded, stops nothing, and is offered again"""
        server, node = self.server, self.node
        server.put("notes", "_bad" , {"v": 1})
        server.put("notes", "reserved", {"v": 1})
        server.put("notes", "good", {"v": 1})
        server.spoil = lambda document: {**document, "_strange": 1} if document["_id"] == "reserved" else document
        server.refuse = lambda document: (
            {"error": "forbidden", "reason": "not here"} if document["_id"] == "secret" else None)
        node.put("notes", "secret", {"v": 1})
        node.put("notes", "public", {"v": 1})
        done = node.run("sync", "notes", server.url("notes"))
        self.assertEqual(done.returncode, 31, done.stderr)
        self.assertTrue(node.has("notes", "good"))
        self.assertEqual(server.get("notes", "public")["v"], 1)
        rows = {row["id"]: row for row in node.get("/notes/_refusals")["rows"]}
        self.assertEqual(set(rows), {"_bad", "reserved", "secret"})
        self.assertEqual(rows["secret"]["by"], "peer")
        self.assertIn("not here", rows["secret"]["reason"])
        self.assertIn("_strange", rows["reserved"]["reason"])
        self.assertEqual(rows["reserved"]["peer"], server.url("notes"))
        self.assertIn("secret", node.check("status", "notes"))
        server.refuse = server.spoil = None
        node.run("sync", "notes", server.url("notes"))
        self.assertEqual(server.get("notes", "secret")["v"], 1)
        self.assertTrue(node.has("notes", "reserved"))
        self.assertEqual({row["id"] for row in node.get("/notes/_refusals")["rows"]}, {"_bad"})

    def test_credentials(self):
        """a password comes from a file or the environment, never from the list of processes, and is written nowhere"""
        server, node = self.server, self.node
        server.credentials = "alice:s3cret-word"
        server.put("notes", "theirs", {"v": 1})
        url = server.url("notes")
        done = node.run("sync", "notes", url.replace("http://", "http://alice:s3cret-word@"))
        self.assertEqual(done.returncode, 64)
        self.assertIn("--user-file", done.stderr)
        self.assertNotIn("s3cret", done.stdout + done.stderr)
        done = node.run("sync", "notes", url)
        self.assertEqual(done.returncode, 31, done.stderr)
        self.assertIn("401", done.stderr)
        done = node.run("sync", "notes", server.url("notes", user="alice"))
        self.assertEqual(done.returncode, 64)
        secret = Path(node.folder.parent) / "couch.txt"
        secret.write_text("alice:s3cret-word\n")
        self.assertEqual(self.sync("--user-file", secret)["received"], 1)
        self.assertNotIn("s3cret", node.log())
        for name in server.databases["notes"].local:
            self.assertNotIn("alice", json.dumps(server.databases["notes"].local[name]))
            self.assertRegex(name, re.compile("^_local/kith-[0-9a-f]{40}$"))

    def test_certificates(self):
        """a server is believed by its certificate and name: --ca-file, and nobody else"""
        folder = Path(self.node.folder.parent)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
             "-subj", "/CN=couch", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
             "-out", folder / "ca.pem"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
        server = CouchServer(context)
        self.addCleanup(server.close)
        server.put("notes", "theirs", {"v": 1}, attachments={"a": b"x" * 100_000})
        self.assertEqual(self.sync("--ca-file", folder / "ca.pem", url=server.url("notes"))["received"], 1)
        refused = self.node.run("sync", "notes", server.url("notes"))
        self.assertEqual(refused.returncode, 17, refused.stderr)
        self.assertIn("--ca-file", refused.stderr)
        other = server.url("notes").replace("127.0.0.1", "localhost")
        self.assertEqual(self.node.run("sync", "notes", other, "--ca-file", folder / "ca.pem").returncode, 17)

    def test_strange_servers(self):
        """what is no CouchDB, answers nonsense or too much is told, and the node goes on"""
        server, node = self.server, self.node
        url = server.url("notes")
        for fault, words in [
            (("status", 200, {"Content-Type": "text/html"}, b"<html>hello</html>"), "not JSON"),
            (("status", 302, {"Location": "http://127.0.0.1:1/other"}, {}), "elsewhere"),
            (("raw", b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 90000 + b"\r\n\r\n"), "header"),
            (("status", 200, {}, {"couchdb": "Welcome"}), "not about a database"),
        ]:
            server.fault = lambda *_, fault=fault: fault
            done = node.run("sync", "notes", url, "--pull")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
        server.fault = None
        missing = node.run("sync", "notes", server.url("missing"))
        self.assertEqual(missing.returncode, 11, missing.stderr)
        node.put("notes", "ours", {"v": 1})
        self.assertEqual(self.sync("--push", "--create-target", url=server.url("missing"))["sent"], 1)
        self.assertEqual(node.run("sync", "notes", "notaurl").returncode, 64)


if __name__ == "__main__":
    unittest.main()
