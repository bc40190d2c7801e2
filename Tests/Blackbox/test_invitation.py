"""Pairing by an invitation code, at terminals and by scripts."""

import json
import re
import subprocess

from kithtest import NodeTestCase, await_converged, wait_for
from terminal import Terminal

CODE = re.compile(r"kith pair join (\d(?:-[a-z]+){3})\s")


class Invitation(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.kitchen = self.new_node("kitchen-pi").start("--port", "0", "--no-discovery")
        self.tablet = self.new_node("tablet").start("--port", "0", "--no-discovery")

    def invite(self, *options):
        """A terminal at kitchen-pi that has shown a code, and the code."""
        terminal = Terminal(self.kitchen.argv("pair", "invite", *options), self.kitchen.environment())
        self.addCleanup(terminal.close)
        terminal.until("Ctrl-C takes it back.")
        return terminal, CODE.search(terminal.shown).group(1)

    def join(self, code, node=None, text=None):
        return (node or self.tablet).run("pair", "join", code, f"127.0.0.1:{self.kitchen.port}", stdin=text)

    def wrong(self, code):
        """Another code than this one."""
        return ("8" if code[0] != "8" else "7") + code[1:]

    def assertNobodyTrusted(self, *nodes):
        for node in nodes or (self.tablet, self.kitchen):
            self.assertEqual(node.status()["peers"], [])

    def test_a_code(self):
        """a code that is typed on the other machine pairs the two, once and for good, and they replicate"""
        for node in (self.tablet, self.kitchen):
            node.create("clinic")
        rev = self.kitchen.put("clinic", "bed:1", {"n": 1})
        inviting, code = self.invite()
        self.assertNobodyTrusted()
        # As people type it: other case, spaces, shortened words.
        digit, one, two, three = code.split("-")
        typed = f"{digit} {one[:3].upper()} {two} {three}"
        done = self.join(typed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Paired with kitchen-pi", done.stdout)
        self.assertEqual(inviting.end(), 0)
        self.assertIn("tablet (127.0.0.1:", inviting.shown)
        self.assertIn("Paired with tablet", inviting.shown)
        wait_for("the document on tablet", lambda: self.tablet.has("clinic", "bed:1", rev))
        await_converged([self.tablet, self.kitchen], "clinic")
        # A third machine that has heard the code is too late.
        third = self.new_node("third").start("--port", "0", "--no-discovery")
        done = self.join(code, third)
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn("has no invitation open", done.stderr)
        self.assertNobodyTrusted(third)
        # The code is in no log and no file of either node.
        for node in (self.tablet, self.kitchen):
            self.assertEqual(node.stop(), 0)
            for path in [node.log_path, *(p for p in node.folder.rglob("*") if p.is_file())]:
                for text in (code, typed):
                    self.assertNotIn(text.encode(), path.read_bytes(), path)
            self.assertEqual(len(json.loads((node.folder / "peers.json").read_text())["peers"]), 1)

    def test_picture(self):
        """the text of the QR code is taken like the code, from wherever the host listens"""
        host = self.new_node("host").start("--port", "0", "--listen", "127.0.0.1", "--no-discovery")
        feed = subprocess.Popen(
            host.argv("pair", "invite", "--qr", "--json"), env=host.environment(), stdout=subprocess.PIPE, text=True)
        self.addCleanup(feed.stdout.close)
        self.addCleanup(feed.wait)
        first = json.loads(feed.stdout.readline())
        short = "-".join(host.node_id.split("-")[:2])
        self.assertEqual(
            first["uri"], f"kith:join/1?code={first['code']}&id={short}&at=127.0.0.1:{host.port}&name=host")
        # Another machine that answers there is passed over.
        other = first["uri"].replace(f"127.0.0.1:{host.port}", f"127.0.0.1:{self.kitchen.port}")
        done = self.tablet.run("pair", "join", other)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("as was announced", done.stderr)
        self.assertIn("newer version", self.tablet.run("pair", "join", first["uri"].replace("/1?", "/2?")).stderr)
        self.assertNobodyTrusted(self.tablet, host)
        self.assertIn("Paired with host", self.tablet.check("pair", "join", "-", stdin=first["uri"] + "\n"))
        self.assertEqual(json.loads(feed.stdout.readlines()[-1])["state"], "used")

    def test_wrong_codes(self):
        """a wrong code is said on both screens with the tries that are left; after three it is good no more"""
        inviting, code = self.invite()
        for left in ("2 tries left", "1 try left", "0 tries left"):
            done = self.join(self.wrong(code))
            self.assertEqual(done.returncode, 17, done.stderr)
            self.assertIn("that code is not valid", done.stderr)
            self.assertIn(left, done.stderr)
            if not left.startswith("0"):
                inviting.until(f"used a wrong code. {left}")
        self.assertEqual(inviting.end(), 17)
        self.assertIn("too many wrong codes", inviting.shown)
        done = self.join(code)
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertNobodyTrusted()
        # After a wrong one the right one still pairs.
        inviting, code = self.invite()
        self.assertEqual(self.join(self.wrong(code)).returncode, 17)
        self.assertEqual(self.join(code).returncode, 0)
        self.assertEqual(inviting.end(), 0)

    def test_taken_back(self):
        """Ctrl-C, a closed terminal, and the end of its time take the invitation back"""
        inviting, code = self.invite()
        inviting.interrupt()
        self.assertEqual(inviting.end(), 130)
        self.assertIn("Taken back", inviting.shown)
        self.assertEqual(self.join(code).returncode, 10)
        inviting, code = self.invite()
        inviting.process.kill()
        inviting.end()
        self.kitchen.await_log("invitation 2 was taken back")
        self.assertEqual(self.join(code).returncode, 10)
        inviting, code = self.invite("--expires", "1s")
        self.assertEqual(inviting.end(), 75)
        self.assertIn("nobody used the code in time", inviting.shown)
        self.assertEqual(self.join(code).returncode, 10)
        self.assertNobodyTrusted()

    def test_scripts(self):
        """programs invite with --json and join with the code on the standard input; only one invitation at a time"""
        inviting = subprocess.Popen(
            self.kitchen.argv("pair", "invite", "--json"), env=self.kitchen.environment(), stdout=subprocess.PIPE,
            text=True)
        self.addCleanup(inviting.communicate)
        self.addCleanup(inviting.kill)
        code = json.loads(inviting.stdout.readline())["code"]
        second = self.kitchen.run("pair", "invite")
        self.assertEqual(second.returncode, 12, second.stderr)
        self.assertIn("open already", second.stderr)
        done = self.tablet.run(
            "pair", "join", "-", f"127.0.0.1:{self.kitchen.port}", "--json", stdin=code + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((last["state"], last["peer"], last["confirmed"]), ("paired", "kitchen-pi", True))
        events = [json.loads(line) for line in inviting.stdout]
        self.assertEqual((events[-1]["state"], events[-1]["peer"]), ("used", "tablet"))
        self.assertTrue(all("code" not in event for event in events))
        self.assertEqual(inviting.wait(), 0)

    def test_terms(self):
        """an invitation can be to certain databases, and to reading: what it says holds from the first moment"""
        for node in (self.tablet, self.kitchen):
            for name in ("clinic", "private"):
                node.create(name)
        rev = self.kitchen.put("clinic", "bed:1", {"n": 1})
        self.kitchen.put("private", "secret", {"n": 1})
        inviting, code = self.invite("--db", "clinic", "--read-only")
        done = self.join(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("You may read clinic.", done.stdout)
        self.assertEqual(inviting.end(), 0)
        self.assertIn("It may read clinic.", inviting.shown)
        wait_for("the document on tablet", lambda: self.tablet.has("clinic", "bed:1", rev))
        peer = self.kitchen.get("/_kith/peers/tablet")
        self.assertEqual((peer["access"], peer["databases"]), ("none", {"clinic": {"access": "read", "replication": None}}))
        # What tablet writes stays there, and what is not shared is not seen.
        self.tablet.put("clinic", "bed:2", {"n": 2})
        rev = self.kitchen.put("clinic", "bed:3", {"n": 3})
        wait_for("the next document on tablet", lambda: self.tablet.has("clinic", "bed:3", rev))
        # Both sides have said that all has travelled that may.
        self.tablet.check("wait", "--synced-with", "kitchen-pi")
        self.kitchen.check("wait", "--synced-with", "tablet")
        self.assertEqual(self.kitchen.request("GET", "/clinic/bed:2")[0], 404)
        self.assertEqual(self.tablet.request("GET", "/private/secret")[0], 404)
        for body in ({"access": "none"}, {"access": 1}, {"databases": "clinic"}, {"databases": ["_x"]}, {"name": "x"}, {"databases": []}):
            self.assertEqual(self.kitchen.request("POST", "/_kith/invitations", body)[0], 400, body)
        names = [f"database{n}" for n in range(17)]
        self.assertEqual(self.kitchen.request("POST", "/_kith/invitations", {"databases": names})[0], 413)

    def test_mistakes(self):
        """what is no code, nobody who invites, and nobody nearby: each is said"""
        for code in ("", "7", "hello", "7-harbor-desert", "7-harbor-desert-bridges"):
            done = self.join(code)
            self.assertEqual(done.returncode, 19, done.stderr)
            self.assertIn("no invitation code", done.stderr)
        done = self.join("7-harbor-desert-bridge")
        self.assertEqual(done.returncode, 10, done.stderr)
        done = self.tablet.run("pair", "join", "7-harbor-desert-bridge")
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn("no other node is seen nearby", done.stderr)
        for text in ("0s", "25h", "2d", "forty", "1500ms"):
            self.assertNotEqual(self.kitchen.run("pair", "invite", "--expires", text).returncode, 0)
        for body in ([], {"code": 7}, {"expires": "soon"}):
            self.assertEqual(self.kitchen.request("POST", "/_kith/invitations", body)[0], 400)
        self.assertNobodyTrusted()
