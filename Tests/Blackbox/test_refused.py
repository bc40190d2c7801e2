"""Documents that a peer will not take: kept, shown, offered again, by the real program."""

import json
import sqlite3
import unittest

from kithtest import NodeTestCase, await_converged, wait_for

from couchbase_lite import Database, Replicator


class Picky(Replicator):
    """A client that does not take certain documents."""

    refuses = ()

    def _on_revision(self, feed, request):
        p = request.properties
        if p["id"] in self.refuses:
            self._finish(feed, p["id"], p.get("replacedRev", p["rev"]), p["sequence"])
            return {"Error-Domain": "HTTP", "Error-Code": "403"}, b"not for this phone"
        return super()._on_revision(feed, request)


class Refused(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("notes")
        self.phone = self.new_node("phone")
        self.node.trust(self.phone)
        self.database = Database()

    def replicate(self, *refused):
        replicator = Picky(
            self.database, self.node.port, "notes", (self.phone.certificate, self.phone.key), push=False)
        replicator.refuses = refused
        return replicator.run()

    def explain(self, id, *more):
        return json.loads(self.node.check("explain", "notes", id, "--json", *more))

    def on_phone(self, id):
        return self.explain(id, "--peer", "phone")["peers"][0]

    def refused(self):
        return self.node.status()["peers"][0]["databases"][0]["refused"]

    def test_refused(self):
        """a refused document is shown with who, why and when, also after a restart, and holds up no other"""
        bad = self.node.put("notes", "bad/1", {"n": 1})
        self.node.put("notes", "good", {"n": 1})
        self.assertIn("not known: there has been no link yet", self.node.check("explain", "notes/good"))
        self.replicate("bad/1")
        self.assertEqual(self.database.body("good"), {"n": 1})
        for _ in range(2):
            wait_for("the refusal", lambda: self.refused() == 1)
            row = self.on_phone("bad/1")
            self.assertEqual([row["name"], row["state"], row["connected"], row["received"]], ["phone", "refused", False, None])
            sent = row["sent"]
            self.assertEqual([sent["rev"], sent["by"], sent["code"], sent["reason"]], [bad, "peer", 403, "not for this phone"])
            self.assertEqual(self.on_phone("good")["state"], "there")
            page = self.node.check("status", "notes")
            self.assertIn("1 refused", page)
            self.assertIn("bad/1 by phone", page)
            self.assertIn("(403): not for this phone", page)
            text = self.node.check("explain", "notes/bad/1", "--peer", "phone")
            self.assertIn("Refused by phone", text)
            self.assertIn("It is offered again", text)
            self.assertEqual(self.node.run("status", "--check").returncode, 1)
            redacted = self.node.check("status", "--redact", "--json")
            self.assertNotIn("bad/1", redacted)
            self.assertNotIn("not for this", redacted)
            self.assertEqual(self.node.get("/notes/_refusals")["rows"][0]["peer"], "phone")
            self.assertEqual(self.node.stop(), 0)
            self.node.start("--port", "0", "--no-discovery")

        # Untrusted, all that is known of it goes.
        self.node.check("untrust", "phone")
        wait_for("nothing refused", lambda: self.node.get("/notes/_refusals")["rows"] == [])

    def test_taken(self):
        """it is offered again on a later link although nothing has changed, and forgotten when it is taken"""
        self.node.put("notes", "bad", {"n": 1})
        self.replicate("bad")
        wait_for("the refusal", lambda: self.refused() == 1)
        # The wait before another attempt is over for a clock that is far behind the refusal's.
        self.assertEqual(self.node.stop(), 0)
        with sqlite3.connect(self.node.folder / "databases" / "notes.kith") as file:
            self.assertEqual(file.execute("UPDATE refusal SET refused_at = refused_at - 100").rowcount, 1)
        file.close()
        self.node.start("--port", "0", "--no-discovery")
        wait_for("the refusal", lambda: self.refused() == 1)
        self.replicate("bad")
        wait_for("another attempt", lambda: self.on_phone("bad")["sent"]["attempts"] == 2)
        # Not at once again.
        self.assertEqual(self.replicate("bad").announced, 0)
        self.assertEqual(self.node.stop(), 0)
        with sqlite3.connect(self.node.folder / "databases" / "notes.kith") as file:
            file.execute("UPDATE refusal SET refused_at = refused_at - 100")
        file.close()
        self.node.start("--port", "0", "--no-discovery")
        wait_for("the refusal", lambda: self.refused() == 1)
        self.assertEqual(self.replicate().received, ["bad"])
        wait_for("no refusal", lambda: self.refused() == 0)
        self.assertEqual(self.on_phone("bad")["state"], "there")
        self.assertEqual(self.node.get("/notes/_refusals")["rows"], [])

    def test_changed(self):
        """when the document changes, what was refused of it is forgotten, and the change waits for the peer"""
        rev = self.node.put("notes", "bad", {"n": 1})
        self.replicate("bad")
        wait_for("the refusal", lambda: self.refused() == 1)
        self.node.put("notes", "bad", {"n": 2}, rev)
        for number in range(3):
            self.node.put("notes", f"later/{number}", {})
        wait_for("no refusal", lambda: self.refused() == 0)
        row = self.on_phone("bad")
        self.assertEqual([row["state"], row["before"], row["sent"]], ["waiting", 0, None])
        self.assertEqual(self.on_phone("later/2")["before"], 3)
        self.assertIn("not yet: 3 documents come before it; there is no link now", self.node.check("explain", "notes/later/2"))
        self.replicate()
        self.assertEqual(self.database.body("bad"), {"n": 2})
        wait_for("it there", lambda: self.on_phone("bad")["state"] == "there")

    def test_not_there(self):
        """what is not there, and a peer that is not known, have their exit codes; between nodes a document is there"""
        self.assertEqual(self.node.run("explain", "notes/none").returncode, 10)
        self.assertEqual(self.node.run("explain", "none/a").returncode, 11)
        self.node.put("notes", "a", {})
        done = self.node.run("explain", "notes/a", "--peer", "nobody")
        self.assertEqual(done.returncode, 10)
        self.assertIn("no such peer", done.stderr)
        self.assertEqual(self.node.run("explain", "notes").returncode, 64)
        b = self.start_node("bert", "--peer", f"127.0.0.1:{self.node.port}")
        self.node.trust(b)
        b.trust(self.node)
        # It is connected for another database, and has not asked for this one.
        for node in (self.node, b):
            node.create("other")
        wait_for("bert without notes", lambda: self.explain("a", "--peer", "bert")["peers"][0]["state"] == "notShared")
        self.assertIn("not shared", self.node.check("explain", "notes/a", "--peer", "bert"))
        b.create("notes")
        await_converged([self.node, b], "notes")
        wait_for("it there", lambda: self.explain("a", "--peer", "bert")["peers"][0]["state"] == "there")
        self.assertIn("bert   there", self.node.check("explain", "notes/a", "--peer", "bert"))


if __name__ == "__main__":
    unittest.main()
