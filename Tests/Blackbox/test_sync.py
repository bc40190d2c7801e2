"""`kith sync`: replication once, between real nodes."""

import json
import signal
import subprocess
import unittest

from kithtest import NodeTestCase, await_converged, wait_for


class Sync(NodeTestCase):
    def start_on_demand(self, *databases):
        """A pair that replicates when it is asked to only; bert is the one that knows an address."""
        a, b = self.start_pair(*databases)
        b.check("peers", "set", "anna", "replication=manual")
        b.await_peer("anna", "onDemand")
        return a, b

    def result(self, node, *arguments):
        """What `kith sync` says at its end."""
        lines = node.check("sync", *arguments, "--json").splitlines()
        return json.loads(lines[-1])

    def test_on_demand(self):
        """what is replicated on demand stands still until somebody types kith sync, and is on both sides then"""
        a, b = self.start_on_demand("clinic")
        wait_for("anna to say so too", lambda: a.peer("bert")["state"] in ("offline", "onDemand"))
        a.load("clinic", [{"_id": f"a-{n}", "n": n} for n in range(700)])
        b.load("clinic", [{"_id": f"b-{n}", "n": n} for n in range(300)])
        self.assertIn("on demand", b.check("status"))
        self.assertEqual(b.count("clinic"), 300)
        first = self.result(b, "clinic", "--peer", "anna")
        self.assertEqual((first["sent"], first["received"], first["refused"]), (300, 700, 0))
        self.assertEqual(a.digest("clinic")["digest"], b.digest("clinic")["digest"])
        # The next has nothing to do, also after both were started anew; and a change is all that the one after has to do.
        self.assertEqual(self.result(b, "clinic")["received"], 0)
        wait_for("nothing to be left to send", lambda: b.peer("anna")["toSend"] == 0)
        revision = a.put("clinic", "later", {"v": 1})
        out = b.check("sync", "clinic")
        self.assertIn("1 received", out)
        self.assertTrue(b.has("clinic", "later", revision))
        # And continuous again.
        b.check("peers", "set", "anna", "replication=default")
        b.await_peer("anna", "inSync")
        a.put("clinic", "now", {"v": 1})
        await_converged([a, b], "clinic")

    def test_beside_a_link(self):
        """kith sync beside the link that the pair keeps takes nothing from it"""
        a, b = self.start_pair("clinic")
        b.await_peer("anna", "inSync")
        since = b.peer("anna")["since"]
        for number in range(5):
            revision = a.put("clinic", f"doc-{number}", {"v": number})
            b.check("sync", "clinic", "--peer", "anna")
            self.assertTrue(b.has("clinic", f"doc-{number}", revision))
        self.assertEqual(b.peer("anna")["since"], since, "the link was made anew")
        self.assertNotIn("newer link", a.log() + b.log())
        # Where only the peer can open links, the one that is there does it.
        revision = a.put("clinic", "from-anna", {"v": 1})
        a.check("sync", "clinic", "--peer", "bert", "--push")
        self.assertTrue(b.has("clinic", "from-anna", revision))

    def test_one_way_and_certain_documents(self):
        """--push, --pull and --doc replicate that and no more, and what was passed over is not lost"""
        a, b = self.start_on_demand("clinic")
        for name in ("one", "two"):
            a.put("clinic", f"a-{name}", {"v": 1})
            b.put("clinic", f"b-{name}", {"v": 1})
        b.check("sync", "clinic", "--doc", "a-one", "--doc", "b-two", "--doc", "nobody")
        self.assertEqual([b.has("clinic", f"a-{n}") for n in ("one", "two")], [True, False])
        self.assertEqual([a.has("clinic", f"b-{n}") for n in ("one", "two")], [False, True])
        b.check("sync", "clinic", "--doc", "a-two", "--push")
        self.assertFalse(b.has("clinic", "a-two"))
        b.check("sync", "clinic", "--push")
        self.assertTrue(a.has("clinic", "b-one"))
        self.assertFalse(b.has("clinic", "a-two"))
        b.check("sync", "clinic", "--pull")
        self.assertEqual(a.digest("clinic")["digest"], b.digest("clinic")["digest"])

    def test_refused(self):
        """what cannot be done is told with its reason and an exit code of its own"""
        a, b = self.start_on_demand("clinic", "other")
        self.assertRefused(b.run("sync", "nothing", "--peer", "anna"), 11, "nothing")
        self.assertRefused(b.run("sync", "clinic", "--peer", "carla"), 10, "no peer carla")
        self.assertRefused(b.run("sync", "clinic", "--push", "--pull"), 64, "both ways")
        self.assertRefused(b.run("sync", "clinic", "--doc", "_secret"), 15)
        b.create("only-here")
        self.assertRefused(b.run("sync", "only-here"), 11, "anna has no database")
        a.check("peers", "set", "bert", "access=read", "--database", "clinic")
        a.check("peers", "set", "bert", "access=none", "--database", "other")
        b.put("clinic", "mine", {"v": 1})
        a.put("clinic", "yours", {"v": 1})
        self.assertRefused(b.run("sync", "clinic", "--push"), 31, "anna takes no changes of clinic")
        done = b.run("sync", "clinic")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only received", done.stderr.lower())
        self.assertTrue(b.has("clinic", "yours"))
        self.assertFalse(a.has("clinic", "mine"))
        self.assertRefused(b.run("sync", "other"), 11, "anna has no database", "or does not share it")
        b.check("peers", "set", "anna", "access=read", "--database", "other")
        self.assertRefused(b.run("sync", "other", "--pull"), 31, "anna may only read")
        # The other side stays as it is: nobody there was asked for anything.
        a.stop()
        self.assertRefused(b.run("sync", "clinic", "--peer", "anna"), 75, "anna is not reached")
        self.assertRefused(b.run("sync", "clinic"), 75, "anna is not reached")

    def test_interrupted(self):
        """Ctrl-C gives it up with exit code 130, the peer sees it go, and the next one begins where it ended"""
        a, b = self.start_on_demand("clinic")
        a.load("clinic", [{"_id": f"a-{n}", "text": "x" * 2000} for n in range(6000)])
        process = self.spawn(
            b.argv("sync", "clinic", "--json"), env=b.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        if process.returncode == 130:
            self.assertIn(b"given up", error)
            b.await_log("replicated once", "given up")
        else:
            # The machine was faster than the signal.
            self.assertEqual(process.returncode, 0, error)
        self.assertIn("state", first)
        b.check("sync", "clinic")
        self.assertEqual(a.digest("clinic")["digest"], b.digest("clinic")["digest"])

    def test_bounded(self):
        """a request that makes no sense is refused by name"""
        a, b = self.start_on_demand("clinic")
        for body, word in (
                ({}, "peer"), ({"peer": "anna", "direction": "none"}, "direction"), ({"peer": "anna", "doc_ids": []}, "doc_ids"),
                ({"peer": "anna", "doc_ids": [1]}, "doc_ids"), ({"peer": "anna", "speed": 1}, "speed"), ([], "object")):
            status, answer = b.request("POST", "/clinic/_sync", body)
            self.assertEqual(status, 400, answer)
            self.assertIn(word, answer["reason"])
        status, answer = b.request("POST", "/clinic/_sync", {"peer": "anna", "doc_ids": [f"d{n}" for n in range(10_001)]})
        self.assertEqual(status, 413, answer)


if __name__ == "__main__":
    unittest.main()
