"""A database on a small disk that fills up, driven through KithStoreProbe."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from kithtest import IS_ROOT, KITH, ROOT

PROBE = next(
    (p for p in (Path(KITH).parent / "KithStoreProbe", ROOT / ".build" / "debug" / "KithStoreProbe") if p.exists()),
    "KithStoreProbe")
DISK_MEGABYTES = 4


class Filler:
    """A process with a disk of its own: a tmpfs in a mount namespace, which ends with it."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t tmpfs -o size="$2"m,mode=700 tmpfs "$1" && exec "$3" fill "$1/test.kith"',
             "sh", str(folder), str(DISK_MEGABYTES), str(PROBE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # How that disk is seen from outside, once the process is at work.
        self.disk = Path(f"/proc/{self.process.pid}/root{folder}")
        self.acknowledged = []

    def ask(self, command):
        """The answer to a command; what was acknowledged before it is collected."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline().rstrip("\n")
            if len(line.split()) != 3:
                return line
            self.acknowledged.append(line)
            if command == "try":
                return "acknowledged"

    def fill_up(self):
        """Takes the space that is left, to the last byte."""
        with open(self.disk / "ballast", "ab", buffering=0) as ballast:
            for size in (65536, 1):
                try:
                    while True:
                        ballast.write(b"x" * size)
                except OSError:
                    pass

    def free(self):
        (self.disk / "ballast").unlink()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@unittest.skipUnless(IS_ROOT, "needs root, to mount a small disk")
class DiskFull(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kith-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        mountpoint = self.folder / "disk"
        mountpoint.mkdir()
        self.filler = Filler(mountpoint)
        self.addCleanup(self.filler.end)

    def expect_count(self):
        """Every document that was acknowledged can be read, and no other."""
        ids = {line.split()[0] for line in self.filler.acknowledged}
        self.assertEqual(self.filler.ask("read"), f"read {len(ids)}")

    def verify(self):
        """The file, once closed, has all that was acknowledged."""
        copy = self.folder / "copy"
        copy.mkdir()
        for path in self.filler.disk.glob("test.kith*"):
            shutil.copy(path, copy)
        done = subprocess.run(
            [str(PROBE), "verify", str(copy / "test.kith")], input="\n".join(self.filler.acknowledged),
            capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def writing(self, kind):
        filler = self.filler
        self.assertEqual(filler.ask("open"), "open")
        (filler.disk / "ballast").write_bytes(bytes(1024 * 1024 * DISK_MEGABYTES // 3))
        self.assertEqual(filler.ask(f"write {kind}"), "error disk_full")
        self.assertGreater(len(filler.acknowledged), 3)
        self.expect_count()
        # A smaller write may still have found its place.
        filler.fill_up()
        self.assertEqual(filler.ask("write put"), "error disk_full")
        self.assertEqual(filler.ask("try"), "error disk_full")
        self.expect_count()
        before = len(filler.acknowledged)
        filler.free()
        self.assertEqual(filler.ask("try"), "acknowledged")
        self.assertEqual(filler.ask(f"write {kind}"), "error disk_full")
        self.assertGreater(len(filler.acknowledged), before + 1)
        self.expect_count()
        self.assertEqual(filler.ask("check"), "sound")
        self.assertEqual(filler.ask("close"), "closed")
        self.verify()

    def test_puts(self):
        """a disk that fills up during single writes: disk_full, nothing half-stored, and on without a restart"""
        self.writing("put")

    def test_batches(self):
        """a disk that fills up during batches: a batch is stored whole or not at all"""
        self.writing("batch")

    def test_large(self):
        """a disk that fills up during large documents"""
        self.writing("large")

    def test_updates(self):
        """a disk that fills up during updates of the same documents"""
        self.writing("update")

    def test_open(self):
        """a new database on a full disk: disk_full, no file; once there is space it can be made"""
        filler = self.filler
        self.assertEqual(filler.ask("try"), "error not_open")  # the disk is mounted
        for kibibytes in (0, 4, 12, 40, 64):
            filler.fill_up()
            with open(filler.disk / "ballast", "r+b") as ballast:
                ballast.truncate((filler.disk / "ballast").stat().st_size - kibibytes * 1024)
            self.assertEqual(filler.ask("open"), "error disk_full", f"with {kibibytes} KiB")
            self.assertEqual([p.name for p in filler.disk.iterdir()], ["ballast"])
        filler.free()
        self.assertEqual(filler.ask("open"), "open")
        self.assertEqual(filler.ask("try"), "acknowledged")
        self.assertEqual(filler.ask("close"), "closed")
        self.verify()

    def test_close(self):
        """a disk without space for what closing moves into the file: it stays in the log, and nothing is lost"""
        filler = self.filler
        self.assertEqual(filler.ask("open"), "open")
        for _ in range(200):
            self.assertEqual(filler.ask("try"), "acknowledged")
        filler.fill_up()
        self.assertEqual(filler.ask("close"), "closed")
        self.assertGreater((filler.disk / "test.kith-wal").stat().st_size, 0)
        filler.free()
        self.assertEqual(filler.ask("open"), "open")
        self.expect_count()
        self.assertEqual(filler.ask("try"), "acknowledged")
        self.assertEqual(filler.ask("check"), "sound")
        self.assertEqual(filler.ask("close"), "closed")
        self.verify()


if __name__ == "__main__":
    unittest.main()
