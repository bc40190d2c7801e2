"""REST in CouchDB's dialect: for each endpoint the status, the headers and the error for right and wrong input."""

import base64
import hashlib
import http.client
import json
import os
import socket
import threading
import unittest

from couchdb_replicator import quoted
from kithtest import NodeTestCase, UnixConnection

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

# Method, path, body, status, error; where `R` stands in a path, the current revision of /db/doc.
TABLE = """
GET / - 200
POST / {} 405 method_not_allowed
GET /_up - 200
GET /_all_dbs?limit=1 - 200
GET /_all_dbs?limit=x - 400 bad_request
GET /_uuids?count=3 - 200
GET /_uuids?count=-1 - 400 bad_request
GET /_uuids?count=1001 - 400 bad_request
GET /_session - 200
POST /_session {"name":null} 200
POST /_session {"name":"ann","password":"x"} 401 unauthorized
GET /_active_tasks - 200
GET /_membership - 200
GET /_scheduler/jobs - 200
GET /_node/_local/_config - 501 not_implemented
POST /_dbs_info {"keys":["db","none"]} 200
POST /_dbs_info {} 400 bad_request
POST /_replicate {} 400 bad_request
GET /_replicator/x - 404 not_found
GET /_nothing - 400 illegal_database_name
PUT /Clinic - 400 illegal_database_name
PUT /db - 412 file_exists
HEAD /db - 200
HEAD /none - 404
GET /none - 404 not_found
DELETE /none - 404 not_found
DELETE /db?rev=1-a - 400 bad_request
PATCH /db - 405 method_not_allowed
POST /db {"a":1} 201
POST /db [1] 400 bad_request
POST /db {"_foo":1} 400 doc_validation
POST /none {"a":1} 404 not_found
GET /db/doc - 200
HEAD /db/doc - 200
GET /db/none - 404 not_found
GET /db/doc?rev=9-aa - 404 not_found
GET /db/doc?rev=x - 400 bad_request
GET /db/doc?revs=maybe - 400 bad_request
GET /db/doc?open_revs=x - 400 bad_request
GET /db/none?open_revs=all - 404 not_found
GET /db/doc?atts_since=5 - 400 bad_request
PUT /db/doc {"a":2} 409 conflict
PUT /db/doc?rev=9-aa {"a":2} 409 conflict
PUT /db/doc {"_id":"other"} 409 conflict
PUT /db/x {"a":1e400} 400 bad_request
PUT /db/x {"_unknown":1} 400 doc_validation
PUT /db/x {"_rev":"x"} 400 bad_request
PUT /db/x {"_rev":"1-aa"} 409 conflict
PUT /db/_x {} 400 illegal_docid
PUT /db/a%00b {} 400 illegal_docid
GET /db/_all_docs_not - 400 illegal_docid
PUT /db/x?new_edits=false {"a":1} 400 bad_request
PUT /db/batch?batch=ok {} 202
PUT /db/told {"_conflicts":["1-aa"],"_deleted_conflicts":[],"_revs_info":[],"_local_seq":1} 201
DELETE /db/doc - 409 conflict
DELETE /db/doc?rev=9-aa - 409 conflict
DELETE /db/none?rev=1-aa - 404 not_found
COPY /db/doc - 400 bad_request
GET /db/doc/none - 404 not_found
GET /db/none/none - 404 not_found
PUT /db/doc/_x text 400 bad_request
PUT /db/doc/x text 409 conflict
DELETE /db/doc/none?rev=R - 404 not_found
PUT /db/_design/d {"views":{}} 201
GET /db/_design/d - 200
GET /db/_design%2Fd - 200
GET /db/_design/d/_view/x - 501 not_implemented
GET /db/_design_docs - 200
PUT /db/_local/x {"a":1} 201
PUT /db/_local/x {"a":1} 409 conflict
PUT /db/_local/x {"_rev":"0-2"} 409 conflict
PUT /db/_local/x {"_rev":"0-1"} 201
PUT /db/_local/x {"_rev":"x"} 400 bad_request
PUT /db/_local/y {"_foo":1} 400 doc_validation
GET /db/_local/x - 200
GET /db/_local/y - 404 not_found
DELETE /db/_local/x?rev=0-1 - 409 conflict
DELETE /db/_local/x?rev=0-2 - 200
DELETE /db/_local/x?rev=0-2 - 404 not_found
GET /db/_local_docs?include_docs=true - 200
POST /db/_bulk_docs {"docs":[]} 201
POST /db/_bulk_docs {} 400 bad_request
POST /db/_bulk_docs {"docs":1} 400 bad_request
POST /db/_bulk_docs {"docs":[ 400 bad_request
POST /db/_bulk_docs {"docs":[],"new_edits":1} 400 bad_request
GET /db/_bulk_docs - 405 method_not_allowed
POST /db/_bulk_get {"docs":[{"id":"doc"}]} 200
POST /db/_bulk_get {} 400 bad_request
POST /db/_bulk_get {"docs":[{}]} 400 bad_request
POST /db/_revs_diff {"doc":["1-aa"]} 200
POST /db/_revs_diff {"doc":1} 400 bad_request
POST /db/_missing_revs {"doc":["1-aa"]} 200
POST /db/_all_docs {"keys":["doc"]} 200
POST /db/_all_docs {"keys":1} 400 bad_request
GET /db/_all_docs?limit=-1 - 400 bad_request
GET /db/_all_docs?descending=x - 400 bad_request
GET /db/_changes?since=abc - 400 bad_request
GET /db/_changes?since=-1 - 400 bad_request
GET /db/_changes?since=1.5 - 400 bad_request
GET /db/_changes?limit=-1 - 400 bad_request
GET /db/_changes?limit=abc - 400 bad_request
GET /db/_changes?heartbeat=0 - 400 bad_request
GET /db/_changes?feed=x - 400 bad_request
GET /db/_changes?feed=continuous&descending=true - 400 bad_request
GET /db/_changes?feed=eventsource&descending=true - 400 bad_request
GET /db/_changes?filter=app/mine - 501 not_implemented
GET /db/_changes?last-event-id=x - 400 bad_request
GET /db/_changes?last-event-id=1 - 200
PUT /db/other {"_id":"another"} 201
GET /db/_changes?filter=_doc_ids - 400 bad_request
GET /db/_changes?filter=_doc_ids&doc_ids=["doc"] - 200
POST /db/_changes?filter=_selector {"selector":{"a":1}} 200
POST /db/_changes?filter=_selector {"selector":{"$x":1}} 400 bad_request
POST /db/_find {"selector":{"a":{"$gt":0}}} 200
POST /db/_find {} 400 missing_required_key
POST /db/_find {"selector":1} 400 bad_request
POST /db/_find {"selector":{"a":{"$regex":"x"}}} 501 not_implemented
POST /db/_find {"selector":{},"limit":-1} 400 bad_request
POST /db/_find {"selector":{},"bookmark":"x"} 400 invalid_bookmark
POST /db/_find {"selector":{},"bookmark":"n1"} 400 invalid_bookmark
POST /db/_find {"selector":{},"sort":["a"],"bookmark":"i61"} 400 invalid_bookmark
POST /db/_find {"selector":{},"sort":["_id"],"skip":9223372036854775807,"bookmark":"n9223372036854775807"} 200
POST /db/_find {"selector":{},"skip":9223372036854775807,"limit":9223372036854775807} 200
POST /db/_explain {"selector":{}} 200
GET /db/_index - 200
POST /db/_index {"index":{"fields":["a"]}} 200
POST /db/_index {"index":{"fields":["a"]},"ddoc":"by-a","name":"a"} 200
POST /db/_index {"index":{"fields":[]}} 400 bad_request
POST /db/_index {"index":{"fields":[1]}} 400 bad_request
POST /db/_index {"index":{"fields":["a"]},"type":"text"} 501 not_implemented
DELETE /db/_index/_design/by-a/json/b - 404 not_found
DELETE /db/_index/_design/by-a/json/a - 200
DELETE /db/_index/_design/by-a/json/a - 404 not_found
GET /_kith/users - 200
PUT /_kith/users/ann {"roles":["staff"]} 400 bad_request
PUT /_kith/users/ann {"password":"short"} 400 bad_request
PUT /_kith/users/a:b {"password":"correct horse"} 400 bad_request
PUT /_kith/users/ann {"password":"correct horse","role":"x"} 400 bad_request
PUT /_kith/users/ann {"password":"correct horse","roles":["staff"]} 201
PUT /_kith/users/ann {"disabled":true} 200
GET /_kith/users/ann - 200
DELETE /_kith/users/ann - 200
DELETE /_kith/users/ann - 404 not_found
GET /db/_revs_limit - 200
PUT /db/_revs_limit 500 200
PUT /db/_revs_limit "x" 400 bad_request
PUT /db/_revs_limit 0 400 bad_request
GET /db/_security - 200
PUT /db/_security {"members":{"names":[1]}} 400 bad_request
PUT /db/_security {"members":{"names":["ann"]}} 200
POST /db/_purge {"none":["1-aa"]} 201
POST /db/_purge {"doc":1} 400 bad_request
POST /db/_ensure_full_commit {} 201
POST /db/_compact {} 202
POST /db/_view_cleanup {} 202
GET /db/_shards - 501 not_implemented
"""


