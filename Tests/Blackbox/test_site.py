"""Nodes of a site's own authority: trusted without pairing, and cut off by its revocation list."""

import json
import os
import ssl
import subprocess

import blip
from kithtest import ROOT, NodeTestCase, await_converged, wait_for


class Site(NodeTestCase):
    def site(self, *arguments):
        """One command of certs/site; its output."""
        done = subprocess.run([ROOT / "certs" / "site", *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def problems(self, node, code):
        return [p for p in node.status()["problems"] if p["code"] == code]

    def assertNotDone(self, done, words):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(words, done.stderr)

    def begin(self, node, *others):
        return node.start(
            "--port", "0", "--no-discovery", *(w for other in others for w in ("--peer", f"127.0.0.1:{other.port}")))

    def connect(self, node, made):
        """A client that speaks TLS 1.2 with a certificate and its key, up to the answer to its upgrade."""
        return blip.WebSocket(
            node.port, "/clinic/_blipsync", (made / "certificate.pem", made / "key.pem"), "BLIP_3+CBMobile_3")

    def assertOldTLS(self, node, folder):
        """With TLS 1.2 the certificate is judged as with 1.3."""
        self.connect(node, folder / "carla-made").socket.close()
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connect(node, folder / "mallory-made")

    def assertGrants(self, node, other):
        """What config.json grants counts as soon as it says so, and a file that cannot be read changes nothing."""
        path = node.folder / "config.json"
        config = json.loads(path.read_text())

        def write(text):
            (node.folder / "config.new").write_text(text)
            os.rename(node.folder / "config.new", path)

        write("{")
        wait_for("the fault", lambda: self.problems(node, "site-grants"))
        node.await_peer(other.name, "inSync")
        config["site"]["databases"] = {"clinic": "none"}
        write(json.dumps(config))
        wait_for("no grants", lambda: (node.peer(other.name) or {}).get("state") == "notShared")
        self.assertEqual(self.problems(node, "site-grants"), [])
        config["site"]["databases"] = {"clinic": "both"}
        write(json.dumps(config))
        node.await_peer(other.name, "inSync")

    def test_three_nodes(self):
        """three nodes of one authority link without pairing; one is revoked by the list, one of another authority never gets in"""
        folder = self.folder
        ours, theirs = folder / "ours", folder / "theirs"
        self.site("ca", ours, "Clinic")
        self.site("ca", theirs, "Clinic")
        nodes = {}
        for name, authority in (("anna", ours), ("carla", ours), ("mallory", theirs)):
            self.site("node", authority, name, folder / f"{name}-made")
        # bert makes his own key, and asks.
        homes = {name: self.new_node(name, init=False) for name in ("anna", "bert", "carla", "mallory")}
        for name, home in homes.items():
            made = folder / f"{name}-made"
            given = [] if name == "bert" else ["--certificate", made / "certificate.pem", "--key", made / "key.pem"]
            self.assertRefused(home.run("init", "--grant", "clinic=both"), 64, "--ca")
            home.check("init", "--name", name, "--ca", ours / "ca.pem", "--grant", "clinic=both", *given)
        (folder / "bert.csr").write_text(homes["bert"].check("cert", "request"))
        (folder / "bert.pem").write_text(self.site("sign", ours, folder / "bert.csr"))
        self.assertNotDone(homes["anna"].run("cert", "install", folder / "bert.pem"), "does not belong")
        a = self.begin(homes["anna"])
        # Before bert has his certificate, he is told what he needs.
        b = self.begin(homes["bert"], a)
        wait_for("bert to miss his certificate", lambda: self.problems(b, "site-certificate"))
        self.assertIsNone(a.peer("bert"))
        b.check("cert", "install", folder / "bert.pem")
        self.assertEqual(self.problems(b, "site-certificate"), [])
        self.assertNotDone(b.run("cert", "renew"), "authority")
        b.stop()
        b = self.begin(homes["bert"], a)
        c = self.begin(homes["carla"], a, b)
        m = self.begin(homes["mallory"], a)
        for node in (a, b, c):
            node.create("clinic")
            node.create("private")
        for node, others in ((a, ("bert", "carla")), (b, ("anna", "carla")), (c, ("anna", "bert"))):
            for other in others:
                node.await_peer(other, "inSync")
        a.put("clinic", "before", {"v": 1})
        a.put("private", "secret", {"v": 1})
        await_converged([a, b, c], "clinic")
        self.assertFalse(b.has("private", "secret"), "nothing is shared that was not granted")
        self.assertIn("by the site's authority", a.check("peers", "show", "bert"))
        self.assertNotDone(a.run("peers", "set", "bert", "access=both", "--database", "private"), "config.json")
        self.assertIsNone(a.peer("mallory"))
        self.assertTrue(self.problems(m, "site-certificate"))
        self.assertGrants(a, b)
        self.assertOldTLS(a, folder)
        # carla's certificate is revoked: anna has the list and cuts her off, bert does as soon as he has it.
        old_list = self.site("list", ours)
        made = self.site("revoke", ours, folder / "carla-made" / "certificate.pem")
        for node in (a, b):
            path = node.folder / "site" / "crl.pem"
            (node.folder / "site" / "new").write_text(made)
            os.rename(node.folder / "site" / "new", path)
        for node in (a, b):
            found = wait_for(f"{node.name} to refuse carla", lambda: self.problems(node, "certificate-refused"))
            self.assertIn("was revoked by the site's authority on 20", found[0]["text"])
        rev = a.put("clinic", "after", {"v": 2})
        wait_for("the document on bert", lambda: b.has("clinic", "after", rev))
        wait_for("carla to be told why", lambda: "certificate is revoked" in c.log())
        self.assertFalse(c.has("clinic", "after"))
        # An older list does not come back by a restart.
        (a.folder / "site" / "crl.pem").write_text(old_list)
        port = a.port
        a.stop()
        a.start("--port", str(port), "--no-discovery")
        self.assertIn("older", self.problems(a, "site-list")[0]["text"])
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connect(a, folder / "carla-made")
        # A person's revocation beats the authority.
        a.check("peers", "revoke", "bert", "--yes")
        wait_for("bert to be out", lambda: a.peer("bert") is None)
