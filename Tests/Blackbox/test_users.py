"""kith users: who can log in with a password, kept where nobody else reads it."""

import json
import unittest

from kithtest import NodeTestCase

PASSWORD = "correct horse battery"


class Users(NodeTestCase):
    def test_users(self):
        """users are added, listed, changed and removed; the password is asked for, kept as a hash, and shown nowhere"""
        node = self.start_node("anna")
        self.assertEqual(node.run("users", "add", "bert", stdin="").returncode, 64)
        latin = node.run("users", "add", "bert", stdin="pässwörter\n".encode("latin-1"))
        self.assertEqual(latin.returncode, 64, latin.stderr)
        short = node.run("users", "add", "bert", stdin="short\n")
        self.assertNotEqual(short.returncode, 0)
        self.assertIn("8 bytes", short.stderr)
        added = node.run("users", "add", "bert", "--role", "staff", "--role", "nurses", stdin=PASSWORD + "\n")
        self.assertEqual(added.returncode, 0, added.stderr)
        again = node.run("users", "add", "bert", stdin=PASSWORD + "\n")
        self.assertEqual(again.returncode, 12)
        self.assertIn("users set", again.stderr)
        self.assertEqual(
            json.loads(node.run("users", "--json").stdout),
            {"name": "bert", "roles": ["nurses", "staff"], "disabled": False})
        # While a password is typed, the user may come or go.
        body = {"password": PASSWORD}
        self.assertEqual(node.request("PUT", "/_kith/users/bert?only=new", body)[0], 409)
        self.assertEqual(node.request("PUT", "/_kith/users/carla?only=existing", body)[0], 404)
        self.assertEqual(node.request("PUT", "/_kith/users/carla?only=x", body)[0], 400)
        path = node.folder / "users.json"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        before = json.loads(path.read_text())["users"][0]["password"]
        changed = node.run("users", "set", "bert", "--no-roles", "--disable", "--json")
        self.assertEqual(json.loads(changed.stdout), {"name": "bert", "roles": [], "disabled": True})
        self.assertEqual(node.run("users", "set", "bert").returncode, 64)
        self.assertEqual(node.run("users", "set", "carla", "--enable").returncode, 10)
        node.run("users", "set", "bert", "--enable", "--password", stdin=PASSWORD + " staple\n")
        after = json.loads(path.read_text())["users"][0]["password"]
        self.assertTrue(before.startswith("scrypt$") and after.startswith("scrypt$") and before != after)
        self.assertIn("bert", node.run("users").stdout)
        for text in (path.read_text(), node.log_path.read_text()):
            self.assertNotIn(PASSWORD, text)
        self.assertEqual(node.run("users", "remove", "bert").returncode, 0)
        self.assertEqual(node.run("users", "remove", "bert").returncode, 10)
        self.assertEqual(node.run("users").stdout, "")

    def test_damaged(self):
        """a file of users that is damaged, or that others can read, stops the node with a reason; nobody is let in by mistake"""
        node = self.new_node("anna")
        path = node.folder / "users.json"
        path.write_text('{"format":1,"users":[{"name":"bert"}]}')
        path.chmod(0o600)
        done = node.run("up", "--no-discovery", "--port", "0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("user 1 has no password", done.stderr)
        path.write_text('{"format":1,"users":[]}')
        path.chmod(0o644)
        done = node.run("up", "--no-discovery", "--port", "0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("chmod 600", done.stderr)


if __name__ == "__main__":
    unittest.main()
