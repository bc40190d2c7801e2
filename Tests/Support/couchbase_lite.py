"""A small Couchbase Lite: a database in memory and a replicator, the active side of the protocol.

It plays the steps of Couchbase Lite 3 as they are seen on the wire, quirks included: proposeChanges
with the peer's last known revision, blobs inside documents, checkpoints on both sides, the legacy
mode and the one with collections, conflicts resolved here and pushed as children of the peer's.
"""

import base64
import hashlib
import json
import random
import re

from blip import Blip, WebSocket, check

DEFAULT = "_default"
BOTH_PROTOCOLS = "BLIP_3+CBMobile_3,BLIP_3+CBMobile_2"
BATCH = 200
HISTORY_MAX = 50  # also how many revisions of a branch are kept
REVISION = re.compile(r"[1-9][0-9]{0,9}-(?:[0-9a-f]{2}){1,41}")


def digest_of(data):
    return "sha1-" + base64.b64encode(hashlib.sha1(data).digest()).decode()


def generation(revision):
    return int(revision.split("-")[0])


def check_history(revision, history, known):
    """What Couchbase Lite asks of a history: down to the first revision that it has, generations fall by one; only
    where the rest would be pruned may they fall by more."""
    previous = generation(revision)
    for place, ancestor in enumerate(history, 1):
        check(f"a revision ID that cannot be read: {ancestor}", REVISION.fullmatch(ancestor))
        step = previous - generation(ancestor)
        check(f"the history of {revision} is not sequential: {history}",
              step == 1 or step > 1 and place >= HISTORY_MAX - 1)
        if ancestor in known:
            return
        previous = generation(ancestor)


def without_gaps(revision, history):
    """A history with an invented ID for each generation that is missing."""
    filled, previous = [], generation(revision)
    for ancestor in history:
        for missing in range(previous - 1, generation(ancestor), -1):
            filled.append(f"{missing}-faded000{random.getrandbits(64):016x}")
        filled.append(ancestor)
        previous = generation(ancestor)
    return filled


class Document:
    """The current revision, and what is known of the peer's."""

    def __init__(self):
        self.revision, self.history = None, []  # ancestors, newest first
        self.body, self.is_deleted = {}, False
        self.remote = None
        self.sequence = 0


class Database:
    """Documents by collection and ID; blobs by digest; checkpoints by what they are for."""

    def __init__(self, *collections):
        self.collections = {name: {} for name in collections or (DEFAULT,)}
        self.blobs, self.checkpoints = {}, {}
        self.sequence = 0

    def document(self, document_id, collection=DEFAULT):
        return self.collections[collection].get(document_id)

    def body(self, document_id, collection=DEFAULT):
        """The body of a document; None when there is none, or no longer."""
        document = self.document(document_id, collection)
        return None if document is None or document.is_deleted else document.body

    def save(self, document_id, body, collection=DEFAULT, is_deleted=False):
        """A new revision, as its own child."""
        document = self.collections[collection].setdefault(document_id, Document())
        parent = document.revision
        text = json.dumps([parent, is_deleted, body], sort_keys=True)
        number = generation(parent) + 1 if parent else 1
        if parent:
            document.history = [parent, *document.history][:HISTORY_MAX - 1]
        document.revision = f"{number}-{hashlib.sha1(text.encode()).hexdigest()}"
        self.store(document, body, is_deleted)
        return document.revision

    def delete(self, document_id, collection=DEFAULT):
        return self.save(document_id, {}, collection, is_deleted=True)

    def store(self, document, body, is_deleted):
        self.sequence += 1
        document.sequence = self.sequence
        document.body, document.is_deleted = body, is_deleted

    def blob(self, data, content_type="application/octet-stream"):
        """Keeps bytes, and gives what stands for them in a document."""
        digest = digest_of(data)
        self.blobs[digest] = data
        return {"@type": "blob", "digest": digest, "length": len(data), "content_type": content_type}