class Rest(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("db")
        self.rev = self.node.put("db", "doc", {"a": 1})

    def ask(self, method, path, body=None, **headers):
        return self.node.exchange(method, path, body, {name.replace("_", "-"): v for name, v in headers.items()})

    def json(self, method, path, body=None, **headers):
        return json.loads(self.ask(method, path, body, **headers)[2])

    def rows(self, query="", body=None):
        found = self.json("POST" if body else "GET", "/db/_all_docs" + query, body)
        return [row.get("id") or row["error"] for row in found["rows"]]

    def test_table(self):
        """every endpoint answers right and wrong input as CouchDB does, and the node goes on"""
        for line in TABLE.strip().splitlines():
            method, path, rest = line.split(" ", 2)
            words = rest.rsplit(" ", 2)
            known = words[-1] if not words[-1].isdigit() else None
            body, status = (words[0], words[1]) if known else rest.rsplit(" ", 1)
            path = quoted_query(path.replace("=R", f"={self.rev}"))
            with self.subTest(line):
                got, headers, data = self.ask(method, path, None if body == "-" else body)
                self.assertEqual(got, int(status), data[:200])
                self.assertEqual(headers["Content-Type"], "application/json")
                if known:
                    answer = json.loads(data)
                    self.assertEqual(answer["error"], known, answer)
                    self.assertIsInstance(answer["reason"], str)
                if got == 405:
                    self.assertIn("GET" if method != "GET" else "POST", headers["Allow"])
        # What would cost too much is refused.
        many = list(range(10_001))
        for path, body in (
                ("_find", {"selector": {"a": {"$in": many}}}), ("_find", {"selector": {"a": {"$all": many}}}),
                ("_find", {"selector": {"." * 10_000: 1}}), ("_find", {"selector": {}, "sort": ["a"] * 33}),
                ("_find", {"selector": {}, "fields": ["a.b"] * 5_001}),
                ("_changes?filter=_doc_ids", {"doc_ids": ["x"] * 10_001})):
            got, _, data = self.ask("POST", f"/db/{path}", body)
            self.assertEqual((got, json.loads(data)["error"]), (400, "bad_request"), data)
        for path in ("/db", "/db/_bulk_docs", "/db/_revs_diff", "/db/_find"):
            got, _, data = self.node.exchange("POST", path, b"{}", FORM)
            self.assertEqual((got, json.loads(data)["error"]), (415, "bad_content_type"))
        self.assertEqual(self.node.document("db", "doc")["_rev"], self.rev)
        welcome = self.node.get("/")
        self.assertEqual(welcome["couchdb"], "Welcome")
        self.assertGreaterEqual(tuple(map(int, welcome["version"].split("."))), (3, 0, 0))
        self.assertEqual(len(self.node.get("/_uuids?count=3")["uuids"]), 3)
        self.assertEqual(self.node.get("/db/_security")["members"], {"names": ["ann"]})
        self.assertEqual(self.node.get("/db/_revs_limit"), 500)

    def test_document_headers(self):
        """ETag, If-Match, If-None-Match, Location, COPY and HEAD are those of HTTP"""
        status, headers, _ = self.ask("PUT", "/db/a%2Fb", {"n": 1})
        tag = headers["ETag"]
        self.assertEqual((status, headers["Location"]), (201, "http://localhost/db/a%2Fb"))
        self.assertEqual(self.ask("GET", "/db/a%2Fb", If_None_Match=tag)[0], 304)
        self.assertEqual(self.ask("GET", "/db/a%2Fb", If_None_Match='"1-aa"')[0], 200)
        status, headers, data = self.ask("HEAD", "/db/a%2Fb")
        self.assertEqual((status, headers["ETag"], data), (200, tag, b""))
        self.assertEqual(int(headers["Content-Length"]), len(self.ask("GET", "/db/a%2Fb")[2]))
        self.assertEqual(self.ask("PUT", "/db/a%2Fb", {"n": 2}, If_Match='"1-aa"')[0], 409)
        self.assertEqual(self.ask("PUT", "/db/a%2Fb?rev=1-aa", {"n": 2}, If_Match=tag)[0], 400)
        second = self.ask("PUT", "/db/a%2Fb", {"n": 2}, If_Match=tag)[1]["ETag"]
        self.assertEqual(self.ask("COPY", "/db/a%2Fb", Destination="copy")[0], 201)
        self.assertEqual(self.ask("COPY", "/db/a%2Fb", Destination="copy")[0], 409)
        rev = self.node.document("db", "copy")["_rev"]
        self.assertEqual(self.ask("COPY", "/db/a%2Fb", Destination=f"copy?rev={rev}")[0], 201)
        self.assertEqual(self.node.document("db", "copy")["n"], 2)
        self.assertEqual(self.ask("COPY", "/db/a%2Fb", Destination="http://localhost/db/z")[0], 400)
        self.assertEqual(self.ask("PUT", "/db/copy/x?rev=" + self.node.document("db", "copy")["_rev"], b"x")[0], 201)
        self.assertEqual(self.ask("COPY", "/db/copy", Destination="user:1")[0], 201)
        self.assertEqual(self.node.document("db", "user:1")["_attachments"]["x"]["revpos"], 1)
        self.assertEqual(self.ask("DELETE", "/db/a%2Fb", If_Match=second)[0], 200)
        status, _, data = self.ask("GET", "/db/a%2Fb")
        self.assertEqual((status, json.loads(data)["reason"]), (404, "deleted"))
        self.assertEqual(json.loads(self.ask("DELETE", "/db/a%2Fb")[2])["reason"], "deleted")

    def test_attachments(self):
        """attachments are streamed both ways, have ranges and tags, and go with DELETE"""
        data = os.urandom(3_000_000)
        digest = "sha1-" + base64.b64encode(hashlib.sha1(data).digest()).decode()
        rev = json.loads(self.ask("PUT", f"/db/doc/dir/big.bin?rev={self.rev}", data, Content_Type="image/png")[2])["rev"]
        status, headers, got = self.ask("GET", "/db/doc/dir%2Fbig.bin")
        self.assertEqual((status, headers["Content-Type"], headers["ETag"], got), (200, "image/png", f'"{digest}"', data))
        for wanted, part in (("bytes=5-9", data[5:10]), ("bytes=2999990-", data[-10:]), ("bytes=-7", data[-7:]),
                             ("bytes=0-9999999", data)):
            status, headers, got = self.ask("GET", "/db/doc/dir/big.bin", Range=wanted)
            self.assertEqual((status, got == part), (206, True), wanted)
            self.assertRegex(headers["Content-Range"], r"^bytes \d+-\d+/3000000$")
        self.assertEqual(self.ask("GET", "/db/doc/dir/big.bin", Range="bytes=3000000-")[0], 416)
        self.assertEqual(self.ask("GET", "/db/doc/dir/big.bin", If_None_Match=f'"{digest}"')[0], 304)
        status, headers, got = self.ask("HEAD", "/db/doc/dir/big.bin")
        self.assertEqual((status, headers["Content-Length"], got), (200, "3000000", b""))
        self.assertEqual(self.node.document("db", "doc")["a"], 1)
        self.assertEqual(self.ask("DELETE", f"/db/doc/dir/big.bin?rev={rev}")[0], 200)
        self.assertEqual(self.ask("GET", "/db/doc/dir/big.bin")[0], 404)
        # A connection on which an upload was refused goes on, and one that breaks off leaves nothing.
        connection = UnixConnection(self.node.socket_path)
        for _ in range(2):
            connection.request("PUT", "/db/doc/x?rev=1-aa", data)
            answer = connection.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["error"]), (409, "conflict"))
        connection.putrequest("PUT", "/db/cut/x")
        connection.putheader("Content-Length", "5000000")
        connection.endheaders(data)
        connection.close()
        # Who says that nothing more comes still gets an answer, by what came.
        for count, status in ((len(data), b"201"), (len(data) - 1, b"400")):
            half = UnixConnection(self.node.socket_path)
            half.connect()
            half.sock.sendall(b"PUT /db/half%d/x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                              % (count, len(data)))
            half.sock.sendall(data[:count])
            half.sock.shutdown(socket.SHUT_WR)
            with half.sock.makefile("rb") as answer:
                self.assertEqual(answer.readline().split()[1], status)
            half.close()
            self.assertEqual(self.node.has("db", f"half{count}"), status == b"201")
        self.assertFalse(self.node.has("db", "cut"))
        for body, status in ((b"as sent", 201), (b"as semt", 400)):
            told = base64.b64encode(hashlib.md5(b"as sent").digest()).decode()
            self.assertEqual(self.ask("PUT", f"/db/told-{status}/x", body, Content_MD5=told)[0], status)
        self.assertFalse(self.node.has("db", "told-400"))
        # Bytes beside an encoding that they are no longer in, as CouchDB tells both.
        self.node.put("db", "inline", {"_attachments": {
            "a": {"data": base64.b64encode(b"plain").decode(), "encoding": "gzip", "digest": "md5-x"}}})
        _, headers, got = self.ask("GET", "/db/inline/a")
        self.assertEqual((headers["Content-Encoding"], got), (None, b"plain"))
        # A document may be so large without what is told beside it, such as attachments.
        for name, status in (("text", 413), ("_conflicts", 201)):
            self.assertEqual(self.ask("PUT", "/db/large", {name: "x" * (20 << 20)})[0], status)

    def test_lists(self):
        """_all_docs has ranges, keys, order and pages, and _find what a selector describes"""
        self.node.load("db", [{"_id": f"n{n}", "n": n, "tags": ["a", "b"][:n % 3], "in": {"x": n % 2}} for n in range(9)])
        self.node.remove("db", "n8", self.node.document("db", "n8")["_rev"])
        for query, wanted in (
                ('?startkey="n2"&endkey="n4"', "n2 n3 n4"), ('?startkey="n2"&endkey="n4"&inclusive_end=false', "n2 n3"),
                ('?startkey="n4"&endkey="n2"&descending=true', "n4 n3 n2"), ('?key="n3"', "n3"), ("?key=3", ""),
                ('?skip=1&limit=2', "n0 n1"), ('?startkey={}', ""), ('?endkey=5', ""), ('?startkey="n7"', "n7"),
                ('?keys=["n5","x","n1"]', "n5 not_found n1"), ('?limit=0', ""), ('?descending=true&limit=2', "n7 n6")):
            with self.subTest(query):
                self.assertEqual(self.rows(quoted_query(query)), wanted.split())
        gone = self.json("POST", "/db/_all_docs?include_docs=true", {"keys": ["n8"]})["rows"][0]
        self.assertEqual((gone["value"]["deleted"], gone["doc"]), (True, None))
        self.assertEqual(self.rows(body={"startkey": "n6", "limit": 2}), ["n6", "n7"])
        self.assertIn("update_seq", self.json("GET", "/db/_all_docs?update_seq=true&limit=1"))
        for selector, wanted in (
                ({"n": 3}, "3"), ({"n": {"$gte": 2, "$lt": 4}}, "2 3"), ({"n": {"$in": [1, 7]}}, "1 7"),
                ({"in.x": 1, "n": {"$ne": 3}}, "1 5 7"), ({"in": {"x": 0}, "n": {"$gt": 4}}, "6"),
                ({"$or": [{"n": 0}, {"n": 5}]}, "0 5"), ({"$not": {"n": {"$lt": 6}}}, "6 7"),
                ({"$nor": [{"n": {"$lt": 5}}, {"n": 6}]}, "5 7"), ({"tags": {"$all": ["a", "b"]}}, "2 5"),
                ({"tags": {"$size": 1}}, "1 4 7"), ({"tags": {"$elemMatch": {"$eq": "b"}}}, "2 5"),
                ({"tags": {"$allMatch": {"$lt": "b"}}}, "1 4 7"), ({"n": {"$mod": [4, 1]}}, "1 5"),
                ({"none": {"$exists": False}, "_id": {"$beginsWith": "n"}, "n": {"$lt": 2}}, "0 1"),
                ({"n": {"$type": "string"}}, ""), ({"in": {"$keyMapMatch": {"$eq": "y"}}}, "")):
            with self.subTest(selector):
                found = self.json("POST", "/db/_find", {"selector": selector, "fields": ["n"]})
                self.assertEqual([row["n"] for row in found["docs"]], [int(n) for n in wanted.split()])
                self.assertIn("every document", found["warning"])
        bookmark, seen = None, []
        for sort in ([], [{"in.x": "desc"}, {"n": "desc"}]):
            bookmark, seen = None, []
            while True:
                found = self.json("POST", "/db/_find", {
                    "selector": {"n": {"$gt": 0}}, "limit": 3, "sort": sort, "bookmark": bookmark})
                if not found["docs"]:
                    break
                seen += [row["n"] for row in found["docs"]]
                bookmark = found["bookmark"]
            self.assertEqual(seen, [7, 5, 3, 1, 6, 4, 2] if sort else [1, 2, 3, 4, 5, 6, 7])
        for fields in (["tags", "tags.0.x", "tags.0"], ["tags.0.x", "tags"]):
            found = self.json("POST", "/db/_find", {"selector": {"n": 2}, "fields": fields})
            self.assertEqual(found["docs"], [{"tags": ["a", "b"]}])
        self.node.put("db", "_design/d", {})
        for query in ('?endkey="zzz"', '?startkey="A"', '?descending=true&startkey="zzz"'):
            listed = self.node.get("/db/_design_docs" + quoted_query(query))["rows"]
            self.assertEqual([row["id"] for row in listed], ["_design/d"])

    def test_changes(self):
        """each feed of changes gives what was asked for, and its positions can be handed back"""
        self.node.load("db", [{"_id": f"n{n}", "n": n} for n in range(5)])
        last = self.node.get("/db")["update_seq"]
        feed = self.node.get("/db/_changes?include_docs=true&limit=2")
        self.assertEqual((len(feed["results"]), feed["pending"]), (2, 4))
        self.assertEqual(feed["results"][0]["doc"]["_id"], "doc")
        rest = self.node.get(f'/db/_changes?since={quoted(json.dumps(feed["last_seq"]))}')
        self.assertEqual([row["id"] for row in rest["results"]], ["n1", "n2", "n3", "n4"])
        beyond = self.node.get(f"/db/_changes?since={last + 1000}")
        self.assertEqual((beyond["results"], beyond["last_seq"]), ([], last))
        newest = self.node.get("/db/_changes?descending=true&limit=2")["results"]
        self.assertEqual([row["id"] for row in newest], ["n4", "n3"])
        some = self.json("POST", "/db/_changes?filter=_doc_ids", {"doc_ids": ["n3", "n3", "nope"]})
        self.assertEqual([row["id"] for row in some["results"]], ["n3"])
        some = self.json("POST", "/db/_changes?filter=_selector", {"selector": {"n": {"$gt": 2}}})
        self.assertEqual([row["id"] for row in some["results"]], ["n3", "n4"])
        idle = self.node.get("/db/_changes?feed=longpoll&since=now&timeout=1")
        self.assertEqual((idle["results"], idle["last_seq"]), ([], last))
        # Three wait: what is written after they have begun wakes each of them.
        feeds = []
        for query in ("feed=longpoll&heartbeat=50", "feed=continuous&heartbeat=50", "feed=eventsource&heartbeat=50"):
            connection = UnixConnection(self.node.socket_path)
            connection.request("GET", f"/db/_changes?since={last}&{query}")
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            feeds.append((connection, answer))
        self.assertEqual(feeds[0][1].readline(), b'{"results":[\n')
        self.assertEqual(feeds[0][1].readline(), b"\n")  # a sign of life
        self.assertEqual(feeds[2][1].headers["Content-Type"], "text/event-stream")
        self.node.put("db", "woken", {})
        self.assertEqual(json.loads(b'{"results":[' + feeds[0][1].read())["results"][0]["id"], "woken")
        line = b""
        while not line.strip():
            line = feeds[1][1].readline()
        self.assertEqual(json.loads(line)["id"], "woken")
        while not line.startswith(b"data: {"):
            line = feeds[2][1].readline()
        self.assertEqual(json.loads(line[6:])["id"], "woken")
        # A feed that leaves all out gives a sign of life also while others write.
        connection = UnixConnection(self.node.socket_path)
        connection.request("GET", "/db/_changes?feed=continuous&heartbeat=400&filter=_doc_ids&doc_ids="
                           + quoted('["nope"]'))
        answer = connection.getresponse()
        lines = []
        beats = threading.Thread(target=lambda: lines.append(answer.readline()))
        beats.start()
        while beats.is_alive():
            self.node.put("db", "busy", {"_rev": self.node.document("db", "busy")["_rev"]}
                          if self.node.has("db", "busy") else {})
        beats.join()
        self.assertEqual(lines, [b"\n"])
        for connection, _ in feeds + [(connection, answer)]:
            connection.close()

    def test_no_change_is_missed(self):
        """a reader that hands each position back sees every document that is written meanwhile"""
        written = threading.Thread(target=lambda: [self.node.put("db", f"w{n}", {"n": n}) for n in range(60)])
        written.start()
        seen, since = set(), 0
        while written.is_alive() or since < self.node.get("/db")["update_seq"]:
            feed = self.node.get(f"/db/_changes?feed=longpoll&timeout=50&limit=7&since={since}")
            self.assertGreaterEqual(feed["last_seq"], since)
            since = feed["last_seq"]
            seen.update(row["id"] for row in feed["results"])
        written.join()
        self.assertEqual(seen, {"doc"} | {f"w{n}" for n in range(60)})

    def test_odd_names(self):
        """every ID and attachment name comes back as it was, from its document, the lists and the feed"""
        names = ["a/b", "a%2Fb", "100%", "a+b", "a b", "#frag", "what?q=1", "../../etc", "..", "-dash", ".dot",
                 "\U0001f604", "\u4e2d\u6587", 'quote"d', "back\\slash", "semi;colon", "a&b=c", ":", "~", "\u00a0"]
        attachments = ["dir/file.txt", "plus+sign.pdf", "\u0444\u0430\u0439\u043b.bin", 'q"uote']
        for name in names:
            rev = self.node.put("db", name, {})
            for attachment in attachments[:1 if name != "a b" else 4]:
                rev = self.json("PUT", f"/db/{quoted(name)}/{quoted(attachment)}?rev={rev}", attachment.encode())["rev"]
                got = self.ask("GET", f"/db/{quoted(name)}/{quoted(attachment)}")[2]
                self.assertEqual(got, attachment.encode())
            self.assertEqual(self.node.document("db", name)["_id"], name)
        self.assertEqual(set(self.rows()), {"doc", *names})
        self.assertEqual({row["id"] for row in self.node.get("/db/_changes")["results"]}, {"doc", *names})
        for name in names:
            self.node.remove("db", name, self.node.document("db", name)["_rev"])
        self.assertEqual(self.rows(), ["doc"])

    def test_old_client(self):
        """a client of HTTP/1.0 gets no chunks, and HEAD of a list nothing but its head"""
        self.assertEqual(self.ask("HEAD", "/db/_all_docs")[::2], (200, b""))
        connection = UnixConnection(self.node.socket_path)
        connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"
        connection.request("GET", "/db/_all_docs")
        answer = connection.getresponse()
        self.assertIsNone(answer.headers["Transfer-Encoding"])
        self.assertEqual(json.loads(answer.read())["total_rows"], 1)
        self.assertRaises(http.client.HTTPException, self.reused, connection)

    def reused(self, connection):
        connection.auto_open = 0
        connection.request("GET", "/")
        connection.getresponse()


def quoted_query(path):
    """What may not stand in a URL is encoded; the rest stays as it was written."""
    return "".join(c if c.isalnum() or c in "/?&=%_-.~:,+" else quoted(c) for c in path)


if __name__ == "__main__":
    unittest.main()
