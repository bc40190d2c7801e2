"""Conflicts that are merged by themselves, by the real program."""

import json
import unittest

from kithtest import NodeTestCase, await_converged, wait_for


class Merge(NodeTestCase):
    def conflict(self, a, b, id, edits):
        """Two edits of one document, made while the nodes are apart: anna's and bert's."""
        rev = a.put("notes", id, {"x": 1, "y": 1, "z": 1})
        await_converged([a, b], "notes")
        port = a.port
        b.stop()
        one = a.put("notes", id, {"x": 1, "y": 1, "z": 1, **edits[0]}, rev)
        a.stop()
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{port}")
        other = b.put("notes", id, {"x": 1, "y": 1, "z": 1, **edits[1]}, rev)
        a.start("--port", str(port), "--no-discovery")
        return one, other

    def test_both(self):
        """two nodes that merge, both at once, have one revision with what either changed, and it survives a restart"""
        a, b = self.start_pair("notes")
        for node in (a, b):
            self.assertIn("merge=three-way\n", node.check("db", "set", "notes", "merge=three-way"))
        one, other = self.conflict(a, b, "list", [{"x": "anna"}, {"y": "bert"}])
        for node in (a, b):
            wait_for("the merged list", lambda: node.document("notes", "list").get("y") == "bert")
        await_converged([a, b], "notes")
        for node in (a, b):
            document = node.document("notes", "list")
            self.assertEqual([document["x"], document["y"], document["z"]], ["anna", "bert", 1])
            self.assertNotIn(document["_rev"], (one, other))
            self.assertEqual(node.check("conflicts", "notes").strip(), "No document is in conflict.")
            self.assertEqual(json.loads(node.check("db", "set", "notes", "--json"))["merge"], "three-way")

    def test_switched_on_later(self):
        """conflicts that are there when it is switched on are merged where it is known from what, else said"""
        a, b = self.start_pair("notes")
        for node in (a, b):
            node.check("db", "set", "notes", "keep-old-bodies=true")
        self.conflict(a, b, "kept", [{"x": 2}, {"y": 2}])
        for node in (a, b):
            wait_for("a conflict", lambda: "notes/kept" in node.check("conflicts", "notes"))
            node.check("db", "set", "notes", "keep-old-bodies=false")
        self.conflict(a, b, "lost", [{"x": 2}, {"y": 2}])
        for node in (a, b):
            wait_for("a conflict", lambda: "notes/lost" in node.check("conflicts", "notes"))
        for node in (a, b):
            node.check("db", "set", "notes", "merge=three-way")
        for node in (a, b):
            wait_for("why", lambda: "cannot be merged" in node.check("conflicts", "notes"))
            wait_for("the merge", lambda: "notes/kept" not in node.check("conflicts", "notes"))
        await_converged([a, b], "notes")
        for line in a.check("conflicts", "notes", "--json").splitlines():
            row = json.loads(line)
            self.assertEqual(row["id"], "lost")
            self.assertIn("is not kept", row["problem"])
        a.check("conflicts", "resolve", "notes/lost", "--keep", a.document("notes", "lost")["_rev"])
        for node in (a, b):
            wait_for("no conflict", lambda: node.check("conflicts", "notes").startswith("No document"))

    def test_keep_different_ones(self):
        """two people who keep different versions on two machines lose neither: they are in conflict again"""
        a, b = self.start_pair("notes")
        documents = [
            {"_id": "list", "_rev": rev, "_revisions": {"start": 2, "ids": [rev[2:], "aa"]}, "from": rev}
            for rev in ("2-bb", "2-cc")]
        a.call("POST", "/notes/_bulk_docs", {"new_edits": False, "docs": documents})
        await_converged([a, b], "notes")
        b.stop()
        a.check("conflicts", "resolve", "notes/list", "--keep", "2-cc")
        port = a.port
        a.stop()
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{port}")
        b.check("conflicts", "resolve", "notes/list", "--keep", "2-bb")
        a.start("--port", str(port), "--no-discovery")
        await_converged([a, b], "notes")
        for node in (a, b):
            document = node.document("notes", "list", conflicts=True)
            other = node.document("notes", "list", rev=document["_conflicts"][0])
            self.assertEqual(len(document["_conflicts"]), 1)
            self.assertEqual({document["from"], other["from"]}, {"2-bb", "2-cc"})

    def test_refused(self):
        """a setting that is none, or out of range, is refused with its own exit code, and changes nothing"""
        node = self.start_node("anna")
        node.create("notes")
        before = node.check("db", "set", "notes")
        for word, code in [("merge=magic", 19), ("revs-limit=100001", 19), ("revs-limit=0", 64), ("merge", 64),
                           ("keep-old-bodies=maybe", 19), ("color=red", 64)]:
            done = node.run("db", "set", "notes", word)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(node.run("db", "set", "nothing").returncode, 11)
        self.assertEqual(node.check("db", "set", "notes"), before)


if __name__ == "__main__":
    unittest.main()
