"""Pairing as people do it, at two terminals, and as scripts do it."""

import json
import re
import subprocess
import sys
import unittest

from kithtest import LONG, ROOT, NodeTestCase, await_converged, wait_for
from terminal import Terminal

NUMBER = re.compile(r"      (\d{3} \d{3})   ([a-z]+-[a-z]+-[a-z]+)\n")


class Pairing(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.tablet = self.new_node("tablet").start("--port", "0", "--no-discovery")
        self.kitchen = self.new_node("kitchen-pi").start("--port", "0", "--no-discovery")

    def at(self, node, *arguments):
        """A terminal at a node's machine, with a command on it."""
        terminal = Terminal(node.argv(*arguments), node.environment())
        self.addCleanup(terminal.close)
        return terminal

    def ask(self, who=None):
        """tablet asks and kitchen-pi accepts; both people are asked about the number."""
        asking = self.at(self.tablet, "pair", f"127.0.0.1:{self.kitchen.port}")
        asking.until("kith pair accept")
        wait_for("the request at kitchen-pi", lambda: [n for n in self.kitchen.status()["nearby"] if n["askedAt"]])
        # By name, or by the ID in any form.
        asked = self.at(self.kitchen, "pair", "accept", who or "tablet")
        asked.until("tablet (127.0.0.1:", "wants to pair", "[y/N]")
        asking.until("[y/N]")
        return asking, asked

    def number(self, terminal):
        return NUMBER.search(terminal.shown).groups()

    def assertNobodyTrusted(self):
        for node in (self.tablet, self.kitchen):
            self.assertEqual(node.status()["peers"], [])

    def test_two_people(self):
        """two people see the same number on two terminals, say Yes, and their nodes replicate"""
        for node in (self.tablet, self.kitchen):
            node.create("clinic")
        rev = self.kitchen.put("clinic", "bed:1", {"n": 1})
        asking, asked = self.ask()
        self.assertEqual(self.number(asking), self.number(asked))
        self.assertNobodyTrusted()
        asking.type("y\n")
        asking.until("Waiting for kitchen-pi")
        self.assertNobodyTrusted()
        asked.type("yes\n")
        self.assertEqual((asking.end(), asked.end()), (0, 0))
        self.assertIn("● Paired with kitchen-pi", asking.shown)
        self.assertIn("● Paired with tablet", asked.shown)
        wait_for("the document on tablet", lambda: self.tablet.has("clinic", "bed:1", rev))
        await_converged([self.tablet, self.kitchen], "clinic")
        # It is in the book for good.
        for node in (self.tablet, self.kitchen):
            self.assertEqual(node.stop(), 0)
            self.assertEqual(len(json.loads((node.folder / "peers.json").read_text())["peers"]), 1)

    def test_no(self):
        """Enter alone means No, on either side, and ends it on both, also after the other has said Yes"""
        for first in ("asking", "asked"):
            asking, asked = self.ask()
            says_no, other = (asking, asked) if first == "asking" else (asked, asking)
            other.type("y\n")
            other.until("Waiting for ")
            says_no.type("\n")
            self.assertEqual((says_no.end(), other.end()), (17, 17))
            self.assertIn("the screens differ; nothing was paired", says_no.shown)
            self.assertIn("somebody said that the screens differ", other.shown)
            self.assertIn("Somebody may be listening", other.shown)
            self.assertNobodyTrusted()

    def test_typed_before(self):
        """what was typed before the number is shown is no answer to it"""
        asking = self.at(self.tablet, "pair", f"127.0.0.1:{self.kitchen.port}")
        asking.until("kith pair accept")
        asking.type("y\n")
        # The terminal has shown it, so it has taken it.
        asking.until("y\n")
        asked = self.at(self.kitchen, "pair", "accept")
        asked.until("[y/N]")
        asking.until("[y/N]")
        asked.type("y\n")
        asked.until("Waiting for tablet")
        self.assertNobodyTrusted()
        asking.type("n\n")
        self.assertEqual((asking.end(), asked.end()), (17, 17))
        self.assertNobodyTrusted()

    def test_given_up(self):
        """Ctrl-C gives it up, the other side is told, and nobody is trusted; it can be tried again"""
        asking, asked = self.ask()
        asking.interrupt()
        self.assertEqual(asking.end(), 130)
        self.assertEqual(asked.end(), 75)
        self.assertIn("tablet gave up", asked.shown)
        self.assertNobodyTrusted()
        asking, asked = self.ask(self.tablet.node_id.replace("-", "").lower())
        # The terminal of one is closed.
        asked.process.kill()
        asked.end()
        self.assertEqual(asking.end(), 75)
        self.assertIn("kitchen-pi gave up", asking.shown)
        self.assertNobodyTrusted()

    def test_node_killed(self):
        """a node that is killed in the middle pairs nobody"""
        asking, asked = self.ask()
        self.kitchen.kill()
        self.assertEqual(asking.end(), 75)
        self.assertIn("was lost; nothing was paired", asking.shown)
        self.assertNotEqual(asked.end(), 0)
        self.assertEqual(self.tablet.status()["peers"], [])

    def test_declined(self):
        """a request that is declined over REST ends at the one that asked, before any number is shown"""
        asking = self.at(self.tablet, "pair", f"127.0.0.1:{self.kitchen.port}")
        wait_for("the request", lambda: [n for n in self.kitchen.status()["nearby"] if n["askedAt"]])
        listed = self.kitchen.check("pair")
        self.assertIn("tablet", listed)
        self.assertIn("asks to pair", listed)
        self.assertIn("kith pair accept tablet", listed)
        self.assertIn("1 device is waiting for you", self.kitchen.check("status"))
        pairing = self.kitchen.get("/_kith/pairings")["pairings"][0]
        self.assertEqual((pairing["role"], pairing["state"], pairing["name"]), ("responder", "waiting", "tablet"))
        for body in ({"same": True}, {}, {"accept": False}):
            status, _ = self.kitchen.request("POST", f"/_kith/pairings/{pairing['pairing']}", body)
            self.assertIn(status, (400, 409))
        self.kitchen.call("DELETE", f"/_kith/pairings/{pairing['pairing']}")
        self.assertEqual(asking.end(), 17)
        self.assertIn("does not want to pair", asking.shown)
        self.assertNotIn("Do both screens", asking.shown)
        self.assertEqual(self.kitchen.request("GET", "/_kith/pairings/99")[0], 404)

    def script(self, node, *arguments):
        """A program that runs a command with --json and talks with it."""
        process = subprocess.Popen(
            node.argv(*arguments, "--json"), env=node.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_scripts(self):
        """a program pairs with --json: it reads the number, and answers on the standard input"""
        accepting = self.script(self.kitchen, "pair", "accept", "tablet")
        asking = self.script(self.tablet, "pair", f"127.0.0.1:{self.kitchen.port}")
        numbers = {}
        for process in (asking, accepting):
            for line in process.stdout:
                event = json.loads(line)
                if event["state"] == "comparing":
                    numbers[process] = event["digits"]
                    break
        self.assertEqual(numbers[asking], numbers[accepting])
        for process in (asking, accepting):
            process.stdin.write("yes\n")
            process.stdin.flush()
        for process in (asking, accepting):
            events = [json.loads(line) for line in process.stdout]
            self.assertEqual(events[-1]["state"], "paired")
            self.assertTrue(events[-1]["confirmed"])
            self.assertEqual(process.wait(), 0)

    def middle(self):
        """A program between the two machines, and the port where it pretends to be kitchen-pi."""
        attacker = self.new_node("attacker")
        process = self.spawn(
            [sys.executable, ROOT / "Tests" / "Support" / "machine_in_the_middle.py", attacker.certificate, attacker.key,
             str(self.kitchen.port)], stdout=subprocess.PIPE, text=True)
        return process, int(process.stdout.readline())

    @unittest.skipUnless(LONG, "only with --long")
    def test_machine_in_the_middle(self):
        """a program in the middle that passes everything on is noticed by the machines themselves, and nobody is paired"""
        process, port = self.middle()
        asking = self.at(self.tablet, "pair", f"127.0.0.1:{port}")
        asking.until("kith pair accept")
        wait_for("the request at kitchen-pi", lambda: [n for n in self.kitchen.status()["nearby"] if n["askedAt"]])
        # What tablet has bound itself to names the keys that it sees, and kitchen-pi sees another. One that speaks for itself
        # on each side gets further, to screens that differ: PairingTests has that.
        asked = self.at(self.kitchen, "pair", "accept", "tablet")
        asked.until("does not keep to the protocol of pairing")
        # It was really there, in both directions.
        self.assertEqual(process.stdout.readline()[0], ">")
        self.assertTrue(any(line.startswith("<") for line in process.stdout))
        for terminal in (asked, asking):
            self.assertNotEqual(terminal.end(), 0, terminal.shown)
        self.assertNotIn("Paired", asking.shown + asked.shown)
        self.assertNobodyTrusted()

    @unittest.skipUnless(LONG, "only with --long")
    def test_machine_in_the_middle_of_an_invitation(self):
        """the same between a machine that invites and one that joins with the right code: neither is paired"""
        _, port = self.middle()
        inviting = self.at(self.kitchen, "pair", "invite")
        inviting.until("Ctrl-C takes it back.")
        code = inviting.shown.split("kith pair join ")[1].split()[0]
        done = self.tablet.run("pair", "join", code, f"127.0.0.1:{port}")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        inviting.until("used a wrong code")
        self.assertNobodyTrusted()

    def test_no_answer_possible(self):
        """without a terminal and without input nothing is paired, and nobody is alarmed"""
        asking = self.script(self.tablet, "pair", f"127.0.0.1:{self.kitchen.port}")
        done = self.kitchen.run("pair", "accept", "tablet")
        self.assertEqual(done.returncode, 75, done.stderr)
        last = [json.loads(line) for line in asking.stdout][-1]
        self.assertEqual((last["state"], last["reason"], last["by_peer"]), ("failed", "cancelled", True))
        self.assertEqual(asking.wait(), 75)
        self.assertNobodyTrusted()

    def test_mistakes(self):
        """a name that nobody has, an address where nobody is, and nobody who asks: each is said"""
        self.assertRefused(self.tablet.run("pair", "nobody"), 10, "nobody", "kith pair")
        self.assertRefused(self.tablet.run("pair", "127.0.0.1:1"), 75, "127.0.0.1:1")
        self.assertRefused(self.tablet.run("pair", f"127.0.0.1:{self.tablet.port}"), 19, "this node itself")
        self.assertRefused(self.tablet.run("pair", "one:two:three"), 10, "one:two:three")
        done = self.tablet.run("pair", "accept", "--timeout", "100ms")
        self.assertEqual(done.returncode, 5)
        self.assertIn("in vain", done.stderr)
        self.assertIn("No other node", self.tablet.check("pair"))
        self.assertEqual(self.home("none").run("pair").returncode, 3)

    def test_same_name(self):
        """a machine with the name of a peer but another key: the person is warned, and the peer stays as it is"""
        other = self.new_node("kitchen-pi-2")
        self.tablet.check("trust", other.node_id, "--name", "kitchen-pi")
        asking, asked = self.ask()
        self.assertIn("You trust another machine that is called kitchen-pi", asking.shown)
        asking.type("y\n")
        asked.type("y\n")
        self.assertEqual((asking.end(), asked.end()), (0, 0))
        names = {peer["name"] for peer in self.tablet.status()["peers"]}
        self.assertEqual(names, {"kitchen-pi", self.kitchen.status()["node"]["id"]})
        # Once more, a peer keeps the name that it has here.
        self.tablet.check("trust", self.kitchen.node_id, "--name", "the kitchen")
        asking, asked = self.ask()
        self.assertIn("the kitchen is trusted here already", asking.shown)
        asking.type("y\n")
        asked.type("y\n")
        self.assertEqual((asking.end(), asked.end()), (0, 0))
        self.assertEqual({peer["name"] for peer in self.tablet.status()["peers"]}, {"kitchen-pi", "the kitchen"})
