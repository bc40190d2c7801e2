"""Bad input at the command line: one clear line, its own exit code, and nothing changed."""

import json
import os
import shutil
import socket
import subprocess
import unittest

from kithtest import IS_ROOT, KITH, NodeTestCase, busy_port, clean_environment, snapshot

import generate

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


class WithoutNode(NodeTestCase):
    def test_no_node(self):
        """a command without a running node says so and ends with 3"""
        home = self.home("anna").init()
        self.assertRefused(home.run("get", "clinic", "patient:1"), 3, "no node")

    def test_no_home(self):
        """up without init says that init is missing, and makes nothing"""
        home = self.home("anna")
        self.assertRefused(home.run("up"), 24, "kith init")
        self.assertFalse(home.folder.exists())

    def test_init_twice(self):
        """init on a home that is there keeps its key"""
        home = self.home("anna").init()
        before = snapshot(home.folder)
        self.assertRefused(home.run("init", "--name", "other"), 25)
        self.assertEqual(snapshot(home.folder), before)

    def test_init_modes(self):
        """init makes the private key, and the home, readable by its owner only"""
        previous = os.umask(0)  # the most careless setting there is
        try:
            home = self.home("anna").init()
        finally:
            os.umask(previous)
        self.assertEqual(os.stat(home.key).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(home.certificate).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(home.folder).st_mode & 0o077, 0)

    def test_stale_socket(self):
        """a socket that a dead node left behind does not deceive a command, and up replaces it"""
        node = self.new_node("anna")
        os.makedirs(node.folder / "run", exist_ok=True)
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(node.socket_path)
        self.assertRefused(node.run("get", "clinic", "x"), 3, "no node")
        node.start("--port", "0", "--no-discovery")
        self.assertIn("clinic", node.check("db", "create", "clinic") + node.check("db", "list"))

    def test_busy_port(self):
        """a port that another program has is named, with exit code 21"""
        home = self.home("anna").init()
        listener, port = busy_port()
        with listener:
            before = snapshot(home.folder / "identity")
            self.assertRefused(home.run("up", "--port", port, "--no-discovery"), 21, str(port))
            self.assertEqual(snapshot(home.folder / "identity"), before)

    @unittest.skipUnless(IS_ROOT, "needs root, to become another user")
    def test_unwritable_home(self):
        """a home that cannot be written is named, with exit code 22"""
        os.chmod(self.folder, 0o755)
        program = self.program_for_nobody()
        # There is a folder, but it is root's.
        theirs = self.folder / "theirs"
        theirs.mkdir(mode=0o755)
        done = self.as_nobody(program, theirs / "home", "init", "--name", "anna")
        self.assertRefused(done, 22, str(theirs))
        self.assertEqual(list(theirs.iterdir()), [])
        # A home of their own, which became read-only.
        mine = self.folder / "mine"
        mine.mkdir()
        os.chown(mine, 65534, 65534)
        self.assertEqual(self.as_nobody(program, mine / "home", "init", "--name", "anna").returncode, 0)
        for folder, _, _ in os.walk(mine):
            os.chmod(folder, 0o500)
        before = snapshot(mine)
        done = self.as_nobody(program, mine / "home", "up", "--port", "0", "--no-discovery")
        self.assertRefused(done, 22, str(mine / "home"))
        self.assertEqual(snapshot(mine), before)

    @unittest.skipUnless(IS_ROOT, "needs root, to become another user")
    def test_no_permission(self):
        """a command of a user who may not use the node's socket ends with 4"""
        os.chmod(self.folder, 0o755)
        node = self.start_node("anna")
        os.chmod(node.folder, 0o755)
        os.chmod(node.folder / "run", 0o755)
        done = self.as_nobody(self.program_for_nobody(), node.folder, "status")
        self.assertRefused(done, 4)

    def program_for_nobody(self):
        """A copy of the program where any user can run it."""
        copy = self.folder / "kith"
        shutil.copy(KITH, copy)
        os.chmod(copy, 0o755)
        return copy

    def as_nobody(self, program, home, *arguments):
        done = subprocess.run(
            [*NOBODY, str(program), *arguments], env=clean_environment(KITH_HOME=home, HOME="/nonexistent"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd="/")
        return done

    def test_newer_home(self):
        """a home from a newer version is left alone, with exit code 23"""
        home = self.home("anna").init()
        (home.folder / "format").write_text("99\n")
        before = snapshot(home.folder)
        self.assertRefused(home.run("up", "--port", "0", "--no-discovery"), 23, "99", "newer")
        self.assertEqual(snapshot(home.folder), before)

    def test_broken_configuration(self):
        """a configuration that is not JSON is named, with exit code 28"""
        home = self.home("anna").init()
        (home.folder / "config.json").write_text('{"name": "anna", "port": 4984,, }')
        self.assertRefused(home.run("up", "--no-discovery"), 28, "config.json")

    def test_readable_key(self):
        """a private key that others may read is refused"""
        home = self.home("anna").init()
        os.chmod(home.key, 0o644)
        done = home.run("up", "--port", "0", "--no-discovery")
        self.assertRefused(done, done.returncode, "key.pem")
        self.assertNotIn(done.returncode, (0, 1))

    def test_wrong_arguments(self):
        """wrong arguments end with 64"""
        home = self.home("anna")
        for arguments in (["frobnicate"], ["up", "--nonsense"], ["put"], ["get", "clinic"], ["up", "--port", "70000"]):
            with self.subTest(arguments=arguments):
                done = home.run(*arguments)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertNotEqual(done.stderr.strip(), "")
                self.assertEqual(done.stdout, "")

    def test_help(self):
        """every command has --help with an example"""
        home = self.home("anna")
        commands = ["init", "id", "trust", "untrust", "up", "status", "db", "put", "get", "delete", "list", "import",
                    "export", "changes", "conflicts", "version", "help"]
        overview = home.check("help")
        for command in commands:
            with self.subTest(command=command):
                text = home.check(command, "--help")
                self.assertIn("example", text.lower())
                self.assertIn(f"kith {command}", text)
                self.assertIn(command, overview)

    def test_version(self):
        """version prints one line with the number"""
        self.assertRegex(self.home("anna").check("version"), r"^kith \d+\.\d+\.\d+.*\n$")


class WithNode(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.start_node("anna")
        self.node.create("clinic")

    def unchanged(self):
        return self.node.digest("clinic"), self.node.get("/_all_dbs"), self.node.get("/_kith/peers")

    def test_wrong_node_id(self):
        """a node ID with a wrong, a missing or a swapped character is refused, with exit code 16"""
        before = self.unchanged()
        right = self.home("bert").init().check("id").split()[0]
        other = "B" if right[2] != "B" else "C"
        swapped = next(i for i in range(len(right) - 1) if right[i] != right[i + 1] and "-" not in right[i:i + 2])
        for wrong in (right[:2] + other + right[3:], right[:-1], right + "7", "", "no node id",
                      right[:swapped] + right[swapped + 1] + right[swapped] + right[swapped + 2:]):
            with self.subTest(wrong=wrong):
                self.assertRefused(self.node.run("trust", wrong, "--name", "bert"), 16)
        self.assertEqual(self.unchanged(), before)

    def test_forgiving_node_id(self):
        """a node ID in lower case and without dashes is the same one"""
        right = self.home("bert").init().check("id").split()[0]
        self.node.check("trust", right.lower().replace("-", ""), "--name", "bert")
        peers = self.node.get("/_kith/peers")["peers"]
        self.assertEqual([(p["id"], p["name"]) for p in peers], [(right, "bert")])

    def test_own_node_id(self):
        """a node does not trust itself"""
        before = self.unchanged()
        done = self.node.run("trust", self.node.node_id, "--name", "me")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(self.unchanged(), before)

    def test_no_database(self):
        """a database that does not exist is named, with exit code 11, and not made"""
        for arguments in (["get", "nowhere", "x"], ["put", "nowhere", "x"], ["delete", "nowhere", "x"],
                          ["list", "nowhere"], ["changes", "nowhere"], ["export", "nowhere"],
                          ["db", "digest", "nowhere"], ["db", "delete", "nowhere"]):
            with self.subTest(arguments=arguments):
                self.assertRefused(self.node.run(*arguments, stdin='{"a":1}'), 11, "nowhere")
        self.assertEqual(self.node.get("/_all_dbs"), ["clinic"])

    def test_malformed_json(self):
        """a body that is not a JSON object is refused with the place, exit code 14, and nothing is stored"""
        before = self.unchanged()
        for body in (b'{"a": ', b'{"a": 1,}', b"[1]", b'"text"', b"", b'{"a":1}{"b":2}', b'{"a":1e400}',
                     b'{"a":"\xff"}', b'{"a":"\\ud800"}', b'{"a":1,"a":2}', b'{"_unknown":1}', b"{'a':1}",
                     b'{"a":' * 3000 + b"1" + b"}" * 3000):
            with self.subTest(body=body[:40]):
                done = self.node.run("put", "clinic", "patient:1", stdin=body)
                self.assertIn(done.returncode, (14, 18), done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(self.unchanged(), before)

    def test_bad_names(self):
        """names that are not legal are refused with exit code 15"""
        before = self.unchanged()
        for arguments in (["db", "create", "Clinic"], ["db", "create", "1st"], ["db", "create", "_users"],
                          ["put", "clinic", "_secret"], ["put", "clinic", ""], ["put", "clinic", "x" * 241],
                          ["get", "clinic", "x", "--rev", "nonsense"]):
            with self.subTest(arguments=arguments):
                self.assertRefused(self.node.run(*arguments, stdin="{}"), 15)
        self.assertEqual(self.unchanged(), before)

    def test_database_twice(self):
        """a database that is there already is not made again, with exit code 13"""
        before = self.unchanged()
        self.assertRefused(self.node.run("db", "create", "clinic"), 13, "clinic")
        self.assertEqual(self.unchanged(), before)

    def test_stale_revision(self):
        """a write on a stale revision is a conflict with exit code 12, and nothing is written"""
        first = self.node.put("clinic", "patient:1", {"bed": 1})
        self.node.put("clinic", "patient:1", {"bed": 2}, first)
        before = self.unchanged()
        self.assertRefused(self.node.run("put", "clinic", "patient:1", "--rev", first, stdin='{"bed":3}'), 12)
        self.assertRefused(self.node.run("delete", "clinic", "patient:1", "--rev", first), 12)
        self.assertEqual(self.unchanged(), before)

    def test_missing_document(self):
        """a document that is not there ends with 10"""
        self.assertRefused(self.node.run("get", "clinic", "patient:404"), 10, "patient:404")

    def test_bad_import(self):
        """an import with a broken line says which one and keeps its promise about the others"""
        lines = ['{"_id":"a","n":1}', '{"_id":"b","n":2', '{"_id":"c","n":3}']
        done = self.node.run("import", "clinic", stdin="\n".join(lines) + "\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("2", done.stderr)
        self.assertFalse(self.node.has("clinic", "b"))

    def test_second_node(self):
        """a second node on the same home is refused with exit code 20, and the first one goes on"""
        self.assertRefused(self.node.run("up", "--port", "0", "--no-discovery"), 20)
        self.assertTrue(self.node.is_running)
        self.assertEqual(self.node.get("/_all_dbs"), ["clinic"])

    def test_curl(self):
        """curl --unix-socket puts and gets a document"""
        curl = ["curl", "-sS", "--unix-socket", self.node.socket_path]
        url = "http://localhost/clinic/visit%2F2026-03-01%2F%CE%A9"
        put = json.loads(subprocess.run(
            [*curl, "-X", "PUT", url, "-d", '{"big": 9007199254740993, "é": "e\u0301"}'],
            check=True, capture_output=True).stdout)
        self.assertTrue(put["ok"])
        text = subprocess.run([*curl, url], check=True, capture_output=True).stdout.decode()
        self.assertIn("9007199254740993", text)
        answer = json.loads(text)
        self.assertEqual((answer["_id"], answer["_rev"], answer["é"]), ("visit/2026-03-01/Ω", put["rev"], "e\u0301"))
        # A document of more than a packet makes curl ask "Expect: 100-continue" first.
        large = json.dumps({"samples": list(range(300_000))})
        done = subprocess.run([*curl, "-X", "PUT", "-H", "Expect: 100-continue", "http://localhost/clinic/large",
                               "--data-binary", "@-"], input=large.encode(), check=True, capture_output=True)
        self.assertTrue(json.loads(done.stdout).get("ok"), done.stdout)

    def test_round_trip(self):
        """what put wrote, get, list, export, changes and delete know"""
        self.node.check("put", "clinic", "patient:1", stdin='{"name":"Zoë","n":12345678901234567890}')
        text = self.node.check("get", "clinic", "patient:1")
        self.assertIn("12345678901234567890", text)
        rev = json.loads(text)["_rev"]
        self.assertIn("patient:1", self.node.check("list", "clinic"))
        self.assertIn("patient:1", self.node.check("changes", "clinic"))
        exported = [json.loads(line) for line in self.node.check("export", "clinic").splitlines()]
        self.assertEqual([(d["_id"], d["name"]) for d in exported], [("patient:1", "Zoë")])
        self.node.check("delete", "clinic", "patient:1", "--rev", rev)
        self.assertEqual(self.node.run("get", "clinic", "patient:1").returncode, 10)

    def test_export_import(self):
        """an export that is imported elsewhere has the same bodies"""
        lines = "".join(generate.line(d) + "\n" for d in generate.documents(300, 5))
        self.node.check("import", "clinic", stdin=lines)
        exported = self.node.check("export", "clinic")
        self.node.create("copy")
        self.node.check("import", "copy", stdin=exported)

        def bodies(text):
            # As values: 1.0 is stored as 1, which is the same number.
            documents = [json.loads(line) for line in text.splitlines()]
            return {d["_id"]: {k: v for k, v in d.items() if k != "_rev"} for d in documents}
        self.assertEqual(bodies(exported), bodies(lines))
        self.assertEqual(bodies(self.node.check("export", "copy")), bodies(lines))
        self.assertEqual(self.node.digest("copy")["digest"], self.node.digest("clinic")["digest"])

    def test_head(self):
        """a command whose reader goes away ends quietly, and the node goes on"""
        self.node.load("clinic", [{"_id": f"d{i:05}", "text": "x" * 300} for i in range(3000)])
        for command in ("list clinic", "export clinic", "changes clinic"):
            with self.subTest(command=command):
                done = subprocess.run(
                    ["bash", "-c", f'set -o pipefail; "$KITH" {command} | head -1; exit "${{PIPESTATUS[0]}}"'],
                    env={**self.node.environment(), "KITH": KITH}, capture_output=True, text=True, timeout=60)
                self.assertEqual(len(done.stdout.splitlines()), 1)
                self.assertEqual(done.stderr, "")
                self.assertIn(done.returncode, (0, 141))
        self.assertEqual(self.node.count("clinic"), 3000)

    def test_follow(self):
        """changes --follow prints each change as it comes, also into a pipe"""
        follow = self.spawn(
            self.node.argv("changes", "clinic", "--follow"), env=self.node.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(3):
            self.node.put("clinic", f"patient:{number}", {"n": number})
            self.assertIn(f"patient:{number}".encode(), follow.stdout.readline())

    def test_status_json(self):
        """status --json is version 1 of the documented object, with null for what is not known"""
        status = json.loads(self.node.check("status", "--json"))
        self.assertEqual(status["schemaVersion"], 1)
        for field in ("name", "id", "fullID", "version", "state", "health", "startedAt", "listening", "port",
                      "discovery"):
            self.assertIn(field, status["node"])
        self.assertEqual(status["node"]["name"], "anna")
        self.assertEqual([d["name"] for d in status["databases"]], ["clinic"])
        for field in ("documents", "bytes", "sequence", "conflicts"):
            self.assertIsInstance(status["databases"][0][field], int)
        self.assertEqual((status["peers"], status["nearby"]), ([], []))
        self.assertEqual([p for p in status["problems"] if p["code"] != "discovery-off"], [])

    def test_status_text(self):
        """status for people is within 80 columns, and without colour when piped"""
        text = self.node.check("status")
        self.assertIn("anna", text)
        self.assertIn("clinic", text)
        self.assertNotIn("\x1b", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
