"""A small server that speaks CouchDB's replication protocol, and misbehaves when a test wants it.

Standard library only, and written from CouchDB's documentation, so that what a node does is held against something that
shares no code with it. Documents are revision trees in memory; whatever else CouchDB has is not here.

    with CouchServer() as server:
        server.database("notes")
        node.check("sync", "notes", server.url("notes"))
        server.put("notes", "a", {"v": 1})

A fault is a function that is given each request (`server.fault = f`) and returns None, or what shall happen instead:
`("status", 500, headers, body)`, `("cut", n)` for an answer that ends after n bytes of its body, `("raw", bytes)`.
"""

import base64
import gzip
import hashlib
import json
import socketserver
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler

BOUNDARY = "c1f0ffee9c34ab21aa"


class Database:
    def __init__(self):
        self.documents = {}  # id -> {rev: {"parent", "body", "deleted", "attachments"}}
        self.sequences = {}  # id -> sequence
        self.sequence = 0
        self.local = {}

    def leaves(self, identifier):
        revisions = self.documents.get(identifier, {})
        parents = {entry["parent"] for entry in revisions.values()}
        found = [rev for rev, entry in revisions.items() if rev not in parents and entry["body"] is not None]
        return sorted(found, key=lambda rev: (not revisions[rev]["deleted"], int(rev.split("-")[0]), rev), reverse=True)

    def history(self, identifier, rev):
        revisions = self.documents.get(identifier, {})
        out = []
        while rev:
            out.append(rev)
            rev = revisions.get(rev, {}).get("parent")
        return out

    def insert(self, identifier, history, body, deleted, attachments):
        """A revision with its history, the newest first, as `new_edits=false` has it."""
        revisions = self.documents.setdefault(identifier, {})
        for index, rev in enumerate(history):
            parent = history[index + 1] if index + 1 < len(history) else None
            known = revisions.get(rev)
            if known is None:
                revisions[rev] = {"parent": parent, "body": None, "deleted": False, "attachments": {}}
            elif known["parent"] is None:
                known["parent"] = parent
        if revisions[history[0]]["body"] is None:
            revisions[history[0]].update(body=body, deleted=deleted, attachments=attachments)
            self.sequence += 1
            self.sequences[identifier] = self.sequence


class Problem(Exception):
    def __init__(self, status, error, reason):
        super().__init__(reason)
        self.status, self.error, self.reason = status, error, reason


