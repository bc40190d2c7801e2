"""A replicator that does, step by step, what CouchDB's documentation says of its replication protocol.

Standard library only. `source` and `target` are pairs of something that has `exchange` (a node of `kithtest`) and the
name of a database.
"""

import hashlib
import json
import urllib.parse


class Refused(AssertionError):
    """A peer answered what the protocol does not know."""


def quoted(text):
    return urllib.parse.quote(text, safe="")


def parts_of(data, content_type):
    """[(headers, bytes)] of a body of several parts."""
    boundary = content_type.split("boundary=", 1)[1].strip('"').encode()
    pieces = (b"\r\n" + data).split(b"\r\n--" + boundary)
    if not pieces[-1].startswith(b"--"):
        raise Refused("a multipart body without its end")
    parts = []
    for piece in pieces[1:-1]:
        head, _, body = piece.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        parts.append(({name.lower(): value for name, value in headers.items()}, body))
    return parts


class Peer:
    def __init__(self, node, database):
        self.node = node
        self.path = "/" + quoted(database)

    def ask(self, method, path, body=None, headers=None, allowed=()):
        """(status, headers, bytes); a status that is neither good nor allowed is an error."""
        status, got, data = self.node.exchange(
            method, self.path + path, body, {"Accept": "application/json", **(headers or {})})
        if status >= 300 and status not in allowed:
            raise Refused(f"{method} {self.path}{path}: {status} {data[:300]!r}")
        return status, got, data

    def json(self, method, path, body=None, allowed=()):
        status, _, data = self.ask(method, path, body, allowed=allowed)
        return None if status in allowed else json.loads(data)


class Replication:
    """One run in one direction.

    `bulk` fetches with `_bulk_get` and writes attachments within documents; otherwise each document is fetched with
    `open_revs`, and one with attachments is written as multipart/related.
    """

    def __init__(self, source, target, bulk=False, batch=3):
        self.source, self.target = Peer(*source), Peer(*target)
        self.bulk, self.batch = bulk, batch
        self.seen = self.read = self.written = 0
        self.failures = []

    def run(self):
        names = [self.bulk]
        for peer in (self.source, self.target):
            peer.ask("HEAD", "")
            information = peer.json("GET", "")
            if information["instance_start_time"] != "0" or "update_seq" not in information:
                raise Refused(f"no information of a database: {information}")
            # Which databases, and which way: CouchDB goes by their addresses.
            names.append(information["uuid"])
        self.log = "/_local/" + hashlib.md5(json.dumps(names).encode()).hexdigest()
        logs = [peer.json("GET", self.log, allowed=(404,)) for peer in (self.source, self.target)]
        since = self.common(*logs)
        while True:
            changes = self.source.json(
                "GET", f"/_changes?feed=normal&style=all_docs&limit={self.batch}&since={quoted(json.dumps(since))}")
            if not changes["results"]:
                break
            self.take(changes["results"])
            since = changes["last_seq"]
        self.target.json("POST", "/_ensure_full_commit", {})
        self.checkpoint(logs, since)
        return self

    @staticmethod
    def common(source, target):
        """The last position on which both logs agree; 0 when there is none."""
        if not source or not target:
            return 0
        if source["session_id"] == target["session_id"]:
            return source["source_last_seq"]
        known = {entry["session_id"]: entry["recorded_seq"] for entry in target["history"]}
        return next((entry["recorded_seq"] for entry in source["history"] if entry["session_id"] in known), 0)

    def checkpoint(self, logs, since):
        session = hashlib.md5(f"{self.log} {since} {self.written}".encode()).hexdigest()
        for peer, log in zip((self.source, self.target), logs):
            log = log or {"history": []}
            log.update({"session_id": session, "source_last_seq": since, "replication_id_version": 4})
            log["history"].insert(0, {"session_id": session, "recorded_seq": since})
            peer.json("PUT", self.log, log)

    def take(self, rows):
        self.seen += len(rows)
        asked = {row["id"]: [change["rev"] for change in row["changes"]] for row in rows}
        missing = self.target.json("POST", "/_revs_diff", asked)
        documents = []
        for name, found in missing.items():
            self.read += len(found["missing"])
            fetch = self.fetch_in_bulk if self.bulk else self.fetch
            documents += fetch(name, found["missing"], found.get("possible_ancestors", []))
        if documents:
            errors = self.target.json("POST", "/_bulk_docs", {"docs": documents, "new_edits": False})
            self.written += len(documents) - len(errors)
            self.failures += errors

    def fetch_in_bulk(self, name, revisions, ancestors):
        asked = [{"id": name, "rev": revision, "atts_since": ancestors} for revision in revisions]
        found = self.source.json("POST", "/_bulk_get?revs=true&latest=true&attachments=true", {"docs": asked})
        return [item["ok"] for result in found["results"] for item in result["docs"]]

    def fetch(self, name, revisions, ancestors):
        """Documents without attachments, for one write; the others are written at once."""
        query = f"revs=true&latest=true&open_revs={quoted(json.dumps(revisions))}"
        if ancestors:
            query += f"&atts_since={quoted(json.dumps(ancestors))}"
        _, headers, data = self.source.ask(
            "GET", f"/{quoted(name)}?{query}", headers={"Accept": "multipart/mixed"})
        documents = []
        for part, body in parts_of(data, headers["Content-Type"]):
            if not part["content-type"].startswith("multipart/related"):
                documents.append(json.loads(body))
                continue
            status, _, answer = self.target.ask(
                "PUT", f"/{quoted(name)}?new_edits=false", body, {"Content-Type": part["content-type"]},
                allowed=(400, 412, 413))
            if status == 201:
                self.written += 1
            else:
                self.failures.append(json.loads(answer))
        return documents


def replicate(source, target, **options):
    return Replication(source, target, **options).run()
