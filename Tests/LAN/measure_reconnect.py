#!/usr/bin/env python3
"""How long after a link returns the first change is at the other node, with discovery: part of Benchmarks/run.

    measure_reconnect.py [--json] [--rounds N]

Two machines as network namespaces, each with its own Avahi. In each round the cable of one is pulled until both nodes have
given up the link; a document is written; the cable is plugged in again, and the clock runs until the document can be read
on the other side. Needs root and avahi-daemon; KITH names the program.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Support"))
from kithtest import wait_for  # noqa: E402
from lan import LanTestCase  # noqa: E402

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
    result = Measurement().run()
    for _, report in result.errors + result.failures:
        print(report, file=sys.stderr)
    if result.skipped or not result.wasSuccessful():
        print("measure_reconnect.py: nothing was measured (it needs root)", file=sys.stderr)
        return 1
    seconds = sorted(Measurement.seconds)
    for name, figure, bar in [("median", seconds[len(seconds) // 2], BAR_SECONDS), ("longest", seconds[-1], None)]:
        row = f"a link that returns, to the first change: {name} of {len(seconds)}"
        if options.json:
            print(json.dumps({
                "suite": "replication", "row": row, "figure": round(figure, 2), "unit": "s", "ratio": None, "bar": bar,
                "bar_is": "most" if bar else None, "holds": figure <= bar if bar else None}))
        else:
            missed = "missed" if bar and figure > bar else ""
            print(f"{'replication':12} {row:62} {figure:<10.2f} {'s':14} {'-':8} {f'<= {bar}' if bar else '-':10} {missed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
