#!/usr/bin/env python3
"""How soon machines of a LAN find each other, are paired and are all connected, and what they cost then.

    measure_lan.py [discovered|paired|fleet ...] [--json] [--rounds N] [--nodes N] [--idle-seconds N]

Machines are network namespaces, each with its own D-Bus and Avahi, joined by a switch. Needs root, avahi-daemon and
nftables; leaves nothing behind. KITH names the program, which should be a release build. Part of `Benchmarks/run lan`.

discovered  two machines: from the start of `kith up` on one until the other shows it nearby, and until it shows the other
paired      two machines: from the start of `kith pair accept` until the first document is there. Programs answer at once
            that the numbers are the same
fleet       a site of N machines (40), set up by a script as certs/README.md says: from the first `kith up` until each node is
            in sync with each other; then what a node needs, and what a quiet site costs
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Support"))
from kithtest import ROOT, wait_for  # noqa: E402
from lan import LanTestCase  # noqa: E402
from measuring import median, print_row, run  # noqa: E402

options = None


def show(row, figure, unit):
    print_row("lan", row, figure, unit, as_json=options.json)


def show_times(row, seconds):
    show(f"{row}: median of {len(seconds)}", median(seconds), "s")
    show(f"{row}: longest", max(seconds), "s")


class Discovered(LanTestCase):
    def runTest(self):
        self.make_lan(2)
        a, b = self.node_on(1), self.home_on(2).init()
        seen, sees = [], []
        for _ in range(options.rounds):
            started = time.monotonic()
            b.start()
            wait_for("it to be seen", lambda: b.name in a.nearby(), pause=0.005)
            seen.append(time.monotonic() - started)
            wait_for("it to see the other", lambda: a.name in b.nearby(), pause=0.005)
            sees.append(time.monotonic() - started)
            b.stop()
            wait_for("it to be gone", lambda: b.name not in a.nearby())
        show_times("kith up, to being discovered by the other", seen)
        show_times("kith up, to having discovered the other as well", sees)


class Paired(LanTestCase):
    def script(self, node, *arguments):
        return self.spawn(
            node.argv(*arguments, "--json"), env=node.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def until(self, process, state):
        for line in process.stdout:
            if json.loads(line)["state"] == state:
                return
        raise AssertionError(f"the program ended before it said {state}")

    def runTest(self):
        self.make_lan(2)
        a, b = nodes = self.node_on(1), self.node_on(2)
        for node in nodes:
            node.create("clinic")
        seconds = []
        for number in range(options.rounds):
            self.await_nearby(a, b.name)
            self.await_nearby(b, a.name)
            a.put("clinic", f"document-{number}", {"n": number})
            asking = self.script(a, "pair", b.name)
            wait_for("the request to be there", lambda: b.get("/_kith/pairings")["pairings"])
            started = time.monotonic()
            accepting = self.script(b, "pair", "accept", a.name)
            for process in (asking, accepting):
                self.until(process, "comparing")
                process.stdin.write("yes\n")
                process.stdin.flush()
            wait_for("the document", lambda: b.has("clinic", f"document-{number}"), pause=0.005)
            seconds.append(time.monotonic() - started)
            for process in (asking, accepting):
                process.communicate()
                self.processes.remove(process)
            for node, other in ((a, b), (b, a)):
                node.check("untrust", other.name)
        show_times("kith pair accept, to the first document", seconds)


class Fleet(LanTestCase):
    def runTest(self):
        count = options.nodes
        self.make_lan(count)
        started = time.monotonic()
        nodes = self.set_up(count)
        show(f"{count} nodes: keys, certificates and homes made by a script", time.monotonic() - started, "s")
        self.lan("multicast")
        started = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda node: node.start().create("clinic"), nodes))
        show(f"{count} nodes: kith up, until all run and have the database", time.monotonic() - started, "s")
        self.connected(nodes, started)
        frames = [int(n) for n in self.lan("multicast").split()]
        show(f"{count} nodes: multicast frames up to then, of mDNS", frames[0], "frames")
        self.readable(nodes[0])
        started = time.monotonic()
        nodes[0].put("clinic", "notice", {"text": "for all"})
        missing = set(nodes)
        while missing:
            missing = {node for node in missing if not node.has("clinic", "notice")}
        show(f"{count} nodes: a document put on one, to readable on all", time.monotonic() - started, "s")
        self.quiet(nodes)

    def set_up(self, count):
        """A site's authority, and for each node a key, a certificate and a home."""
        def site(*arguments):
            subprocess.run([ROOT / "certs" / "site", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        authority = self.folder / "authority"
        site("ca", authority, "Clinic")
        nodes = [self.home_on(i) for i in range(1, count + 1)]
        for node in nodes:
            made = self.folder / f"{node.name}-made"
            site("node", authority, node.name, made)
            node.check("init", "--name", node.name, "--ca", authority / "ca.pem", "--grant", "clinic=both",
                       "--certificate", made / "certificate.pem", "--key", made / "key.pem")
        return nodes

    def connected(self, nodes, started):
        waiting, links = set(nodes), 0
        half = None

        def look():
            nonlocal half
            links = 0
            for node in nodes:
                peers = [p["state"] for p in node.status()["peers"]] if node in waiting else None
                if peers is None:
                    links += len(nodes) - 1
                    continue
                links += sum(state in ("inSync", "syncing") for state in peers)
                if len(peers) == len(nodes) - 1 and all(state == "inSync" for state in peers):
                    waiting.discard(node)
            if half is None and links >= len(nodes) * (len(nodes) - 1) / 2:
                half = time.monotonic() - started
            return not waiting
        wait_for("each to be in sync with each", look, seconds=900, pause=0.25)
        show(f"{len(nodes)} nodes: kith up, until half of all pairs are connected", half, "s")
        show(f"{len(nodes)} nodes: kith up, until all {len(nodes) * (len(nodes) - 1) // 2} pairs are in sync",
             time.monotonic() - started, "s")

    def readable(self, node):
        for words in (("status",), ("peers",), ("status", "--json")):
            seconds = []
            for _ in range(5):
                started = time.monotonic()
                text = node.check(*words)
                seconds.append(time.monotonic() - started)
            show(f"kith {' '.join(words)}, {len(text.splitlines())} lines: median of 5", median(seconds) * 1000, "ms")
            if options.screens:
                print(text, file=sys.stderr)

    def quiet(self, nodes):
        kiths = [node.pid for node in nodes]
        avahis = daemons(self.lan.directory)
        self.lan("multicast")
        before = {pid: used(pid) for pid in kiths + avahis}
        started = time.monotonic()
        if ended := first_end(kiths + avahis, options.idle_seconds):
            self.fail(f"process {ended} ended in a quiet site")
        seconds = time.monotonic() - started
        frames = [int(n) for n in self.lan("multicast").split()]
        after = {pid: used(pid) for pid in kiths + avahis}
        for what, pids in (("node", kiths), ("avahi-daemon", avahis)):
            shares = [(after[pid] - before[pid]) / seconds * 100 for pid in pids]
            show(f"quiet for {seconds:.0f} s: processor time of a {what}, mean of {len(pids)}",
                 sum(shares) / len(shares), "% of a core")
        show("the same: multicast frames of mDNS", frames[0] / seconds * 60, "a minute")
        show("the same: all multicast frames", frames[1] / seconds * 60, "a minute")
        for what, field in (("resident memory", "VmRSS"), ("its peak", "VmHWM"), ("threads", "Threads")):
            figures = [status(pid, field) for pid in kiths]
            unit = "MiB" if field.startswith("Vm") else ""
            show(f"a node with {len(nodes) - 1} links: {what}, largest", max(figures) / (1024 if unit else 1), unit)
        show(f"a node with {len(nodes) - 1} links: open files, most", max(len(os.listdir(f"/proc/{pid}/fd")) for pid in kiths),
             "")


def first_end(pids, seconds):
    """The first of these processes that ends, or None when all have outlived the time."""
    ends = [os.pidfd_open(pid) for pid in pids]
    try:
        ready, _, _ = select.select(ends, [], [], seconds)
        return pids[ends.index(ready[0])] if ready else None
    finally:
        for end in ends:
            os.close(end)


def used(pid):
    """Processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status(pid, field):
    """A number of /proc/PID/status."""
    return int(next(line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                    if line.startswith(field + ":")))


def daemons(directory):
    """The Avahi daemons of a LAN."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and words[0].endswith(b"avahi-daemon") and any(w.startswith(bytes(directory) + b"/") for w in words):
            found.append(int(entry.name))
    return found


def main():
    global options
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="discovered, paired, fleet; all without a name")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--idle-seconds", type=float, default=60)
    parser.add_argument("--screens", action="store_true", help="print what kith status shows, to the standard error")
    options = parser.parse_args()
    cases = {"discovered": Discovered, "paired": Paired, "fleet": Fleet}
    for part in options.parts:
        if part not in cases:
            parser.error(f"there is no part {part}; there are {', '.join(cases)}")
    for part in options.parts or cases:
        if not run(cases[part]()):
            return 1
        show("load of the machine, over the last minute", os.getloadavg()[0], "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