def blobs_in(value, path=""):
    """The blobs inside a document, with their JSON pointers."""
    if isinstance(value, dict):
        if value.get("@type") == "blob" and "digest" in value:
            yield path, value
        else:
            for name, member in value.items():
                if path or name != "_attachments":
                    yield from blobs_in(member, f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from blobs_in(item, f"{path}/{index}")


class Feed:
    """What a replicator knows of one collection."""

    def __init__(self, name, index):
        self.name, self.index = name, index
        self.checkpoint_revision = ""
        self.pushed_through, self.pulled_through = 0, None
        self.is_caught_up = False
        self.expected = {}  # (id, revision) -> sequence as JSON text
        self.order = []  # sequences as they came, with whether they are done
        self.conflicts = set()
        self.in_flight = {}  # digests of blobs of revisions that are being sent


class Replicator:
    """One connection to a peer; `resolve(mine, theirs)` gives the body of a merged revision."""

    def __init__(self, database, port, name, identity, collections=None, push=True, pull=True, continuous=False,
                 document_ids=None, resolve=None, protocols=BOTH_PROTOCOLS, subscription=()):
        self.database, self.push, self.pull = database, push, pull
        self.continuous, self.document_ids = continuous, document_ids
        self.resolve = resolve or (lambda mine, theirs: mine)
        self.subscription = dict(subscription)
        self.sent, self.received, self.errors = [], [], {}
        self.histories = {}  # of the revisions that came, by document
        self.missing_collections = []
        self.proposed = self.announced = self.fetched_bytes = 0
        kind = f"{name} {push} {pull} {document_ids}"
        self.client = "cp-" + base64.b64encode(hashlib.sha1(kind.encode()).digest()).decode()
        self.websocket = WebSocket(port, f"/{name}/_blipsync", identity, protocols)
        self.blip = Blip(self.websocket, self.on_request)
        self.feeds = {}
        self._begin(collections)

    # The beginning

    def _begin(self, collections):
        if collections is None:
            answer = self.blip.ask({"Profile": "getCheckpoint", "client": self.client})
            feed = self.feeds[None] = Feed(DEFAULT, None)
            if answer.error:
                check(f"getCheckpoint: {answer.error}", answer.error == "HTTP/404")
                remote = None
            else:
                remote = {**json.loads(answer.body), "rev": answer.properties["rev"]}
            self._compare(feed, remote)
        else:
            body = {"checkpoint_ids": [self.client] * len(collections), "collections": collections}
            answer = self.blip.ask({"Profile": "getCollections"}, json.dumps(body).encode())
            check(f"getCollections: {answer.error} {answer.body!r}", answer.error is None)
            items = json.loads(answer.body)
            check("getCollections: another number of answers", len(items) == len(collections))
            for index, (name, item) in enumerate(zip(collections, items)):
                if item is None:
                    self.missing_collections.append(name)
                    continue
                feed = self.feeds[index] = Feed(name, index)
                self._compare(feed, item or None)
        if self.pull:
            for feed in self.feeds.values():
                self._subscribe(feed)

    def _compare(self, feed, remote):
        own = self.database.checkpoints.get((self.client, feed.name))
        feed.checkpoint_revision = (remote or {}).get("rev", "")
        if own and not remote:
            # Another database under the same name, or a restored one: what it was known to have counts no more.
            for document in self.database.collections[feed.name].values():
                document.remote = None
        if own and remote:
            feed.pushed_through = min(own.get("local", 0), remote.get("local", 0))
            if own.get("remote") == remote.get("remote"):
                feed.pulled_through = own.get("remote")

    def _properties(self, feed, profile, **more):
        properties = {"Profile": profile, **more}
        if feed.index is not None:
            properties["collection"] = str(feed.index)
        return properties

    def _subscribe(self, feed):
        properties = self._properties(
            feed, "subChanges", batch=str(BATCH), versioning="rev-trees", sendReplacementRevs="1",
            revocations="true", **self.subscription)
        if feed.pulled_through is not None:
            properties["since"] = json.dumps(feed.pulled_through)
        if self.continuous:
            properties["continuous"] = "true"
        body = json.dumps({"docIDs": self.document_ids}).encode() if self.document_ids else b""
        answer = self.blip.ask(properties, body)
        check(f"subChanges: {answer.error} {answer.body!r}", answer.error is None)

    # Going on

    def run(self):
        """A one-shot replication, from the checkpoint to the goodbye."""
        self.push_changes()
        self.pump_until(self.is_pulled)
        # What was merged meanwhile.
        self.push_changes()
        self.finish()
        return self

    def is_pulled(self):
        return not self.pull or all(feed.is_caught_up and not feed.expected for feed in self.feeds.values())

    def pump_until(self, condition):
        while not condition():
            self.blip.pump()

    def finish(self):
        """Tells the peer that nothing is left, saves the checkpoints, and says goodbye."""
        for feed in self.feeds.values():
            if self.push:
                self.blip.send(self._properties(feed, "proposeChanges"), b"[]", no_reply=True, urgent=True)
            self.save_checkpoint(feed)
        code = self.websocket.close(1000)
        check(f"the goodbye was answered with {code}", code == 1000)

    def save_checkpoint(self, feed):
        while feed.order and feed.order[0][1]:
            feed.pulled_through = json.loads(feed.order.pop(0)[0])
        value = {"time": 1, "local": feed.pushed_through}
        if feed.pulled_through is not None:
            value["remote"] = feed.pulled_through
        answer = self.blip.ask(
            self._properties(feed, "setCheckpoint", client=self.client, rev=feed.checkpoint_revision),
            json.dumps(value).encode())
        check(f"setCheckpoint: {answer.error}", answer.error is None)
        feed.checkpoint_revision = answer.properties["rev"]
        self.database.checkpoints[self.client, feed.name] = value

    # Push

    def push_changes(self):
        """Pushes what has changed, until nothing is left that can be."""
        if not self.push:
            return
        through = self.database.sequence
        for feed in self.feeds.values():
            changed = sorted(
                (d.sequence, i) for i, d in self.database.collections[feed.name].items()
                if d.sequence > feed.pushed_through and d.revision != d.remote)
            for start in range(0, len(changed), BATCH):
                self._propose(feed, [i for _, i in changed[start:start + BATCH]])
            if not feed.conflicts:
                feed.pushed_through = through

    def _propose(self, feed, ids, is_again=False):
        documents = [(i, self.database.document(i, feed.name)) for i in ids]
        entries = [[i, d.revision, d.remote or ""] for i, d in documents]
        self.proposed += len(entries)
        answer = self.blip.ask(
            self._properties(feed, "proposeChanges", conflictIncludesRev="true"), json.dumps(entries).encode(),
            urgent=True)
        check(f"proposeChanges: {answer.error} {answer.body!r}", answer.error is None)
        statuses = json.loads(answer.body or b"[]")
        statuses += [0] * (len(entries) - len(statuses))
        history_max = int(answer.properties.get("maxHistory", HISTORY_MAX))
        takes_blobs = answer.properties.get("blobs") == "true"
        again, sent = [], []
        for (document_id, document), status in zip(documents, statuses):
            if status == 0:
                sent.append((document_id, document, self._send(feed, document_id, document, history_max, takes_blobs)))
            elif status == 304:
                document.remote = document.revision
            elif isinstance(status, dict) and status["rev"] in document.history and status["rev"] != document.remote:
                document.remote = status["rev"]
                again.append(document_id)
            elif self.pull and (status == 409 or isinstance(status, dict)):
                feed.conflicts.add(document_id)
            else:
                self.errors[document_id] = status if isinstance(status, int) else status["status"]
        for document_id, document, (number, revision, digests) in sent:
            reply = self.blip.answer(number)
            for digest in digests:
                feed.in_flight.pop(digest, None)
            if reply.error:
                self.errors[document_id] = reply.error
            else:
                document.remote = revision
                self.sent.append(document_id)
        if again and not is_again:
            self._propose(feed, again, is_again=True)

    def _send(self, feed, document_id, document, history_max, takes_blobs):
        body, blobs = dict(document.body), list(blobs_in(document.body))
        if blobs and not takes_blobs:
            body["_attachments"] = {
                f"blob_{path}": {**{k: v for k, v in blob.items() if k != "@type"}, "stub": True,
                                 "revpos": generation(document.revision)}
                for path, blob in blobs}
        for _, blob in blobs:
            # None: the file is lost, and the peer will be told so when it asks.
            feed.in_flight[blob["digest"]] = self.database.blobs.get(blob["digest"])
        properties = self._properties(
            feed, "rev", id=document_id, rev=document.revision, sequence=str(document.sequence), noconflicts="1")
        if document.history:
            properties["history"] = ",".join(without_gaps(document.revision, document.history)[:history_max - 1])
        if document.is_deleted:
            properties["deleted"] = "1"
        number = self.blip.send(properties, json.dumps(body, ensure_ascii=False).encode())
        return number, document.revision, [blob["digest"] for _, blob in blobs]

    # Pull

    def on_request(self, request):
        profile = request.properties.get("Profile")
        index = request.properties.get("collection")
        feed = self.feeds.get(None if index is None else int(index))
        check(f"a message about no collection that was opened: {request.properties}", feed is not None)
        handler = {"changes": self._on_changes, "rev": self._on_revision, "norev": self._on_no_revision,
                   "getAttachment": self._on_get_attachment}.get(profile)
        if handler is None:
            return {"Error-Domain": "BLIP", "Error-Code": "404"}, b"no handler for message"
        return handler(feed, request)

    def _on_changes(self, feed, request):
        entries = json.loads(request.body) or []
        if not entries:
            feed.is_caught_up = True
            return {}, b""
        answers = []
        for sequence, document_id, revision, *_ in entries:
            self.announced += 1
            document = self.database.document(document_id, feed.name)
            text = json.dumps(sequence)
            if document and (revision == document.revision or revision in document.history):
                answers.append(0)
                document.remote = revision
                feed.order.append([text, True])
                continue
            known = [document.revision, *document.history] if document and document.revision else []
            answers.append([r for r in known if generation(r) < generation(revision)][:10])
            entry = [text, False]
            feed.order.append(entry)
            feed.expected[document_id, revision] = entry
        return {"maxHistory": str(HISTORY_MAX), "blobs": "true"}, json.dumps(answers).encode()

    def _finish(self, feed, document_id, revision, sequence):
        entry = feed.expected.pop((document_id, revision), None)
        check(f"a revision that was not asked for: {document_id} {revision}", entry is not None)
        check("another sequence than was announced", entry[0] == sequence)
        entry[1] = True

    def _on_no_revision(self, feed, request):
        p = request.properties
        self._finish(feed, p["id"], p["rev"], p["sequence"])

    def _on_revision(self, feed, request):
        p = request.properties
        check("a rev without sequence", "sequence" in p)
        document_id, revision = p["id"], p["rev"]
        history = [r.strip() for r in p.get("history", "").split(",") if r.strip()]
        check(f"a revision ID that cannot be read: {revision}", REVISION.fullmatch(revision))
        document = self.database.document(document_id, feed.name)
        known = [document.revision, *document.history] if document and document.revision else []
        check_history(revision, history, known)
        self.histories[document_id] = history
        body = json.loads(request.body)
        attachments = body.get("_attachments", {})
        wanted = {blob["digest"]: blob["length"] for _, blob in blobs_in(body)}
        wanted.update((a["digest"], a["length"]) for a in attachments.values())
        for digest, length in wanted.items():
            if digest not in self.database.blobs:
                answer = self.blip.ask(self._properties(feed, "getAttachment", digest=digest, docID=document_id))
                check(f"getAttachment: {answer.error}", answer.error is None)
                check("a blob with another digest", digest_of(answer.body) == digest and len(answer.body) == length)
                self.database.blobs[digest] = answer.body
                self.fetched_bytes += length
        kept = {n: a for n, a in attachments.items() if not n.startswith("blob_")}
        body = {n: v for n, v in body.items() if not n.startswith("_")}
        if kept:
            body["_attachments"] = kept
        self._store(feed, document_id, revision, history, body, p.get("deleted") in ("1", "true"))
        self._finish(feed, document_id, p.get("replacedRev", revision), p["sequence"])
        self.received.append(document_id)
        return {}, b""

    def _store(self, feed, document_id, revision, history, body, is_deleted):
        documents = self.database.collections[feed.name]
        document = documents.setdefault(document_id, Document())
        descends = document.revision is None or document.revision in history
        mine = (document.body, document.is_deleted)
        is_changed_here = document.revision is not None and document.revision != document.remote
        if document.revision is not None and descends:
            older = document.history[:]
            document.history = (history[:history.index(document.revision) + 1] + older)[:HISTORY_MAX - 1]
        else:
            document.history = history
        document.revision = document.remote = revision
        self.database.store(document, body, is_deleted)
        feed.conflicts.discard(document_id)
        if is_changed_here and not descends:
            # The merged revision descends from the peer's, so that it will be taken.
            merged = self.resolve(mine[0], body)
            self.database.save(document_id, merged if merged is not None else {}, feed.name, is_deleted=merged is None)

    def _on_get_attachment(self, feed, request):
        data = feed.in_flight.get(request.properties["digest"])
        if data is None:
            return {"Error-Domain": "LiteCore", "Error-Code": "7"}, b""
        return {}, data
