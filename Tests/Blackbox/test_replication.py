"""Nodes on loopback without Avahi: they reach each other by --peer."""

import json
import unittest

from kithtest import LONG, NodeTestCase, RestError, await_converged, quoted, wait_for, winner

import generate

CLINIC = 1500


class Replication(NodeTestCase):
    def test_both_ways(self):
        """two nodes with --peer and no discovery replicate in both directions"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        rev_a = a.put("clinic", "patient:Ζωή/1", {"from": "anna", "n": 2 ** 70})
        rev_b = b.put("clinic", "patient:2", {"from": "bert"})
        wait_for("anna's document on bert", lambda: b.has("clinic", "patient:Ζωή/1", rev_a))
        wait_for("bert's document on anna", lambda: a.has("clinic", "patient:2", rev_b))
        self.assertEqual(b.document("clinic", "patient:Ζωή/1")["n"], 2 ** 70)
        removed = b.remove("clinic", "patient:Ζωή/1", rev_a)
        wait_for("the deletion on anna", lambda: not a.has("clinic", "patient:Ζωή/1"))
        self.assertEqual(int(removed.split("-")[0]), 2)
        await_converged([a, b], "clinic")

    def test_clinic(self):
        """a whole clinic, written on both sides at once, arrives with every byte"""
        a, b = self.start_pair("clinic")
        documents = list(generate.documents(CLINIC, 3))
        one = a.load("clinic", documents[: CLINIC // 2])
        other = b.load("clinic", documents[CLINIC // 2:])
        await_converged([a, b], "clinic")
        for node in (a, b):
            self.assertEqual(node.count("clinic"), CLINIC)
            rows = node.get("/clinic/_all_docs?include_docs=true")["rows"]
            self.assertEqual({row["id"]: row["doc"]["_rev"] for row in rows}, {**one, **other})
            bodies = {r["id"]: {k: v for k, v in r["doc"].items() if k not in ("_id", "_rev")} for r in rows}
            for document in documents:
                self.assertEqual(bodies[document["_id"]], {k: v for k, v in document.items() if k != "_id"})

    def test_conflicts(self):
        """edits made apart converge on the winner by depth and hash; every loser stays readable"""
        a, b = self.start_pair("clinic")
        first = {i: a.put("clinic", i, {"v": 0}) for i in ("deep", "even", "deleted", "both", "same")}
        await_converged([a, b], "clinic")
        b.stop()
        # anna edits while bert is away; then bert edits while anna is away.
        deep_a = a.put("clinic", "deep", {"v": "anna 2"}, a.put("clinic", "deep", {"v": "anna 1"}, first["deep"]))
        even_a = a.put("clinic", "even", {"v": "anna"}, first["even"])
        kept = a.put("clinic", "deleted", {"v": "anna keeps it"}, first["deleted"])
        a.remove("clinic", "both", first["both"])
        same_a = a.put("clinic", "same", {"v": [1.0, 1e2]}, first["same"])
        port = a.port
        a.stop()
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{port}")
        deep_b = b.put("clinic", "deep", {"v": "bert 1"}, first["deep"])
        even_b = b.put("clinic", "even", {"v": "bert"}, first["even"])
        b.remove("clinic", "deleted", first["deleted"])
        b.remove("clinic", "both", first["both"])
        same_b = b.put("clinic", "same", {"v": [1, 100]}, first["same"])
        self.assertEqual(same_a, same_b, "the same edit is not the same revision")
        a.start("--port", str(port), "--no-discovery")
        digest = await_converged([a, b], "clinic")

        expected = {"deep": (deep_a, deep_b), "even": (even_a, even_b)}
        for node in (a, b):
            for document_id, revisions in expected.items():
                best = winner(*revisions)
                loser = next(r for r in revisions if r != best)
                document = node.document("clinic", document_id, conflicts=True)
                self.assertEqual(document["_rev"], best)
                self.assertEqual(document["_conflicts"], [loser])
                self.assertIn("v", node.document("clinic", document_id, rev=loser))
                self.assertEqual(node.conflicts("clinic")[document_id], sorted(revisions))
            self.assertEqual(node.document("clinic", "deep")["_rev"], deep_a)
            self.assertEqual(node.document("clinic", "deleted")["_rev"], kept)
            self.assertFalse(node.has("clinic", "both"))
            self.assertNotIn("same", node.conflicts("clinic"))
            self.assertNotIn("both", node.conflicts("clinic"))
        self.assertEqual(digest["conflicts"], len(a.conflicts("clinic")))
        text = a.check("conflicts", "clinic")
        self.assertIn("even", text)
        self.assertIn("deep", text)

    def test_resolved(self):
        """deleting the losing revision on one node resolves the conflict on the other"""
        a = self.start_node("anna")
        b = self.new_node("bert")
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        revisions = []
        for node in (a, b):
            node.create("clinic")
            revisions.append(node.put("clinic", "x", {"by": node.name}))
        a.trust(b)
        b.trust(a)
        wait_for("the conflict on bert", lambda: len(b.conflicts("clinic").get("x", [])) == 2)
        best = winner(*revisions)
        b.remove("clinic", "x", next(r for r in revisions if r != best))
        await_converged([a, b], "clinic")
        for node in (a, b):
            self.assertEqual(node.conflicts("clinic"), {})
            self.assertEqual(node.document("clinic", "x")["_rev"], best)

    def test_unpaired(self):
        """a node that only one side trusts gets nothing, and both say why"""
        a = self.start_node("anna")
        a.create("clinic")
        a.put("clinic", "patient:1", {"n": 1})
        b = self.new_node("bert")
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        b.create("clinic")
        b.trust(a)
        b.await_log("not", "trust")
        a.await_log(b.node_id.split("-")[0])
        self.assertEqual(b.count("clinic"), 0)
        self.assertNotEqual(b.peer("anna")["state"], "inSync")
        # The other half of the pairing is all that is missing.
        a.trust(b)
        wait_for("the document on bert", lambda: b.has("clinic", "patient:1"))

    def test_untrust(self):
        """untrust cuts the live connection at once, and nothing more arrives"""
        a, b = self.start_pair("clinic")
        a.put("clinic", "before", {"n": 1})
        wait_for("the document on bert", lambda: b.has("clinic", "before"))
        a.check("untrust", "bert")
        a.put("clinic", "after", {"n": 2})
        wait_for("bert to notice", lambda: b.peer("anna")["state"] not in ("inSync", "syncing"))
        self.assertFalse(b.has("clinic", "after"))
        self.assertEqual(a.get("/_kith/peers")["peers"], [])

    def test_resume(self):
        """a node that was killed while receiving takes up where it was, and completes"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        documents = list(generate.documents(4000, 9))
        own = {}
        acknowledged = a.load("clinic", documents[:200])
        wait_for("the first documents on bert", lambda: b.count("clinic") >= 200)
        for start in range(200, 4000, 400):
            acknowledged.update(a.load("clinic", documents[start:start + 400]))
            own[f"bert:{start}"] = b.put("clinic", f"bert:{start}", {"n": start})
            if start in (1000, 2600):
                b.kill()
                b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        await_converged([a, b], "clinic")
        for node in (a, b):
            self.assertEqual(node.count("clinic"), 4000 + len(own))
            for document_id, rev in [*own.items(), *list(acknowledged.items())[::37]]:
                self.assertEqual(node.document("clinic", document_id)["_rev"], rev)

    def test_several_databases(self):
        """several databases replicate over one link, and only those that both nodes have"""
        a, b = self.start_pair("clinic", "stock", "a_b/c+d")
        a.create("private")
        for database in ("clinic", "stock", "a_b/c+d", "private"):
            a.put(database, "x", {"of": database})
        for database in ("clinic", "stock", "a_b/c+d"):
            wait_for(f"the document in {database} on bert", lambda: b.has(database, "x"))
        self.assertEqual(sorted(b.get("/_all_dbs")), ["a_b/c+d", "clinic", "stock"])

    def test_database_made_later(self):
        """a database that one node makes later is replicated from then on"""
        a, b = self.start_pair("clinic")
        a.create("stock")
        a.put("stock", "x", {"n": 1})
        a.await_peer("bert", "inSync")
        b.create("stock")
        wait_for("the document on bert", lambda: b.has("stock", "x"))

    def test_ugly_names(self):
        """IDs of every kind arrive as they are, composed and decomposed ones apart"""
        a, b = self.start_pair("clinic")
        ids = ["é", "e\u0301", "a/b c?d#e%41+&=", "…" * 80, "\"quoted\" \\back", "👩🏽\u200d⚕️", "x" * 240, ".", "..",
               "%2F", "ﬀ", "\u200b"]
        for number, document_id in enumerate(ids):
            a.put("clinic", document_id, {"n": number})
        wait_for("all of them on bert", lambda: b.count("clinic") == len(ids))
        for number, document_id in enumerate(ids):
            self.assertEqual(b.document("clinic", document_id)["n"], number)
        await_converged([a, b], "clinic")

    def test_large_document(self):
        """a document of several megabytes arrives, and small ones do not starve behind it"""
        a, b = self.start_pair("clinic")
        rev = a.put("clinic", "scan", {"pixels": "Zoë" * 700_000})
        small = a.put("clinic", "small", {"n": 1})
        wait_for("the small one on bert", lambda: b.has("clinic", "small", small))
        wait_for("the large one on bert", lambda: b.has("clinic", "scan", rev))
        await_converged([a, b], "clinic")

    def test_three_in_a_line(self):
        """a document reaches a node that only knows the one in the middle"""
        a, b = self.start_pair("clinic")
        c = self.new_node("carl")
        b.trust(c)
        c.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{b.port}")
        c.trust(b)
        c.create("clinic")
        rev = a.put("clinic", "patient:1", {"n": 1})
        wait_for("the document on carl", lambda: c.has("clinic", "patient:1", rev))
        back = c.put("clinic", "patient:1", {"n": 2}, rev)
        wait_for("the edit on anna", lambda: a.has("clinic", "patient:1", back))
        await_converged([a, b, c], "clinic")

    def test_continuous_feeds(self):
        """a longpoll feed on one node answers when the other one writes"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        since = b.get("/clinic/_changes")["last_seq"]
        follow = self.spawn(
            ["curl", "-sS", "--max-time", "60", "--unix-socket", b.socket_path,
             f"http://localhost/clinic/_changes?feed=longpoll&timeout=50000&since={quoted(str(since))}"], stdout=-1)
        rev = a.put("clinic", "patient:1", {"n": 1})
        answer = json.loads(follow.stdout.read())
        self.assertEqual([(r["id"], r["changes"][0]["rev"]) for r in answer["results"]], [("patient:1", rev)])

    @unittest.skipUnless(LONG, "only with --long")
    def test_many_edits(self):
        """both sides edit the same few documents all the time, and converge"""
        a, b = self.start_pair("clinic")
        for round_number in range(400):
            for node in (a, b):
                for document_id in ("x", "y", "z"):
                    rev = node.document("clinic", document_id)["_rev"] if node.has("clinic", document_id) else None
                    try:
                        node.put("clinic", document_id, {"n": round_number, "by": node.name}, rev)
                    except RestError as error:
                        self.assertEqual(error.status, 409)
        await_converged([a, b], "clinic", seconds=120)


if __name__ == "__main__":
    unittest.main()
