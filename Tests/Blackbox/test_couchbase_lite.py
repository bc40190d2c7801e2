"""A Couchbase Lite client against a real node, over TLS with a certificate of its own that is paired.

The client is `couchbase_lite.py`, which shares no code with Kith and is strict about the protocol.
"""

import random
import signal

from kithtest import NodeTestCase, RestError, await_converged, wait_for

import blip
import couchbase_lite
from couchbase_lite import Database, Replicator

BIG = 1_300_000


class CouchbaseLite(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("clinic")
        self.identity = self.client_identity("phone")

    def client_identity(self, name):
        """Certificate and key of a client that the node trusts."""
        home = self.new_node(name)
        self.node.trust(home)
        return home.certificate, home.key

    def replicator(self, database, identity=None, name="clinic", **options):
        return Replicator(database, self.node.port, name, identity or self.identity, **options)

    def replicate(self, database, **options):
        return self.replicator(database, **options).run()

    def assertSame(self, database):
        """The client has what the node has."""
        rows = self.node.get("/clinic/_all_docs")["rows"]
        self.assertEqual(
            {row["id"]: row["value"]["rev"] for row in rows},
            {i: d.revision for i, d in database.collections["_default"].items() if not d.is_deleted})

    def test_push_and_pull(self):
        """documents go both ways, in any number and size, and on to other nodes; twice nothing is sent twice"""
        phone = Database()
        for number in range(450):
            phone.save(f"from-phone/{number} é", {"n": number, "text": "ü" * (number % 50), "big": 2 ** 60 + number})
        phone.save("large", {"text": "".join(random.choices("abcdefgh ", k=400_000))})
        for number in range(230):
            self.node.put("clinic", f"from-node/{number}", {"n": number})
        first = self.replicate(phone)
        self.assertEqual(len(first.sent), 451)
        self.assertEqual(len(first.received), 230)
        self.assertEqual(first.errors, {})
        self.assertSame(phone)
        document = self.node.document("clinic", "from-phone/449 é")
        self.assertEqual(document["big"], 2 ** 60 + 449)
        self.assertEqual(phone.body("from-node/7"), {"n": 7})
        # What it has pushed is announced to it once, since it came after its pull had ended; then there is nothing to say.
        again = self.replicate(phone)
        self.assertEqual((again.proposed, again.announced, again.sent, again.received), (0, 451, [], []))
        again = self.replicate(phone)
        self.assertEqual((again.proposed, again.announced, again.sent, again.received), (0, 0, [], []))
        # Without the client's copy everything is looked at, and nothing is sent again.
        phone.checkpoints.clear()
        anew = self.replicate(phone)
        self.assertEqual(anew.announced, 681)
        self.assertEqual((anew.sent, anew.received), ([], []))
        # An edit is pushed as a child, and arrives at another client.
        phone.save("from-node/7", {"n": 8})
        self.assertEqual(self.replicate(phone, pull=False).sent, ["from-node/7"])
        tablet = Database()
        self.replicate(tablet, identity=self.client_identity("tablet"))
        self.assertSame(tablet)
        self.assertEqual(tablet.body("from-node/7"), {"n": 8})

    def test_through_the_mesh(self):
        """what a client pushes reaches a node that it has never spoken to"""
        other = self.new_node("bert")
        self.node.trust(other)
        other.trust(self.node)
        other.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{self.node.port}")
        other.create("clinic")
        phone = Database()
        revision = phone.save("visit", {"from": "phone"})
        self.replicate(phone)
        wait_for("the document on bert", lambda: other.has("clinic", "visit", revision))
        other.remove("clinic", "visit", revision)
        await_converged([self.node, other], "clinic")
        self.replicate(phone)
        self.assertIsNone(phone.body("visit"))

    def test_deletion(self):
        """deletions go both ways, and what was deleted can come back"""
        phone = Database()
        phone.save("bed-1", {"free": True})
        revision = self.node.put("clinic", "bed-2", {"free": True})
        self.replicate(phone)
        phone.delete("bed-2")
        self.node.remove("clinic", "bed-1", phone.document("bed-1").revision)
        self.replicate(phone)
        self.assertFalse(self.node.has("clinic", "bed-2"))
        self.assertIsNone(phone.body("bed-1"))
        with self.assertRaises(RestError):
            self.node.put("clinic", "bed-2", {}, revision)
        # On top of the tombstone here, and as a document that another client begins anew.
        phone.save("bed-2", {"free": False})
        self.replicate(phone)
        self.assertEqual(self.node.document("clinic", "bed-2")["free"], False)
        tablet = Database()
        tablet.save("bed-1", {"free": "again"})
        self.assertEqual(self.replicate(tablet, pull=False).sent, ["bed-1"])
        self.assertEqual(self.node.document("clinic", "bed-1")["free"], "again")
        # A client that begins with nothing wants no deletions.
        self.node.remove("clinic", "bed-1", self.node.document("clinic", "bed-1")["_rev"])
        fresh = Database()
        self.replicate(fresh, subscription={"activeOnly": "true"})
        self.assertEqual(list(fresh.collections["_default"]), ["bed-2"])

    def test_conflict(self):
        """two edits of one document: the client is told, resolves, and its merge is everybody's"""
        phone = Database()
        phone.save("stock", {"count": 10})
        self.replicate(phone)
        first = phone.document("stock").revision
        self.node.put("clinic", "stock", {"count": 11}, first)
        phone.save("stock", {"count": 9, "note": "phone"})
        # Who only pushes is told that there is a conflict; nothing of it is stored.
        alone = Database()
        alone.collections = {"_default": dict(phone.collections["_default"])}
        pushing = self.replicate(alone, pull=False)
        self.assertEqual(pushing.errors, {"stock": 409})
        self.assertEqual(self.node.conflicts("clinic"), {})
        self.replicate(phone, resolve=lambda mine, theirs: {**theirs, **mine, "count": 10})
        self.assertEqual(self.node.document("clinic", "stock")["count"], 10)
        self.assertEqual(self.node.document("clinic", "stock")["note"], "phone")
        self.assertEqual(self.node.conflicts("clinic"), {})
        self.assertSame(phone)
        # It is the client's affair, and no refused document.
        status = self.node.peer("phone")
        self.assertEqual(sum(d["refused"] for d in status["databases"]), 0)

    def test_short_histories(self):
        """a node that keeps few revisions sends histories that a client takes, and takes what comes back of them"""
        self.node.check("db", "set", "clinic", "revs-limit=2")
        phone = Database()
        phone.save("visit", {"n": 0})
        self.replicate(phone)
        revision = phone.document("visit").revision
        for number in range(1, 9):
            revision = self.node.put("clinic", "visit", {"n": number}, revision)
        pulled = self.replicate(phone)
        history = pulled.histories["visit"]
        self.assertEqual([couchbase_lite.generation(r) for r in history], list(range(8, 0, -1)))
        self.assertEqual([r for r in history if "-faded000" in r], history[1:-1])
        # Its edit has the fillers in its history, which here are no revisions.
        phone.save("visit", {"n": 100})
        self.assertEqual(self.replicate(phone).errors, {})
        self.assertEqual(self.node.conflicts("clinic"), {})
        self.assertSame(phone)
        self.assertNotIn("faded000", str(self.node.get("/clinic/visit?revs=true")))
        # Another client has nothing of it, and a deletion joins as well.
        tablet = Database()
        self.replicate(tablet, identity=self.client_identity("tablet"))
        revision = self.node.put("clinic", "visit", {"n": 101}, phone.document("visit").revision)
        for number in range(102, 105):
            revision = self.node.put("clinic", "visit", {"n": number}, revision)
        self.node.remove("clinic", "visit", revision)
        for client in (phone, tablet):
            self.replicate(client)
            self.assertIsNone(client.body("visit"))

    def test_blobs(self):
        """blobs inside documents go both ways, once, of any size, also when only the text is edited"""
        phone = Database()
        random.seed(5)
        big, small = random.randbytes(BIG), b"hello"
        phone.save("visit", {
            "photo": phone.blob(big, "image/png"), "list": [phone.blob(small, "text/plain"), phone.blob(b"")]})
        self.assertEqual(self.replicate(phone).errors, {})
        tablet = Database()
        pulled = self.replicate(tablet, identity=self.client_identity("tablet"))
        self.assertEqual(pulled.fetched_bytes, BIG + 5)
        self.assertEqual(tablet.blobs, phone.blobs)
        self.assertEqual(tablet.body("visit"), phone.body("visit"))
        # The other one edits the text: no bytes go anywhere.
        tablet.save("visit", {**tablet.body("visit"), "text": "edited"})
        self.replicate(tablet)
        self.assertEqual(self.replicate(phone).fetched_bytes, 0)
        self.assertEqual(phone.body("visit")["text"], "edited")

    def test_refused_documents(self):
        """documents that cannot be taken are refused by name with the reason, and the others go on"""
        phone = Database()
        for number in range(50):
            phone.save(f"good-{number}", {"n": number})
        phone.save("reserved", {"_secret": 1})
        lost = phone.blob(b"lost")
        del phone.blobs[lost["digest"]]
        phone.save("lost", {"file": lost})
        phone.save("x" * 241, {})
        first = self.replicate(phone)
        self.assertEqual(first.errors, {"reserved": "HTTP/400", "lost": "HTTP/404", "x" * 241: 400})
        self.assertEqual(len(first.sent), 50)
        self.assertEqual(self.node.count("clinic"), 50)
        status = self.node.peer("phone")
        self.assertEqual(sum(d["refused"] for d in status["databases"]), 3)
        self.node.await_log("reserved", "refused here", "_secret")
        # Without anything new they are not sent again; mended they are taken.
        self.assertEqual(self.replicate(phone).proposed, 0)
        phone.save("reserved", {"secret": 1})
        phone.save("lost", {"file": phone.blob(b"lost")})
        self.assertEqual(sorted(self.replicate(phone).sent), ["lost", "reserved"])

    def test_attachments_are_not_given_to_guesses(self):
        """an attachment is given out with its document and not to whoever knows its digest"""
        phone = Database()
        blob = phone.blob(b"secret")
        phone.save("visit", {"file": blob})
        self.replicate(phone)
        client = self.replicator(phone)
        answer = client.blip.ask({"Profile": "getAttachment", "digest": blob["digest"], "docID": "visit"})
        self.assertEqual(answer.error, "HTTP/403")
        client.finish()

    def test_interrupted(self):
        """a connection that is cut, and a node that is killed, anywhere: nothing is lost and the rest follows"""
        phone = Database()
        for number in range(300):
            phone.save(f"p-{number}", {"n": number})
            self.node.put("clinic", f"n-{number}", {"n": number})
        for cut_after in (1, 7, 40):
            client = self.replicator(phone)
            wait = lambda: len(client.received) >= cut_after  # noqa: E731
            client.pump_until(wait)
            client.websocket.cut()
        client = self.replicator(phone)
        client.push_changes()
        port = self.node.port
        self.node.kill()
        with self.assertRaises(blip.Closed):
            client.pump_until(lambda: False)
        # Every `rev` was acknowledged, so every one is there.
        self.node.start("--port", str(port), "--no-discovery")
        for number in range(300):
            self.assertTrue(self.node.has("clinic", f"p-{number}"))
        last = self.replicate(phone)
        self.assertEqual(last.errors, {})
        self.assertEqual(last.sent, [])
        self.assertSame(phone)
        self.assertEqual(self.node.count("clinic"), 600)

    def test_recreated_database(self):
        """a database that is deleted and made anew gets everything again, and gives what is new in it"""
        phone = Database()
        for number in range(100):
            phone.save(f"p-{number}", {"n": number})
            self.node.put("clinic", f"old-{number}", {"n": number})
        self.replicate(phone)
        self.replicate(phone)
        self.node.call("DELETE", "/clinic")
        self.node.create("clinic")
        for number in range(300):
            self.node.put("clinic", f"new-{number}", {"n": number})
        again = self.replicate(phone)
        self.assertEqual(again.errors, {})
        self.assertEqual((len(again.sent), len(again.received)), (200, 300))
        self.assertSame(phone)

    def test_continuous(self):
        """a client that stays gets changes as they come, is seen in the status, and is told to come again"""
        phone = Database()
        client = self.replicator(phone, continuous=True)
        client.pump_until(client.is_pulled)
        revision = self.node.put("clinic", "news", {"n": 1})
        client.pump_until(lambda: phone.body("news") == {"n": 1})
        phone.save("reply", {"n": 2})
        client.push_changes()
        self.assertEqual(self.node.document("clinic", "reply")["n"], 2)
        # Its own change is not announced to it.
        self.node.put("clinic", "news", {"n": 3}, revision)
        client.pump_until(lambda: phone.body("news") == {"n": 3})
        self.assertEqual(client.announced, 2)
        self.node.await_peer("phone", "inSync")
        self.node.signal(signal.SIGTERM)
        with self.assertRaises(blip.Closed) as closed:
            client.pump_until(lambda: False)
        self.assertEqual(closed.exception.code, 4001)

    def test_document_ids(self):
        """a pull of certain documents gets those"""
        for name in ("a", "b", "c"):
            self.node.put("clinic", name, {"name": name})
        phone = Database()
        self.replicate(phone, document_ids=["b", "c", "not there"], push=False)
        self.assertEqual(sorted(phone.collections["_default"]), ["b", "c"])

    def test_several_replicators(self):
        """an app may have a replicator for each direction at once, and one for each device of its user"""
        phone, tablet = Database(), Database()
        pulling = self.replicator(phone, continuous=True, push=False)
        pushing = self.replicator(phone, continuous=True, pull=False)
        other = self.replicator(tablet, continuous=True)
        phone.save("a", {"n": 1})
        pushing.push_changes()
        other.pump_until(lambda: tablet.body("a") == {"n": 1})
        self.node.put("clinic", "b", {"n": 2})
        pulling.pump_until(lambda: phone.body("b") == {"n": 2})
        other.pump_until(lambda: tablet.body("b") == {"n": 2})
        for client in (pushing, pulling, other):
            client.finish()

    def test_handshake(self):
        """subprotocols: the third and the second version, and nothing else; an unknown database is 404"""
        for offered, chosen in (("BLIP_3+CBMobile_3,BLIP_3+CBMobile_2", "BLIP_3+CBMobile_3"),
                                ("BLIP_3+CBMobile_2", "BLIP_3+CBMobile_2"),
                                ("BLIP_3+CBMobile_4,BLIP_3+CBMobile_3", "BLIP_3+CBMobile_3")):
            phone = Database()
            phone.save("v" + chosen[-1], {})
            client = self.replicator(phone, protocols=offered)
            self.assertEqual(client.websocket.protocol, chosen)
            client.run()
        with self.assertRaises(blip.Refused) as refused:
            self.replicator(Database(), protocols="BLIP_3+CBMobile_4")
        self.assertEqual(refused.exception.status, 400)
        with self.assertRaises(blip.Refused) as refused:
            self.replicator(Database(), name="unknown")
        self.assertEqual(refused.exception.status, 404)
        self.assertIn(b'"reason"', refused.exception.body)

    def test_removed_database(self):
        """a database that is removed: the client comes again, and learns that there is none"""
        client = self.replicator(Database(), continuous=True)
        client.pump_until(client.is_pulled)
        self.node.call("DELETE", "/clinic")
        with self.assertRaises(blip.Closed) as closed:
            client.pump_until(lambda: False)
        self.assertEqual(closed.exception.code, 4001)
        with self.assertRaises(blip.Refused) as refused:
            self.replicator(Database())
        self.assertEqual(refused.exception.status, 404)

    def test_collections(self):
        """a client replicates named collections over one link, and another node gets them too"""
        for name in ("visits", "lab.results"):
            self.node.call("PUT", f"/clinic.{name}")
        other = self.new_node("bert")
        self.node.trust(other)
        other.trust(self.node)
        other.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{self.node.port}")
        other.create("clinic")
        names = ["_default", "visits", "lab.results"]
        phone = Database(*names)
        for number in range(250):
            phone.save(f"d-{number}", {"n": number})
            phone.save(f"v-{number}", {"n": number}, "visits")
        blob = phone.blob(b"x" * 200_000)
        revision = phone.save("same", {"of": "results", "file": blob}, "lab.results")
        phone.save("same", {"of": "visits"}, "visits")
        for number in range(120):
            self.node.put("clinic.lab.results", f"r-{number}", {"n": number})
        first = self.replicate(phone, collections=names)
        self.assertEqual(first.errors, {})
        self.assertEqual(len(first.sent), 502)
        self.assertEqual(len(first.received), 120)
        self.assertEqual(self.node.count("clinic"), 250)
        self.assertEqual(self.node.count("clinic.visits"), 251)
        self.assertEqual(self.node.document("clinic.visits", "same")["of"], "visits")
        self.assertEqual(phone.body("r-7", "lab.results"), {"n": 7})
        self.assertFalse(self.node.has("clinic", "same"))
        # The other node had none of them.
        for name in ("clinic", "clinic.visits", "clinic.lab.results"):
            await_converged([self.node, other], name)
        self.assertTrue(other.has("clinic.lab.results", "same", revision))
        # Each goes on from its own checkpoint; the default one also from a link without collections.
        self.replicate(phone, collections=names)
        again = self.replicate(phone, collections=list(reversed(names)))
        self.assertEqual((again.proposed, again.announced), (0, 0))
        legacy = self.replicate(phone)
        self.assertEqual((legacy.proposed, legacy.announced), (0, 0))
        other.put("clinic.visits", "from-bert", {})
        wait_for("bert's visit", lambda: self.node.has("clinic.visits", "from-bert"))
        self.assertEqual(self.replicate(phone, collections=["visits"]).received, ["from-bert"])
        # One that is not here is not made for a client.
        missing = self.replicator(Database("_default", "unknown"), collections=["_default", "unknown"])
        self.assertEqual(missing.missing_collections, ["unknown"])
        missing.finish()
        with self.assertRaises(RestError):
            self.node.count("clinic.unknown")
