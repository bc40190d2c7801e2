#!/usr/bin/env python3
"""How long after a link returns the first change is at the other node, with discovery: part of Benchmarks/run.

    measure_reconnect.py [--json] [--rounds N]

Two machines as network namespaces, each with its own Avahi. In each round the cable of one is pulled until both nodes have
given up the link; a document is written; the cable is plugged in again, and the clock runs until the document can be read
on the other side. Needs root and avahi-daemon; KITH names the program.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Support"))
from kithtest import wait_for  # noqa: E402
from lan import LanTestCase  # noqa: E402
from measuring import median, print_row, run  # noqa: E402

BAR_SECONDS = 2


class Measurement(LanTestCase):
    """Uses what the tests use to make and to end everything."""

    rounds = 5
    seconds = []

    def runTest(self):
        a, b = nodes = self.start_paired(2, "clinic")
        self.await_all_in_sync(nodes)
        for number in range(self.rounds):
            self.lan("link", 2, "down")
            a.await_peer(b.name, "offline")
            b.await_peer(a.name, "offline")
            a.put("clinic", f"round-{number}", {"n": number})
            self.lan("link", 2, "up")
            started = time.monotonic()
            wait_for("the document on the other side", lambda: b.has("clinic", f"round-{number}"), pause=0.01)
            self.seconds.append(time.monotonic() - started)
            self.await_all_in_sync(nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    Measurement.rounds = options.rounds
    if not run(Measurement()):
        return 1
    seconds = Measurement.seconds
    for name, figure, bar in [("median", median(seconds), BAR_SECONDS), ("longest", max(seconds), None)]:
        row = f"a link that returns, to the first change: {name} of {len(seconds)}"
        print_row("replication", row, figure, "s", bar, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
