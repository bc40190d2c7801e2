"""CouchDB's replication protocol against nodes, played step by step, and what its clients send."""

import base64
import gzip
import hashlib
import json
import os
import unittest

from couchdb_replicator import parts_of, quoted, replicate
from kithtest import NodeTestCase


class Replication(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.anna, self.bert = self.start_node("anna"), self.start_node("bert")
        for node in (self.anna, self.bert):
            node.create("clinic")
        self.a, self.b = (self.anna, "clinic"), (self.bert, "clinic")

    def assertEqualDatabases(self):
        left, right = self.anna.digest("clinic"), self.bert.digest("clinic")
        for digest in (left, right):
            digest.pop("update_seq")
        self.assertEqual(left, right)

    def fill(self):
        """Conflicts, deletions, odd IDs, and attachments that look like anything else."""
        self.anna.call("POST", "/clinic/_bulk_docs", {"new_edits": False, "docs": [
            {"_id": "conflict", "_rev": rev, "_revisions": {"start": 2, "ids": [rev[2:], "aa"]}, "from": rev}
            for rev in ("2-bb", "2-cc")] + [
            {"_id": "conflict", "_rev": "3-dd", "_deleted": True, "_revisions": {"start": 3, "ids": ["dd", "ee", "aa"]}},
            {"_id": "gone", "_rev": "2-bb", "_deleted": True, "_revisions": {"start": 2, "ids": ["bb", "aa"]}}]})
        self.anna.put("clinic", "a/b ? é", {"n": 12345678901234567890})
        self.anna.put("clinic", "_design/views", {"views": {"x": {"map": "function () {}"}}})
        self.binary = os.urandom(300_000) + b"\r\n--boundary--\r\n"
        rev = None
        for name, data in (("x-ray.bin", self.binary), ("dir/ü \"1\".txt", b"\r\n"), ("empty", b"")):
            status, headers, answer = self.anna.exchange(
                "PUT", f"/clinic/patient/{quoted(name)}" + (f"?rev={rev}" if rev else ""), data,
                {"Content-Type": "text/plain"})
            self.assertEqual(status, 201, answer)
            rev = json.loads(answer)["rev"]
            self.assertEqual(headers["ETag"], f'"{rev}"')
        return rev

    def test_both_ways(self):
        """CouchDB's protocol copies conflicts, deletions and attachments both ways, and goes on from its checkpoint"""
        rev = self.fill()
        first = replicate(self.a, self.b)
        self.assertEqual((first.failures, first.read), ([], first.written))
        self.assertEqualDatabases()
        self.assertEqual(self.bert.exchange("GET", "/clinic/patient/x-ray.bin")[2], self.binary)
        again = replicate(self.a, self.b)
        self.assertEqual((again.seen, again.read, again.written), (0, 0, 0))
        # An edit of the text alone: the attachments are only told of, and found in the revision before.
        document = self.bert.document("clinic", "patient")
        document["name"] = "Zoë"
        edited = self.bert.put("clinic", "patient", document, rev)
        self.bert.remove("clinic", "conflict", "2-cc")
        for bulk in (False, True):
            back = replicate(self.b, self.a, bulk=bulk)
            self.assertEqual(back.failures, [])
            self.assertEqualDatabases()
        self.assertEqual(self.anna.document("clinic", "patient")["_rev"], edited)
        # Both sides at once, with attachments within documents.
        self.anna.put("clinic", "new", {"_attachments": {"t": {"data": base64.b64encode(b"text").decode()}}})
        self.bert.put("clinic", "other", {})
        self.assertEqual(replicate(self.a, self.b, bulk=True).failures, [])
        self.assertEqual(replicate(self.b, self.a, bulk=True).failures, [])
        self.assertEqualDatabases()

    def test_one_bad_document(self):
        """a document that cannot be kept is refused alone, and the others are replicated"""
        documents = [{"_id": f"d{n}", "_rev": "1-aa", "n": n} for n in range(5)]
        documents[2]["_attachments"] = {"x": {"stub": True, "digest": "md5-AAECAwQFBgcICQoLDA0ODw==", "revpos": 1}}
        documents[3]["_unknown"] = 1
        documents.append({"_id": "_bad", "_rev": "1-aa"})
        errors = self.anna.call("POST", "/clinic/_bulk_docs", {"new_edits": False, "docs": documents})
        self.assertEqual([(e["id"], e["error"]) for e in errors],
                         [("d2", "missing_stub"), ("d3", "doc_validation"), ("_bad", "illegal_docid")])
        self.assertEqual(self.anna.count("clinic"), 3)

    def test_packed_attachment(self):
        """an attachment that CouchDB sends packed is kept as what it was, under its own digest"""
        text = b"the same line again and again\n" * 1000
        packed = gzip.compress(text)
        told = {"content_type": "text/plain", "revpos": 1, "follows": True, "encoding": "gzip",
                "length": len(text), "encoded_length": len(packed),
                "digest": "md5-" + base64.b64encode(hashlib.md5(packed).digest()).decode()}
        plain = {"content_type": "image/png", "revpos": 1, "follows": True, "length": 4,
                 "digest": "md5-" + base64.b64encode(hashlib.md5(b"abcd").digest()).decode()}
        # Parts in the order of the document, without names, as old versions send them.
        document = json.dumps({"_id": "p", "_rev": "1-aa", "_revisions": {"start": 1, "ids": ["aa"]},
                               "_attachments": {"z.txt": told, "a.png": plain}}).encode()
        body = (b"--bb\r\nContent-Type: application/json\r\n\r\n" + document + b"\r\n--bb\r\n\r\n" + packed
                + b"\r\n--bb\r\n\r\nabcd\r\n--bb--")
        headers = {"Content-Type": "multipart/related; boundary=\"bb\""}
        status, _, answer = self.anna.exchange("PUT", "/clinic/p?new_edits=false", body, headers)
        self.assertEqual(status, 201, answer)
        status, headers_got, data = self.anna.exchange("GET", "/clinic/p/z.txt")
        self.assertEqual((status, data, headers_got["Content-Encoding"]), (200, text, None))
        self.assertEqual(self.anna.exchange("GET", "/clinic/p/a.png")[2], b"abcd")
        # A later revision only tells of it.
        told.update(stub=True)
        del told["follows"]
        errors = self.anna.call("POST", "/clinic/_bulk_docs", {"new_edits": False, "docs": [
            {"_id": "p", "_rev": "2-bb", "_revisions": {"start": 2, "ids": ["bb", "aa"]},
             "_attachments": {"z.txt": told}}]})
        self.assertEqual(errors, [])
        self.assertEqual(self.anna.exchange("GET", "/clinic/p/z.txt")[2], text)
        # What is cut off, or is not what it says, is refused, and the node goes on.
        for broken in (body[:-40], body.replace(packed, packed[:-9]), body.replace(packed, b"no gzip"),
                       body.replace(b"\r\n\r\nabcd", b'\r\nContent-Disposition: attachment; filename="oops"\r\n\r\nabcd'),
                       body.replace(b"abcd\r\n", b"abce\r\n"), body.replace(b"abcd\r\n", b"abcde\r\n"), body.replace(b"\r\n--bb\r\n\r\nabcd", b""),
                       body.replace(b"\r\n--bb--", b"\r\n--bb\r\n\r\nmore\r\n--bb--")):
            status, _, answer = self.anna.exchange("PUT", "/clinic/q?new_edits=false",
                                                   broken.replace(b'"p"', b'"q"'), headers)
            self.assertIn(status, (400, 413), answer)
        self.assertFalse(self.anna.has("clinic", "q"))
        self.assertEqual(replicate(self.a, self.b).failures, [])
        self.assertEqualDatabases()

    def test_open_revisions(self):
        """open_revs, revs_info and the like show what CouchDB shows, as JSON and as parts"""
        rev = self.fill()
        rows = json.loads(self.anna.exchange(
            "GET", "/clinic/conflict?open_revs=all&revs=true", headers={"Accept": "application/json"})[2])
        self.assertEqual([row["ok"]["_rev"] for row in rows], ["2-cc", "2-bb", "3-dd"])
        self.assertEqual(rows[0]["ok"]["_revisions"], {"start": 2, "ids": ["cc", "aa"]})
        rows = json.loads(self.anna.exchange(
            "GET", "/clinic/conflict?latest=true&open_revs=" + quoted('["2-ee","9-aa"]'),
            headers={"Accept": "application/json"})[2])
        self.assertEqual([row.get("missing") or row["ok"]["_rev"] for row in rows], ["3-dd", "9-aa"])
        shown = self.anna.get("/clinic/conflict?meta=true&local_seq=true")
        self.assertEqual((shown["_conflicts"], shown["_deleted_conflicts"]), (["2-bb"], ["3-dd"]))
        self.assertEqual(shown["_revs_info"], [{"rev": "2-cc", "status": "available"},
                                               {"rev": "1-aa", "status": "missing"}])
        self.assertIsInstance(shown["_local_seq"], int)
        # Of ancestors only those are told that can be read.
        told = self.anna.call("POST", "/clinic/_revs_diff", {"conflict": ["4-ff", "x", "2-bb"], "_x": [], "_y": ["1-a"]})
        self.assertEqual(told["conflict"]["missing"], ["4-ff", "x"])
        self.assertEqual(sorted(told["conflict"]["possible_ancestors"]), ["2-bb", "2-cc", "3-dd"])
        self.assertEqual(told["_y"], {"missing": ["1-a"]})
        self.assertEqual(set(told), {"conflict", "_y"})
        inline = json.loads(self.anna.exchange(
            "GET", "/clinic/patient?attachments=true", headers={"Accept": "application/json"})[2])
        self.assertEqual(base64.b64decode(inline["_attachments"]["x-ray.bin"]["data"]), self.binary)
        status, headers, data = self.anna.exchange(
            "GET", "/clinic/patient?attachments=true", headers={"Accept": "multipart/related"})
        parts = parts_of(data, headers["Content-Type"])
        follows = list(json.loads(parts[0][1])["_attachments"])
        self.assertEqual(len(data), int(headers["Content-Length"]))
        self.assertEqual(parts[1 + follows.index("x-ray.bin")][1], self.binary)
        since = json.loads(self.anna.exchange(
            "GET", "/clinic/patient?attachments=true&atts_since=" + quoted(json.dumps([rev])),
            headers={"Accept": "application/json"})[2])
        self.assertTrue(all(entry["stub"] for entry in since["_attachments"].values()))
        found = self.anna.call("POST", "/clinic/_bulk_get?revs=true", {"docs": [
            {"id": "conflict"}, {"id": "gone", "rev": "2-bb"}, {"id": "nowhere"}, {"id": "gone", "rev": "x"}]})
        self.assertEqual([[item.get("ok", {}).get("_rev") or item["error"]["error"] for item in row["docs"]]
                          for row in found["results"]],
                         [["2-cc", "2-bb", "3-dd"], ["2-bb"], ["not_found"], ["bad_request"]])
        # What was read with all that is told of it can be written.
        self.assertEqual(self.anna.put("clinic", "conflict", dict(shown, more=1))[:2], "3-")


if __name__ == "__main__":
    unittest.main()