def split_parts(data, content_type):
    boundary = content_type.split("boundary=", 1)[1].strip('"').encode()
    parts = []
    for piece in (b"\r\n" + data).split(b"\r\n--" + boundary)[1:-1]:
        head, _, body = piece.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
        parts.append(({name.lower(): value for name, value in lines}, body))
    return parts


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.server.owner.connections.append(self.connection)

    def run(self):
        owner = self.server.owner
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        segments = [urllib.parse.unquote(part) for part in path.split("/")[1:]]
        owner.requests.append((self.command, path, query))
        self.cut = None
        wanted = owner.fault(self.command, path, query) if owner.fault else None
        if wanted and wanted[0] == "status":
            return self.answer(wanted[1], wanted[3], wanted[2])
        if wanted and wanted[0] == "raw":
            self.close_connection = True
            self.wfile.write(wanted[1])
            return None
        if wanted and wanted[0] == "cut":
            self.cut = wanted[1]
        if owner.credentials:
            expected = "Basic " + base64.b64encode(owner.credentials.encode()).decode()
            if self.headers.get("Authorization") != expected:
                return self.answer(401, {"error": "unauthorized", "reason": "Name or password is incorrect."})
        try:
            with owner.lock:
                answer = self.route(owner, segments, query, body)
        except Problem as problem:
            return self.answer(problem.status, {"error": problem.error, "reason": problem.reason})
        if answer is None:
            return self.wait_for_changes(owner, segments[0], query, body)
        return self.answer(*answer)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = run

    def answer(self, status, body, headers=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode() + b"\n"
        headers = dict(headers or {})
        headers.setdefault("Content-Type", "application/json")
        if len(data) > 500 and "gzip" in self.headers.get("Accept-Encoding", "") and self.server.owner.packs:
            data = gzip.compress(data)
            headers["Content-Encoding"] = "gzip"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.cut is not None:
            self.wfile.write(data[: self.cut])
            self.close_connection = True
            return
        self.wfile.write(data)

    # What it knows

    def route(self, owner, segments, query, body):
        name, rest = segments[0], segments[1:]
        if self.command == "PUT" and not rest:
            if name in owner.databases:
                raise Problem(412, "file_exists", "The database could not be created, the file already exists.")
            owner.databases[name] = Database()
            return 201, {"ok": True}
        database = owner.databases.get(name)
        if database is None:
            raise Problem(404, "not_found", "Database does not exist.")
        if not rest:
            return 200, {
                "db_name": name, "update_seq": owner.opaque(database.sequence), "instance_start_time": "0",
                "doc_count": len(database.documents)}
        if rest[0] == "_local":
            return self.local(database, "_local/" + rest[1], body)
        handler = {
            "_changes": self.changes, "_revs_diff": self.revs_diff, "_bulk_get": self.bulk_get,
            "_bulk_docs": self.bulk_docs, "_ensure_full_commit": self.full_commit,
        }.get(rest[0])
        if handler:
            return handler(owner, database, query, body)
        return self.document(owner, database, "/".join(rest[:1]), rest[1:], query, body)

    def local(self, database, identifier, body):
        known = database.local.get(identifier)
        if self.command == "GET":
            if not known:
                raise Problem(404, "not_found", "missing")
            return 200, known
        document = json.loads(body)
        if (known or {}).get("_rev") != document.get("_rev"):
            raise Problem(409, "conflict", "Document update conflict.")
        number = int(known["_rev"].split("-")[1]) + 1 if known else 1
        document.update(_id=identifier, _rev=f"0-{number}")
        database.local[identifier] = document
        return 201, {"ok": True, "id": identifier, "rev": document["_rev"]}

    def full_commit(self, owner, _database, _query, _body):
        owner.commits += 1
        return 201, {"ok": True, "instance_start_time": "0"}

    def rows(self, owner, database, query, body):
        since = owner.number(query.get("since", "0"))
        wanted = None
        if query.get("filter") == "_doc_ids":
            wanted = set(json.loads(body)["doc_ids"])
        rows = []
        for identifier, sequence in sorted(database.sequences.items(), key=lambda item: item[1]):
            if sequence <= since or (wanted is not None and identifier not in wanted):
                continue
            leaves = database.leaves(identifier)
            row = {
                "seq": owner.opaque(sequence), "id": identifier, "changes": [{"rev": rev} for rev in leaves]}
            if database.documents[identifier][leaves[0]]["deleted"]:
                row["deleted"] = True
            rows.append(row)
        limit = int(query.get("limit", 10**9))
        shown = rows[:limit]
        last = shown[-1]["seq"] if len(rows) > limit else owner.opaque(max(since, database.sequence))
        return {"results": shown, "last_seq": last, "pending": len(rows) - len(shown)}

    def changes(self, owner, database, query, body):
        answer = self.rows(owner, database, query, body)
        if query.get("feed") == "longpoll" and not answer["results"]:
            return None
        return 200, answer

    def wait_for_changes(self, owner, name, query, body):
        """Waits for a change with signs of life, as CouchDB does."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        heartbeat = int(query.get("heartbeat", 60000)) / 1000
        with owner.changed:
            while not owner.isClosed:
                answer = self.rows(owner, owner.databases[name], query, body)
                if answer["results"]:
                    break
                owner.changed.wait(heartbeat)
                self.wfile.write(b"1\r\n\n\r\n")
            else:
                return
        data = json.dumps(answer).encode()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))

    def revs_diff(self, _owner, database, _query, body):
        out = {}
        for identifier, revisions in json.loads(body).items():
            known = database.documents.get(identifier, {})
            missing = [rev for rev in revisions if rev not in known or known[rev]["body"] is None]
            if missing:
                out[identifier] = {"missing": missing}
                ancestors = [rev for rev in database.leaves(identifier)]
                if ancestors:
                    out[identifier]["possible_ancestors"] = ancestors
        return 200, out

    def full(self, database, identifier, rev, follows=None):
        """A document as it is sent; `follows` are the names of attachments whose bytes come behind it."""
        entry = database.documents[identifier][rev]
        history = database.history(identifier, rev)
        document = {
            "_id": identifier, "_rev": rev, **entry["body"],
            "_revisions": {"start": int(rev.split("-")[0]), "ids": [one.split("-", 1)[1] for one in history]}}
        if entry["deleted"]:
            document["_deleted"] = True
        if entry["attachments"]:
            document["_attachments"] = {}
            for name, one in sorted(entry["attachments"].items()):
                stub = {key: one[key] for key in ("content_type", "revpos", "digest", "length")}
                if "packed" in one:
                    stub["encoding"] = "gzip"
                    stub["encoded_length"] = len(one["packed"])
                stub["follows" if follows and name in follows else "stub"] = True
                document["_attachments"][name] = stub
        return document

    def latest(self, database, identifier, rev):
        """`latest=true`: the leaves that have taken the place of a revision."""
        leaves = database.leaves(identifier)
        return [leaf for leaf in leaves if rev in database.history(identifier, leaf)]

    def bulk_get(self, owner, database, _query, body):
        if not owner.hasBulkGet:
            raise Problem(404, "not_found", "missing")
        results = []
        for wanted in json.loads(body)["docs"]:
            found = self.latest(database, wanted["id"], wanted["rev"])
            docs = [{"ok": self.full(database, wanted["id"], rev)} for rev in found]
            if not docs:
                docs = [{"error": {**wanted, "error": "not_found", "reason": "missing"}}]
            for one in docs:
                if "ok" in one and owner.spoil:
                    one["ok"] = owner.spoil(one["ok"])
            results.append({"id": wanted["id"], "docs": docs})
        return 200, {"results": results}

    def bulk_docs(self, owner, database, _query, body):
        request = json.loads(body)
        if len(body) > owner.requestBytesMax:
            raise Problem(413, "too_large", "the request entity is too large")
        answers = []
        for document in request["docs"]:
            problem = owner.refuse(document) if owner.refuse else None
            if problem:
                answers.append({"id": document["_id"], "rev": document["_rev"], **problem})
            else:
                self.store(database, document, {})
        owner.notify()
        return 201, answers

    def store(self, database, document, received):
        identifier, rev = document.pop("_id"), document.pop("_rev")
        revisions = document.pop("_revisions", {"start": int(rev.split("-")[0]), "ids": [rev.split("-", 1)[1]]})
        history = [f"{revisions['start'] - index}-{digest}" for index, digest in enumerate(revisions["ids"])]
        if history[0] != rev:
            raise Problem(400, "doc_validation", "_revisions does not fit _rev")
        attachments = {}
        for name, stub in document.pop("_attachments", {}).items():
            if stub.get("follows"):
                data = received[name]
            elif "data" in stub:
                data = base64.b64decode(stub["data"])
            else:
                data = None
                for ancestor in history[1:]:
                    entry = database.documents.get(identifier, {}).get(ancestor)
                    if entry and name in entry["attachments"]:
                        data = entry["attachments"][name]["data"]
                        break
                if data is None:
                    raise Problem(412, "missing_stub", f"id:{identifier}, name:{name}")
            if "length" in stub and stub["length"] != len(data):
                raise Problem(400, "bad_request", "an attachment has another length than was told")
            attachments[name] = {
                "data": data, "content_type": stub["content_type"], "revpos": stub.get("revpos", 1),
                "digest": "md5-" + base64.b64encode(hashlib.md5(data).digest()).decode(), "length": len(data)}
        deleted = document.pop("_deleted", False)
        for name in document:
            if name.startswith("_"):
                raise Problem(400, "doc_validation", f"Bad special document member: {name}")
        database.insert(identifier, history, document, deleted, attachments)
        return identifier, rev

    def document(self, owner, database, identifier, rest, query, body):
        if self.command == "PUT" and query.get("new_edits") == "false":
            owner.lastUpload = len(body)
            received = {}
            content_type = self.headers.get("Content-Type", "")
            if content_type.startswith("multipart/related"):
                parts = split_parts(body, content_type)
                document = json.loads(parts[0][1])
                names = [name for name, stub in document.get("_attachments", {}).items() if stub.get("follows")]
                for index, (headers, data) in enumerate(parts[1:]):
                    disposition = headers.get("content-disposition", "")
                    name = disposition.split('filename="', 1)[1].split('"', 1)[0] if "filename=" in disposition else names[index]
                    received[name] = data
            else:
                document = json.loads(body)
            problem = owner.refuse(document) if owner.refuse else None
            if problem:
                raise Problem(403, problem["error"], problem["reason"])
            document["_id"] = identifier
            identifier, rev = self.store(database, document, received)
            owner.notify()
            return 201, {"ok": True, "id": identifier, "rev": rev}
        if self.command == "GET" and "open_revs" in query:
            return self.open_revisions(owner, database, identifier, query)
        raise Problem(405, "method_not_allowed", "This server does not know that")

    def open_revisions(self, owner, database, identifier, query):
        if identifier not in database.documents:
            raise Problem(404, "not_found", "missing")
        since = json.loads(query.get("atts_since", "[]"))
        found = []
        if query["open_revs"] == "all":
            found = database.leaves(identifier)
        else:
            for rev in json.loads(query["open_revs"]):
                found += self.latest(database, identifier, rev) or [None]
        if "multipart/mixed" not in self.headers.get("Accept", ""):
            return 200, [
                {"ok": self.full(database, identifier, rev)} if rev else {"missing": rev} for rev in found]
        body = b""
        for rev in found:
            body += b"--" + BOUNDARY.encode() + b"\r\n"
            if rev is None:
                body += b'Content-Type: application/json; error="true"\r\n\r\n{"missing":"?"}\r\n'
                continue
            entry = database.documents[identifier][rev]
            history = database.history(identifier, rev)
            known = max([int(one.split("-")[0]) for one in since if one in history] or [0])
            sent = [name for name, one in sorted(entry["attachments"].items()) if one["revpos"] > known]
            document = json.dumps(self.full(database, identifier, rev, sent)).encode()
            if not sent:
                body += b"Content-Type: application/json\r\n\r\n" + document + b"\r\n"
                continue
            inner = "inner" + BOUNDARY
            body += b'Content-Type: multipart/related; boundary="' + inner.encode() + b'"\r\n\r\n'
            body += b"--" + inner.encode() + b"\r\nContent-Type: application/json\r\n\r\n" + document
            for name in sent:
                one = entry["attachments"][name]
                owner.sent_attachments.append((identifier, name))
                data = one.get("packed", one["data"])
                encoding = b"Content-Encoding: gzip\r\n" if "packed" in one else b""
                body += (
                    b"\r\n--" + inner.encode() + b'\r\nContent-Disposition: attachment; filename="' + name.encode()
                    + b'"\r\nContent-Type: ' + one["content_type"].encode() + b"\r\n" + encoding
                    + b"Content-Length: " + str(len(data)).encode() + b"\r\n\r\n" + data)
            body += b"\r\n--" + inner.encode() + b"--\r\n"
        body += b"--" + BOUNDARY.encode() + b"--"
        return 200, body, {"Content-Type": f'multipart/mixed; boundary="{BOUNDARY}"'}


class Threads(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        """Whoever goes away in the middle is no news."""


class CouchServer:
    """The server, on a port of its own on loopback."""

    def __init__(self, context=None):
        self.databases = {}
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.requests = []
        self.connections = []
        self.sent_attachments = []
        self.commits = 0
        self.lastUpload = 0
        self.isClosed = False
        self.hasBulkGet = True
        self.hasOpaqueSequences = True
        self.packs = True
        self.requestBytesMax = 10**9
        self.credentials = None
        self.fault = None
        self.refuse = None
        self.spoil = None
        self.server = Threads(("127.0.0.1", 0), Handler)
        self.server.owner = self
        self.scheme = "http"
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with self.changed:
            self.isClosed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def port(self):
        return self.server.server_address[1]

    def url(self, name, user=None):
        return f"{self.scheme}://{user + '@' if user else ''}127.0.0.1:{self.port}/{name}"

    def database(self, name):
        return self.databases.setdefault(name, Database())

    def opaque(self, number):
        """A position as CouchDB 2 and later have it: nobody but the server knows what it means."""
        if not self.hasOpaqueSequences:
            return number
        return f"{number}-{base64.urlsafe_b64encode(hashlib.md5(str(number).encode()).digest()).decode()}"

    def number(self, text):
        if not self.hasOpaqueSequences or text == "0":
            return int(text)
        number = int(text.split("-", 1)[0])
        if self.opaque(number) != text:
            raise Problem(400, "bad_request", "Malformed sequence supplied in 'since' parameter.")
        return number

    def notify(self):
        with self.changed:
            self.changed.notify_all()

    def put(self, name, identifier, body, parent=None, deleted=False, attachments=None, rev=None):
        """Writes a document as an app of that server would; returns its revision, with a digest of 32 digits."""
        with self.changed:
            database = self.database(name)
            generation = int(parent.split("-")[0]) + 1 if parent else 1
            if rev is None:
                text = json.dumps([parent, deleted, body, sorted((attachments or {}).keys())], sort_keys=True)
                rev = f"{generation}-{hashlib.md5(text.encode()).hexdigest()}"
            kept = {}
            for attachment, data in (attachments or {}).items():
                before = database.documents.get(identifier, {}).get(parent, {}).get("attachments", {})
                if data is None:
                    kept[attachment] = before[attachment]
                    continue
                packed = isinstance(data, tuple)
                data = data[1] if packed else data
                one = {"data": data, "content_type": "text/plain", "revpos": generation, "length": len(data)}
                stored = data
                if packed:
                    stored = one["packed"] = gzip.compress(data)
                one["digest"] = "md5-" + base64.b64encode(hashlib.md5(stored).digest()).decode()
                kept[attachment] = one
            history = [rev] + (database.history(identifier, parent) if parent else [])
            database.insert(identifier, history, body, deleted, kept)
            self.changed.notify_all()
            return rev

    def get(self, name, identifier):
        """The winner's body, or None."""
        with self.lock:
            database = self.database(name)
            leaves = database.leaves(identifier)
            if not leaves or database.documents[identifier][leaves[0]]["deleted"]:
                return None
            return {"_rev": leaves[0], **database.documents[identifier][leaves[0]]["body"]}

    def attachment(self, name, identifier, attachment):
        with self.lock:
            database = self.database(name)
            return database.documents[identifier][database.leaves(identifier)[0]]["attachments"][attachment]["data"]

    def asked(self, method, end):
        """How often something was asked for."""
        with self.lock:
            return sum(1 for one in self.requests if one[0] == method and one[1].endswith(end))
