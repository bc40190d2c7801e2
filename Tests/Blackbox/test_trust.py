"""Taking trust back everywhere, new certificates and new keys, between three real nodes."""

import json
import os
import shutil
import subprocess

from kithtest import NodeTestCase, await_converged, wait_for


class Trust(NodeTestCase):
    def start_three(self):
        """anna, bert and carla, all paired with each other; bert and carla know where the ones before them are."""
        a = self.start_node("anna")
        b, c = self.new_node("bert"), self.new_node("carla")
        for node, others in ((a, (b, c)), (b, (a, c)), (c, (a, b))):
            node.trust(*others)
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        c.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}", "--peer", f"127.0.0.1:{b.port}")
        for node in (a, b, c):
            node.create("clinic")
        a.put("clinic", "before", {"v": 1})
        await_converged([a, b, c], "clinic")
        return a, b, c

    def restart(self, node, port, *others):
        peers = [word for other in others for word in ("--peer", f"127.0.0.1:{other}")]
        node.start("--port", str(port), "--no-discovery", *peers)

    def problem(self, node, code):
        return next((p for p in node.status()["problems"] if p["code"] == code), None)

    def await_problem(self, node, code):
        return wait_for(f"{node.name} to say {code}", lambda: self.problem(node, code))

    def test_revoked_everywhere(self):
        """anna revokes carla: bert cuts her off at once and says why; a person overrules it on his node alone"""
        a, b, c = self.start_three()
        out = a.check("peers", "revoke", "carla", "--reason", "left on the train")
        self.assertIn("Revoked carla", out)
        self.assertIn("Told: bert", out)
        found = self.await_problem(b, "revoked")
        self.assertIsNone(b.peer("carla"))
        for word in ("carla", "anna", "left on the train"):
            self.assertIn(word, found["subject"] + found["text"])
        self.assertIn("kith peers restore carla", b.check("status"))
        self.assertIn("by anna", b.check("peers"))
        self.assertIn("left on the train", b.check("peers", "show", "carla"))
        self.assertIsNone(self.problem(a, "revoked"), "what was decided here is no alarm here")
        rev = a.put("clinic", "after", {"v": 2})
        wait_for("the document on bert", lambda: b.has("clinic", "after", rev))
        # carla is refused by both, and is told by whom and why.
        here = self.await_problem(c, "revoked-here")
        self.assertEqual(here["subject"], "anna")
        self.assertIn("left on the train", here["text"])
        self.assertFalse(c.has("clinic", "after"))
        # What carla says from now on counts for nobody.
        c.check("peers", "revoke", "anna")
        # It holds over restarts.
        ports = [node.port for node in (a, b)]
        for node in (a, b):
            node.stop()
        self.restart(a, ports[0])
        self.restart(b, ports[1], ports[0])
        self.assertIsNone(b.peer("carla"))
        self.assertIsNotNone(self.problem(b, "revoked"))
        b.await_peer("anna", "inSync")
        # bert's person overrules it; anna stays with her word.
        self.assertIn("trusted again", b.check("peers", "restore", "carla"))
        self.assertIsNone(self.problem(b, "revoked"))
        wait_for("the document on carla", lambda: c.has("clinic", "after", rev))
        b.await_peer("anna", "inSync")
        self.assertIsNotNone(b.peer("carla"))
        self.assertIsNone(a.peer("carla"))

    def test_learned_later(self):
        """bert was off when anna revoked carla, and learns it when he is back; pairing carla again lifts it on his node"""
        a, b, c = self.start_three()
        port = b.port
        b.stop()
        out = json.loads(a.check("peers", "revoke", "carla", "--json"))
        self.assertEqual((out["told"], out["waiting"]), ([], ["bert"]))
        self.assertTrue(out["revocation"]["here"])
        self.restart(b, port, a.port)
        self.await_problem(b, "revoked")
        self.assertIsNone(b.peer("carla"))
        b.trust(c)
        self.assertIsNone(self.problem(b, "revoked"))
        b.await_peer("carla", "inSync")
        b.stop()
        self.restart(b, port, a.port)
        b.await_peer("anna", "inSync")
        b.await_peer("carla", "inSync")

    def test_names(self):
        """a peer is renamed here alone, shown whole, and compared by words that both machines show"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        self.assertIn("called berta", a.check("peers", "rename", "bert", "berta"))
        self.assertEqual(b.peer("anna")["state"], "inSync")
        self.assertRefused(a.run("peers", "rename", "bert", "x"), 10, "no peer bert")
        self.assertRefused(a.run("peers", "rename", "berta", ""), 15, "empty")
        shown = json.loads(a.check("peers", "show", "berta", "--json"))
        self.assertEqual((shown["id"], shown["pairedBy"], shown["verifiedAt"]), (b.node_id, "id", None))
        self.assertTrue(shown["connected"])
        words = [json.loads(node.check("peers", "verify", name, "--json"))["words"]
                 for node, name in ((a, "berta"), (b, "anna"))]
        self.assertEqual(words[0], words[1])
        self.assertEqual(len(words[0]), 12)
        self.assertIn("Compared with berta", a.check("peers", "verify", "berta", "--yes"))
        self.assertIsNotNone(json.loads(a.check("peers", "show", "berta", "--json"))["verifiedAt"])
        self.assertIn(b.node_id, a.check("peers", "show", "berta"))

    def test_new_key(self):
        """bert rotates his key while anna is off; she follows when she meets him, and refuses the old key"""
        a, b = self.start_pair("clinic")
        a.put("clinic", "before", {"v": 1})
        await_converged([a, b], "clinic")
        port, old = a.port, b.node_id
        self.assertRefused(b.run("key", "rotate", "--yes"), 20, "runs on the home")
        stale = self.folder / "stale"
        b.stop()
        shutil.copytree(b.folder, stale)
        a.stop()
        # A rotation that cannot write its files, or dies of that, leaves the old identity whole.
        crash = subprocess.run(
            ["bash", "-c", 'ulimit -f 0; exec "$@"', "kith", *b.argv("key", "rotate", "--yes")], env=b.environment(),
            capture_output=True)
        self.assertNotEqual(crash.returncode, 0)
        self.assertEqual(b.node_id, old)
        answer = json.loads(b.check("key", "rotate", "--yes", "--json"))
        self.assertEqual(answer["formerID"], old)
        self.assertEqual(b.node_id, answer["id"])
        self.assertNotEqual(b.node_id, old)
        self.assertEqual(os.stat(b.key).st_mode & 0o777, 0o600)
        # One that dies before it has removed the old key leaves that to the next start.
        shutil.copytree(stale / "identity", b.folder / "identity.partial")
        self.restart(a, port)
        self.restart(b, 0, port)
        self.assertEqual([p.name for p in b.folder.glob("identity*")], ["identity"])
        wait_for("anna to follow", lambda: (a.peer("bert") or {}).get("fullID") == b.node_id)
        a.await_peer("bert", "inSync")
        self.assertEqual(json.loads(a.check("peers", "show", "bert", "--json"))["formerIDs"], [old])
        rev = b.put("clinic", "after", {"v": 2})
        wait_for("the document on anna", lambda: a.has("clinic", "after", rev))
        # The copy with the old key is a stranger now, and learns that its key was replaced.
        copy = self.new_node("stale", init=False)
        self.restart(copy, 0, port)
        self.assertIn("replaced", self.await_problem(copy, "key-replaced")["text"])
        self.assertEqual(a.peer("bert")["fullID"], b.node_id)

    def test_one_key_twice(self):
        """two machines with one key say so: a home was copied"""
        a = self.start_node("anna")
        other = self.new_node("bert")
        a.trust(other)
        shutil.copytree(a.folder, self.folder / "copy", ignore=shutil.ignore_patterns("run"))
        os.mkdir(self.folder / "copy" / "run", 0o700)
        a.create("clinic")
        copy = self.new_node("copy", init=False)
        copy.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        copy.create("clinic")
        for node in (copy, a):
            self.assertIn("own key", self.await_problem(node, "key-shared")["text"])
        # It stands over a restart, until somebody says that the copy is gone.
        copy.stop()
        port = a.port
        a.stop()
        a.start("--port", str(port), "--no-discovery")
        self.assertIsNotNone(self.problem(a, "key-shared"))
        a.check("key", "settle", "--yes")
        self.assertIsNone(self.problem(a, "key-shared"))

    def test_known_name_with_another_key(self):
        """a machine that calls itself like a peer and has another key is an alarm until a person decides"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        port, old = b.port, b.node_id
        b.stop()
        shutil.rmtree(b.folder)
        b.init()
        b.trust(a)
        b.start("--port", str(port), "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        b.create("clinic")
        b.put("clinic", "new", {"v": 1})
        found = self.await_problem(a, "key-changed")
        self.assertIn("kith peers verify bert", found["command"])
        self.assertFalse(a.has("clinic", "new"))
        out = a.check("peers", "verify", "bert")
        for text in (old, b.node_id):
            self.assertIn(text, out)
        a.check("peers", "verify", "bert", "--accept", b.node_id, "--yes")
        self.assertIsNone(self.problem(a, "key-changed"))
        wait_for("the document on anna", lambda: a.has("clinic", "new"))

    def test_renewed_certificate(self):
        """a certificate that ends soon is renewed by itself, and by hand without cutting the link; the node stays the same"""
        a, b = self.start_pair("clinic")
        a.await_peer("bert", "inSync")
        b.stop()
        subprocess.run(
            ["openssl", "req", "-x509", "-new", "-key", b.key, "-subj", "/CN=bert", "-days", "2", "-out", b.certificate],
            check=True, capture_output=True)
        before = open(b.certificate).read()
        self.restart(b, 0, a.port)
        wait_for("a new certificate", lambda: open(b.certificate).read() != before)
        b.await_peer("anna", "inSync")
        since = a.peer("bert")["since"]
        renewed = open(b.certificate).read()
        self.assertIn("the key is the same", b.check("cert", "renew"))
        self.assertNotEqual(open(b.certificate).read(), renewed)
        self.assertEqual(a.peer("bert")["since"], since)
        self.assertEqual(a.peer("bert")["fullID"], b.node_id)
        # The next link shows the new one.
        port = a.port
        a.stop()
        self.restart(a, port)
        b.await_peer("anna", "inSync")
