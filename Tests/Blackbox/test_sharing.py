"""What a peer may do with which database, between real nodes."""

import json
import unittest

from couchbase_lite import Database, Replicator
from kithtest import NodeTestCase, await_converged, wait_for


class Sharing(NodeTestCase):
    def shared(self, node, peer, database):
        """What the status of a node says of one database with a peer."""
        return next((d for d in node.peer(peer)["databases"] if d["name"] == database), None)

    def await_shared(self, node, peer, database, **members):
        def check():
            found = self.shared(node, peer, database)
            return found if found and all(found[name] == value for name, value in members.items()) else None
        return wait_for(f"{node.name} to say {members} of {database} with {peer}", check)

    def test_read_only_and_back(self):
        """a read-only peer gets changes and gives none; given back, what it wrote meanwhile follows"""
        a, b = self.start_pair("clinic", "other")
        a.await_peer("bert", "inSync")
        a.put("clinic", "before", {"v": 1})
        await_converged([a, b], "clinic")
        out = a.check("peers", "set", "bert", "access=read", "--database", "clinic")
        self.assertIn("read only", out)
        self.assertIn("read only", b"".join([a.check("peers").encode()]).decode())
        kept = json.loads(a.check("peers", "bert", "--json"))
        self.assertEqual(kept["databases"]["clinic"]["access"], "read")
        self.assertIsNone(kept["access"])
        self.await_shared(a, "bert", "clinic", state="inSync", access="read", direction="send")
        # The other end says the same from its side: it is allowed everything here, and gives nothing there.
        self.await_shared(b, "anna", "clinic", state="inSync", access="both", direction="receive", toSend=0)
        b.put("clinic", "mine", {"v": "bert"})
        b.put("other", "mine", {"v": "bert"})
        a.put("clinic", "yours", {"v": "anna"})
        wait_for("anna's document on bert", lambda: b.has("clinic", "yours"))
        wait_for("bert's other document on anna", lambda: a.has("other", "mine"))
        self.await_shared(a, "bert", "clinic", state="inSync", toSend=0, toReceive=0)
        self.await_shared(b, "anna", "clinic", state="inSync", toSend=0, toReceive=0)
        self.assertFalse(a.has("clinic", "mine"))
        self.assertIn("read-only", a.check("status"))
        self.assertIn("takes no changes of clinic", b.check("status"))
        self.assertIn("not sent", b.check("explain", "clinic/mine"))
        # Also after both were started anew.
        port = a.port
        a.stop()
        self.await_shared(b, "anna", "clinic", state="offline", toSend=0)
        a.start("--port", str(port), "--no-discovery")
        self.await_shared(a, "bert", "clinic", state="inSync", direction="send")
        self.assertFalse(a.has("clinic", "mine"))
        a.check("peers", "set", "bert", "access=default", "--database", "clinic")
        wait_for("what bert wrote meanwhile", lambda: a.has("clinic", "mine"))
        await_converged([a, b], "clinic")
        self.await_shared(b, "anna", "clinic", state="inSync", direction="both")

    def test_write_only(self):
        """a write-only peer gives its changes and gets none, whoever of the two opens the link"""
        pair = self.start_pair("clinic")
        for node, peer in (pair, reversed(pair)):
            node.put("clinic", f"first of {node.name}", {"v": 1})
            await_converged(pair, "clinic")
            node.check("peers", "set", peer.name, "access=write")
            self.await_shared(node, peer.name, "clinic", state="inSync", direction="receive")
            node.put("clinic", f"secret of {node.name}", {"v": 2})
            peer.put("clinic", f"report of {peer.name}", {"v": 3})
            wait_for("the report", lambda: node.has("clinic", f"report of {peer.name}"))
            self.await_shared(node, peer.name, "clinic", state="inSync", toSend=0)
            self.assertFalse(peer.has("clinic", f"secret of {node.name}"))
            self.assertIn("write-only", node.check("status", peer.name))
            node.check("peers", "set", peer.name, "access=both")

    def test_hidden(self):
        """a database that a peer may do nothing with is not there for it, and the others go on"""
        a, b = self.start_pair("clinic", "open")
        a.put("clinic", "secret", {"v": 1})
        await_converged([a, b], "clinic")
        a.check("peers", "set", "bert", "access=none", "--database", "clinic")
        a.put("clinic", "later", {"v": 2})
        a.put("open", "later", {"v": 2})
        wait_for("the open database to go on", lambda: b.has("open", "later"))
        self.assertIsNone(self.shared(a, "bert", "clinic"))
        # What bert is told is what it is told of a database that has never been.
        b.create("never")
        wait_for("both to be told as missing", lambda: all(
            f'no database "{name}"' in (self.shared(b, "anna", name)["lastError"] or "") for name in ("clinic", "never")))
        self.assertFalse(b.has("clinic", "later"))
        self.assertIn("not shared", a.check("explain", "clinic/later"))
        a.check("peers", "set", "bert", "access=both", "--database", "clinic")
        await_converged([a, b], "clinic")

    def test_client(self):
        """a client that is no Kith node is refused by 403 what it may not do, and goes on with the rest"""
        a = self.start_node("anna")
        a.create("clinic")
        app = self.new_node("app")
        a.trust(app)
        a.put("clinic", "here", {"v": 1})
        identity = (app.certificate, app.key)
        a.check("peers", "set", "app", "access=read")
        database = Database()
        database.save("mine", {"v": 1})
        Replicator(database, a.port, "clinic", identity, push=False).run()
        self.assertEqual(database.body("here"), {"v": 1})
        push = Replicator(database, a.port, "clinic", identity, pull=False)
        with self.assertRaisesRegex(Exception, "403"):
            push.run()
        self.assertFalse(a.has("clinic", "mine"))

    def test_refused_commands(self):
        """what cannot be set is refused by name, and nothing has changed"""
        a, b = self.start_pair()
        self.assertRefused(a.run("peers", "set", "carla", "access=read"), 10, "no peer carla")
        self.assertRefused(a.run("peers", "set", "bert", "access=some"), 64, "access", "some")
        self.assertRefused(a.run("peers", "set", "bert", "colour=red"), 64, "colour")
        self.assertRefused(a.run("peers", "set", "bert", "access=read", "--database", "_x"), 15)
        status, answer = a.request("PUT", "/_kith/peers/bert/sharing", {"access": "some"})
        self.assertEqual(status, 400, answer)
        status, answer = a.request("PUT", "/_kith/peers/bert/sharing", {"acess": "read"})
        self.assertEqual(status, 400, answer)
        self.assertEqual(json.loads(a.check("peers", "--json"))["access"], None)


if __name__ == "__main__":
    unittest.main()
