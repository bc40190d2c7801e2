"""demo/run leaves nothing behind, wherever it is interrupted."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from kithtest import IS_ROOT, KITH, LONG, NodeTestCase, ROOT, clean_environment, processes_using, wait_for
from lan import LanTestCase


@unittest.skipUnless(IS_ROOT, "needs root, for network namespaces")
class Demo(NodeTestCase):
    def start(self, *arguments):
        """The demo in a process group of its own, as a shell would start it, with its temporary files in our folder."""
        self.number = getattr(self, "number", 0) + 1
        self.temporary = self.folder / f"tmp{self.number}"
        self.temporary.mkdir()
        self.output = self.folder / f"output{self.number}"
        environment = clean_environment(KITH=KITH, TMPDIR=self.temporary)
        with open(self.output, "ab") as output:
            return self.spawn(
                [str(ROOT / "demo" / "run"), *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
                # What runs these tests may ignore hang-ups (nohup), and a shell cannot take notice of them again.
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))

    def text(self):
        return self.output.read_text(errors="replace")

    def interrupt(self, words, number, whole_group):
        """Starts the demo, sends the signal when it prints these words, and looks for what is left."""
        process = self.start("--documents", "300")
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)
        wait_for(f"the demo to print {words!r}", lambda: words in self.text() or process.poll() is not None,
                 seconds=150, pause=0.01)
        self.assertIsNone(process.poll(), self.text())
        (os.killpg if whole_group else os.kill)(process.pid, number)
        started = time.monotonic()
        code = process.wait(timeout=30)
        self.assertLess(time.monotonic() - started, 15)
        self.assertIn(code, (128 + number, -number), self.text())
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual(processes_using(self.temporary), [])

    def test_interrupted(self):
        """the demo leaves nothing behind when it is interrupted with three nodes running"""
        self.interrupt("2. They are paired", signal.SIGINT, whole_group=False)

    @unittest.skipUnless(LONG, "only with --long")
    def test_interrupted_everywhere(self):
        """the demo leaves nothing behind wherever, and with whatever signal, it is interrupted"""
        signals = [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, True)]
        for number, words in enumerate((
                "Three machines are up", "1. Three nodes", "kith up", "not paired", "3. What is written",
                "kith import", "is pulled", "5. A node is killed", "It is started again", "6. What each")):
            with self.subTest(words=words):
                self.interrupt(words, *signals[number % 3])

    @unittest.skipUnless(LONG, "only with --long")
    def test_seeds(self):
        """the demo plays with other clinics too, and --keep keeps the homes"""
        for seed in (2, 3):
            process = self.start("--keep", "--seed", str(seed), "--documents", "300")
            self.assertEqual(process.wait(timeout=200), 0, self.text())
            self.assertEqual(len(list(self.temporary.glob("kith-demo.*/reception/databases/clinic.kith"))), 1)
            self.assertEqual(processes_using(self.temporary), [])


class OrdinaryUser(LanTestCase):
    def test_host(self):
        """an ordinary user plays the demo with three nodes on one host and its Avahi"""
        lan = self.make_lan(1)
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
        os.chmod(self.folder, 0o755)
        program = theirs / "kith"
        shutil.copy(KITH, program)
        os.chmod(program, 0o755)
        project = theirs / "project"  # a root's clone need not be readable by others
        for part in ("demo", "Tests"):
            shutil.copytree(ROOT / part, project / part, ignore=shutil.ignore_patterns("*Tests", "__pycache__"))
        environment = clean_environment(KITH=program, HOME=theirs, TMPDIR=theirs)
        done = subprocess.run(
            [*lan.prefix(1), "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
             str(project / "demo" / "run")],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250,
            cwd="/")
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace"))
        self.assertEqual(list(theirs.glob("kith-demo.*")), [])


if __name__ == "__main__":
    unittest.main()
