"""Machines whose wall clock is wrong, or jumps: nothing depends on it but what people read."""

import struct
import subprocess
import time
import unittest

from kithtest import LONG, Node, NodeTestCase, ROOT, wait_for

DAY = 86_400


class WrongClock(Node):
    """A node on a machine whose wall clock is off by `seconds`, which may change while it runs."""

    def __init__(self, test, name, seconds):
        super().__init__(test.folder / name, name)
        self.test = test
        self.clock = test.folder / f"{name}.clock"
        self.clock.write_bytes(struct.pack("=q", int(seconds)))
        test.nodes.append(self)

    def move(self, seconds):
        # In place: the process has mapped these bytes.
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("=q", int(seconds)))

    def environment(self):
        return super().environment() | {"LD_PRELOAD": str(self.test.shim), "KITH_TEST_CLOCK": str(self.clock)}


@unittest.skipUnless(LONG, "only with --long")
class Clocks(NodeTestCase):
    def test_clocks(self):
        """clocks in 1970 and in 2045, jumps while linked and while waiting to dial: links live on, and everything arrives"""
        self.shim = self.folder / "wall_clock.so"
        subprocess.run(
            ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", self.shim,
             ROOT / "Tests" / "Support" / "wall_clock.c"], check=True)
        now = time.time()
        a, b = WrongClock(self, "anna", DAY - now), WrongClock(self, "bert", 19 * 365 * DAY)
        a.init()
        b.init()
        a.trust(b)
        a.start("--port", "0", "--no-discovery")
        a.await_log("1970-01-0", "listening")
        port = a.port
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{port}")
        b.await_log("2045-", "listening")
        b.trust(a)
        for node in (a, b):
            node.create("clinic")
        self.exchange_documents(a, b, "wrong")
        # While they are linked: a day on, a day back, the right time, and the other extreme.
        for number, (one, other) in enumerate(((2 * DAY - now, 0), (0, -DAY), (DAY, DAY), (19 * 365 * DAY, DAY - now))):
            a.move(one)
            b.move(other)
            self.exchange_documents(a, b, f"jump-{number}")
        for node in (a, b):
            self.assertEqual(node.log().count("link ended"), 0, node.log())
        # While it waits to dial again: with waits on the wall clock it would wait for years.
        a.kill()
        b.move(19 * 365 * DAY)
        b.await_log("not reached")
        b.move(-DAY)
        a.start("--port", str(port), "--no-discovery")
        self.exchange_documents(a, b, "again")

    def exchange_documents(self, a, b, what):
        revs = [node.put("clinic", f"{what}-{node.name}", {"n": 1}) for node in (a, b)]
        wait_for(f"both documents, {what}", lambda: b.has("clinic", f"{what}-anna", revs[0])
                 and a.has("clinic", f"{what}-bert", revs[1]))


if __name__ == "__main__":
    unittest.main()
