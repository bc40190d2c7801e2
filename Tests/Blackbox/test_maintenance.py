"""Check, compaction, backup, restore and copy by the real program."""

import json
import os
import sqlite3
import unittest
from pathlib import Path

from kithtest import IS_ROOT, NodeTestCase, await_converged


class Maintenance(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("clinic")
        self.node.load("clinic", [{"_id": f"patient:{n}", "n": n, "text": "x" * 500} for n in range(2000)])
        self.file = self.folder / "clinic backup.kith"

    def names(self):
        return sorted(p.name for p in self.folder.iterdir() if p.is_file() and not p.name.endswith(".log"))

    def test_check_sound(self):
        """db check says that a sound database is sound, in words and as JSON"""
        self.assertEqual(self.node.check("db", "check", "clinic").strip(), "clinic is sound: 2,000 documents")
        report = json.loads(self.node.check("db", "check", "clinic", "--json"))
        self.assertEqual([report["ok"], report["documents"], report["fault_count"], report["faults"]], [True, 2000, 0, []])

    def test_check_damaged(self):
        """db check names each damaged document and ends with 26; the node goes on"""
        self.assertEqual(self.node.stop(), 0)
        with sqlite3.connect(self.node.folder / "databases" / "clinic.kith") as file:
            file.execute("UPDATE document_1 SET body = '{ }' WHERE id IN ('patient:7', 'patient:1999')")
            file.execute("UPDATE collection SET live = live + 1")
        file.close()
        self.node.start("--port", "0", "--no-discovery")
        done = self.node.run("db", "check", "clinic")
        self.assertEqual(done.returncode, 26)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3, done.stdout)
        self.assertTrue(lines[0].startswith("patient:7: the body"), lines)
        self.assertTrue(lines[1].startswith("patient:1999: the body"), lines)
        self.assertIn("counted wrongly", lines[2])
        self.assertIn("clinic is damaged: 3 faults", done.stderr)
        done = self.node.run("db", "check", "clinic", "--json")
        self.assertEqual(done.returncode, 26)
        self.assertEqual([f.get("document") for f in json.loads(done.stdout)["faults"]], ["patient:7", "patient:1999", None])
        self.assertEqual(self.node.document("clinic", "patient:8")["n"], 8)

    def test_not_open(self):
        """a database that cannot be opened is told as that, by its reason, never as one that is not there"""
        path = self.node.folder / "databases" / "clinic.kith"
        self.assertEqual(self.node.stop(), 0)
        sound = path.read_bytes()
        for content, code in [(b"\xa5" * 100 + sound[100:], 26), (sound[:60] + b"\x00\x00\x00\x63" + sound[64:], 23)]:
            path.write_bytes(content)
            self.node.start("--port", "0", "--no-discovery")
            self.assertIn("clinic", self.node.run("status").stdout)
            for words in [["db", "check", "clinic"], ["list", "clinic"], ["db", "compact", "clinic"],
                          ["db", "backup", "clinic", self.file]]:
                done = self.node.run(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertNotIn("no database", done.stderr)
                self.assertNotIn("db create", done.stderr)
            done = self.node.run("db", "create", "clinic")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("cannot be opened", done.stderr)
            self.assertEqual(path.read_bytes(), content)
            self.assertEqual(self.names(), [])
            if code == 26:
                done = self.node.run("db", "check", "clinic", "--json")
                self.assertEqual([done.returncode, json.loads(done.stdout)["fault_count"]], [26, 1])
                # It can be deleted all the same, and made anew.
                self.node.check("db", "delete", "clinic", "--yes")
                self.assertFalse(path.exists())
                self.assertNotIn("clinic", self.node.run("status").stdout)
                self.node.check("db", "create", "clinic")
            else:
                # Moved away, the name is free.
                path.rename(self.folder / "away.kith")
                self.node.check("db", "create", "clinic")
                self.node.check("db", "check", "clinic")
                self.assertNotIn("newer", self.node.run("status").stdout)
            self.assertEqual(self.node.stop(), 0)

    def test_compact(self):
        """db compact makes a database smaller whose documents were deleted, and changes nothing in it"""
        documents = self.node.get("/clinic/_all_docs")["rows"]
        revisions = {row["id"]: row["value"]["rev"] for row in documents}
        self.node.call("POST", "/clinic/_bulk_docs", {
            "docs": [{"_id": i, "_rev": r, "_deleted": True} for i, r in revisions.items() if i != "patient:1"]})
        before = self.node.digest("clinic")
        result = json.loads(self.node.check("db", "compact", "clinic", "--json"))
        self.assertLess(result["bytes_after"], result["bytes_before"] / 2)
        self.assertEqual(self.node.digest("clinic"), before)
        self.assertIn("clinic takes", self.node.check("db", "compact", "clinic"))
        # CouchDB's way: it has begun.
        self.assertEqual(self.node.request("POST", "/clinic/_compact"), (202, {"ok": True}))
        self.assertEqual(self.node.request("GET", "/clinic/_compact")[0], 405)
        self.assertIn("sound", self.node.check("db", "check", "clinic"))

    def test_backup_and_restore(self):
        """a lost database comes back from a backup; what peers have is fetched, and what is written later reaches them"""
        other = self.new_node("bert")
        self.node.trust(other)
        other.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{self.node.port}")
        other.trust(self.node)
        other.create("clinic")
        await_converged([self.node, other], "clinic")
        said = self.node.check("db", "backup", "clinic", self.file)
        self.assertIn(f"Backed up clinic to {self.file}", said)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(self.names(), [self.file.name])
        for number in range(50):
            self.node.put("clinic", f"after:{number}", {"n": number})
        await_converged([self.node, other], "clinic")
        before = self.node.digest("clinic")["digest"]
        uuid = self.node.get("/clinic")["uuid"]
        sequence = self.node.get("/clinic")["update_seq"]
        self.node.check("db", "delete", "clinic", "--yes")
        self.assertIn("Restored clinic", self.node.check("db", "restore", self.file, "clinic"))
        await_converged([self.node, other], "clinic")
        self.assertEqual(self.node.digest("clinic")["digest"], before)
        self.assertEqual(self.node.get("/clinic")["uuid"], uuid)
        self.assertGreater(self.node.get("/clinic")["update_seq"], sequence + (1 << 31))
        self.node.put("clinic", "new", {"n": 1})
        await_converged([self.node, other], "clinic")
        self.assertEqual(other.document("clinic", "new")["n"], 1)

    def test_copy(self):
        """db copy makes another database with the same content, as often as one likes"""
        self.node.check("db", "backup", "clinic", self.file, "--json")
        uuids = {self.node.get("/clinic")["uuid"]}
        for name in ("one", "two"):
            self.assertIn(f"Made {name} as a copy", self.node.check("db", "copy", self.file, name))
            self.assertEqual(self.node.digest(name)["digest"], self.node.digest("clinic")["digest"])
            uuids.add(self.node.get(f"/{name}")["uuid"])
        self.assertEqual(len(uuids), 3)

    def test_refusals(self):
        """what cannot be done is refused in one line with its own code, and leaves no file"""
        node = self.node
        self.assertRefused(node.run("db", "check", "nowhere"), 11, "nowhere")
        self.assertRefused(node.run("db", "compact", "nowhere"), 11, "nowhere")
        self.assertRefused(node.run("db", "backup", "nowhere", self.file), 11, "nowhere")
        self.assertRefused(node.run("db", "backup", "clinic", self.folder / "none" / "x"), 22)
        self.assertRefused(node.run("db", "restore", self.file, "other"), 10, "no file")
        self.assertEqual(self.names(), [])
        node.check("db", "backup", "clinic", self.file)
        before = self.file.read_bytes()
        self.assertRefused(node.run("db", "backup", "clinic", self.file), 13, "already")
        self.assertRefused(node.run("db", "restore", self.file, "clinic"), 13, "clinic")
        self.assertRefused(node.run("db", "restore", node.folder / "databases" / "clinic.kith", "other"), 12, "in use")
        self.assertRefused(node.run("db", "restore", self.file, "Not A Name"), 15)
        damaged = self.folder / "damaged.kith"
        damaged.write_bytes(before[:20_000] + b"\xa5" * 20_000 + before[40_000:])
        self.assertRefused(node.run("db", "restore", damaged, "other"), 26)
        damaged.write_bytes(before[:60] + b"\x00\x00\x00\x63" + before[64:])
        self.assertRefused(node.run("db", "copy", damaged, "other"), 23)
        self.assertEqual(node.get("/_all_dbs"), ["clinic"])
        self.assertEqual(self.names(), [self.file.name, damaged.name])
        self.assertEqual(self.file.read_bytes(), before)
        self.assertEqual(sorted(os.listdir(node.folder / "databases")), [
            "clinic.kith", "clinic.kith-shm", "clinic.kith-wal"])
        self.assertEqual(node.request("POST", "/clinic/_backup", {"file": "relative"})[0], 400)
        node.stop()
        self.assertRefused(node.run("db", "backup", "clinic", self.folder / "x"), 3, "no node")

    def start_with_small_disk(self, name, folder):
        """A node for which a folder is a disk of one megabyte; how the folder is seen from outside."""
        node = self.new_node(name)
        node.prefix = [
            "unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount -t tmpfs -o size=1m,mode=700 tmpfs "$0" && exec "$@"', str(folder)]
        node.start("--port", "0", "--no-discovery")
        node.prefix = []
        return node, Path(f"/proc/{node.pid}/root{folder}")

    @unittest.skipUnless(IS_ROOT, "needs root, to mount a small disk")
    def test_disk_full(self):
        """a backup or a restore for which there is no space ends with 27 and leaves nothing; the node goes on"""
        self.node.check("db", "backup", "clinic", self.file)
        self.assertGreater(self.file.stat().st_size, 1 << 20)
        stick = self.folder / "stick"
        stick.mkdir()
        node, seen = self.start_with_small_disk("cara", stick)
        node.check("db", "copy", self.file, "clinic")
        self.assertRefused(node.run("db", "backup", "clinic", stick / "clinic.kith"), 27, "space")
        self.assertEqual(os.listdir(seen), [])
        self.assertIn("sound", node.check("db", "check", "clinic"))
        other, databases = self.start_with_small_disk("dora", self.folder / "dora" / "databases")
        for verb in ("restore", "copy"):
            self.assertRefused(other.run("db", verb, self.file, "clinic"), 27, "space")
            self.assertEqual(os.listdir(databases), [])
        other.check("db", "create", "clinic")

    def test_relative_name(self):
        """a file is named as seen from where the command is typed, not from where the node runs"""
        self.node.check("db", "backup", "clinic", os.path.relpath(self.file))
        self.assertEqual(self.names(), [self.file.name])


if __name__ == "__main__":
    unittest.main()
