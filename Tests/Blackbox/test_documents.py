"""Documents over REST and at the command line: attachments, expiry, and ending a conflict."""

import base64
import json
import unittest

from kithtest import NodeTestCase, RestError, wait_for


class Documents(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("clinic")

    def refusal(self, *arguments):
        with self.assertRaises(RestError) as caught:
            self.node.call(*arguments)
        return caught.exception.status

    def test_attachments(self):
        """attachments come within the document, are kept through edits as stubs, and go when they are left out"""
        data = base64.b64encode(b"x-ray of a hand").decode()
        first = self.node.put(
            "clinic", "patient:1",
            {"name": "Zoë", "_attachments": {"hand.txt": {"content_type": "text/plain", "data": data}}})
        document = self.node.document("clinic", "patient:1")
        stub = document["_attachments"]["hand.txt"]
        self.assertEqual(
            stub, {"content_type": "text/plain", "digest": "sha1-" + self.sha1(b"x-ray of a hand"), "length": 15,
                   "revpos": 1, "stub": True})
        # As a client edits: what it read, with another name.
        document["name"] = "Zoe"
        second = self.node.put("clinic", "patient:1", document, first)
        self.assertEqual(self.node.document("clinic", "patient:1")["_attachments"]["hand.txt"], stub)
        third = self.node.put("clinic", "patient:1", {"name": "Zoe"}, second)
        self.assertNotIn("_attachments", self.node.document("clinic", "patient:1"))
        # The bytes went with the last revision that had them.
        wait_for("the bytes to be removed", lambda: self.refusal(
            "PUT", f"/clinic/patient:1?rev={third}", {"_attachments": {"hand.txt": stub}}) == 412)
        self.node.stop()

    def test_bad_attachments(self):
        """a stub without bytes, a wrong digest and a bad name are refused by document; the others are stored"""
        good = base64.b64encode(b"good").decode()
        rows = self.node.call("POST", "/clinic/_bulk_docs", {"docs": [
            {"_id": "a", "_attachments": {"x": {"data": good}}},
            {"_id": "b", "_attachments": {"x": {"stub": True}}},
            {"_id": "c", "_attachments": {"x": {"data": good, "digest": "sha1-" + self.sha1(b"other")}}},
            {"_id": "d", "_attachments": {"_x": {"data": good}}},
            {"_id": "e", "_attachments": {"x": {"data": "not base64!"}}},
            {"_id": "f", "n": 1},
        ]})
        self.assertEqual([row.get("error") for row in rows],
                         [None, "missing_stub", "bad_request", "bad_request", "doc_validation", None])
        self.assertEqual(self.node.count("clinic"), 2)

    def test_expiry(self):
        """a document with _exp goes away by itself at its time, also when the node was off then"""
        self.node.put("clinic", "gone at once", {"n": 1, "_exp": 1_000_000_000})
        self.node.put("clinic", "goes soon", {"n": 1, "_exp": 2})
        self.node.put("clinic", "goes later", {"n": 1, "_exp": 3600})
        self.node.put("clinic", "stays", {"n": 1})
        wait_for("the first to go", lambda: not self.node.has("clinic", "gone at once"))
        self.node.stop()
        self.node.start("--no-discovery", "--port", "0")
        wait_for("the second to go", lambda: not self.node.has("clinic", "goes soon"))
        self.assertTrue(self.node.has("clinic", "goes later") and self.node.has("clinic", "stays"))
        self.assertEqual(self.refusal("PUT", "/clinic/x", {"_exp": "tomorrow"}), 400)

    def conflict(self, name):
        """A document with three leaves; their revisions, the winner first."""
        self.node.call("POST", "/clinic/_bulk_docs", {"new_edits": False, "docs": [
            {"_id": name, "_rev": rev, "_revisions": {"start": 2, "ids": [rev[2:], "aa"]}, "from": rev}
            for rev in ("2-bb", "2-cc", "2-dd")]})
        return ["2-dd", "2-cc", "2-bb"]

    def test_keep_one(self):
        """conflicts resolve --keep ends a conflict in favour of one version"""
        self.conflict("patient:1")
        shown = self.node.check("conflicts", "show", "clinic/patient:1")
        self.assertIn("kith conflicts resolve clinic/patient:1 --keep", shown)
        self.assertRefused(
            self.node.run("conflicts", "resolve", "clinic/patient:1", "--keep", "2-"), 19, "2-bb", "2-cc")
        self.assertRefused(self.node.run("conflicts", "resolve", "clinic/patient:1", "--keep", "9-aa"), 10, "2-bb")
        self.assertRefused(self.node.run("conflicts", "resolve", "clinic/patient:1"), 64)
        said = self.node.check("conflicts", "resolve", "clinic/patient:1", "--keep", "2-c")
        document = self.node.document("clinic", "patient:1", conflicts=True)
        # A child of the winner, with a mark in between for each of the two others.
        self.assertIn(document["_rev"], said)
        self.assertEqual((document["_rev"][:2], document["from"], document.get("_conflicts")), ("5-", "2-cc", None))
        self.assertRefused(
            self.node.run("conflicts", "resolve", "clinic/patient:1", "--keep", "2-cc"), 12, "not in conflict")
        self.conflict("patient:4")
        self.node.check("conflicts", "resolve", "clinic/patient:4", "--keep", "2-dd")
        document = self.node.document("clinic", "patient:4", conflicts=True)
        self.assertEqual((document["_rev"][:2], document["from"], document.get("_conflicts")), ("5-", "2-dd", None))

    def test_collections(self):
        """documents and conflicts of named collections are counted and listed like the others"""
        self.assertEqual(self.node.request("PUT", "/clinic.wards.beds")[0], 201)
        before = self.node.count("clinic")
        self.node.call("POST", "/clinic.wards.beds/_bulk_docs", {"new_edits": False, "docs": [
            {"_id": "bed:1", "_rev": rev, "from": rev} for rev in ("1-bb", "1-cc")]})
        self.assertIn("clinic.wards.beds/bed:1", self.node.check("conflicts"))
        self.assertIn("clinic.wards.beds/bed:1", self.node.check("conflicts", "clinic"))
        self.assertRegex(self.node.check("db", "list"), r"clinic.wards.beds +1 document +1 in conflict")
        status = self.node.status()
        self.assertEqual([(d["documents"], d["conflicts"]) for d in status["databases"]], [(before + 1, 1)])
        self.assertIn(("clinic.wards.beds", "bed:1"), [(c["database"], c["id"]) for c in status["conflicts"]])
        # One that is not there is said so, also to who wants to follow it.
        for feed in ("normal", "longpoll", "continuous"):
            self.assertEqual(self.refusal("GET", f"/clinic.none/_changes?feed={feed}"), 404)
        self.node.check("conflicts", "resolve", "clinic.wards.beds/bed:1", "--keep", "1-cc")
        self.assertEqual(self.node.check("conflicts"), "No document is in conflict.\n")

    def test_merge(self):
        """conflicts resolve --file writes a merged version, and nothing is written when it is no document"""
        self.conflict("patient:2")
        self.assertRefused(
            self.node.run("conflicts", "resolve", "clinic", "patient:2", "-f", "-", stdin='{"_bad": 1}'), 14, "_bad")
        self.assertEqual(len(self.node.document("clinic", "patient:2", conflicts=True)["_conflicts"]), 2)
        answer = json.loads(self.node.check(
            "conflicts", "resolve", "clinic", "patient:2", "-f", "-", "--json", stdin='{"from": "all"}'))
        document = self.node.document("clinic", "patient:2", conflicts=True)
        self.assertEqual((document["_rev"], document["from"], document.get("_conflicts")), (answer["rev"], "all", None))
        # A child of 2-…, with a mark in between for each of the two others that were merged.
        self.assertTrue(answer["rev"].startswith("5-"))

    def test_late_version(self):
        """a version that came in between stays in conflict, and one that is gone stops the resolution"""
        self.conflict("patient:3")
        self.node.call("POST", "/clinic/_conflicts", {"id": "patient:3", "keep": "2-dd", "drop": ["2-bb"]})
        self.assertEqual(self.node.document("clinic", "patient:3", conflicts=True)["_conflicts"], ["2-cc"])
        self.assertEqual(self.refusal(
            "POST", "/clinic/_conflicts", {"id": "patient:3", "keep": "2-dd", "drop": ["2-cc", "2-bb"]}), 409)
        self.assertEqual(self.refusal("POST", "/clinic/_conflicts", {"id": "patient:3", "keep": "2-dd"}), 400)

    @staticmethod
    def sha1(data):
        import hashlib
        return base64.b64encode(hashlib.sha1(data).digest()).decode()


if __name__ == "__main__":
    unittest.main()
