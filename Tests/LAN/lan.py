"""A LAN of namespaces for one test, made by lan.sh beside this file."""

import os
import subprocess
import unittest
from pathlib import Path

from kithtest import IS_ROOT, Node, NodeTestCase, clean_environment, wait_for

LAN_SH = Path(__file__).resolve().parent / "lan.sh"


class Lan:
    """N machines joined by a switch; each has its own network, /run, hostname, D-Bus and Avahi."""

    def __init__(self, folder, count, **settings):
        self.directory = Path(folder) / "lan"
        self.settings = settings
        self.count = count
        self("up", count)

    def environment(self):
        return clean_environment(LAN_DIR=self.directory, **self.settings)

    def __call__(self, *arguments):
        """One command of lan.sh, which must succeed; its output."""
        # Through files and not pipes: the daemons that `up` starts live longer than lan.sh.
        done = subprocess.run(
            [str(LAN_SH), *map(str, arguments)], env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 + 10 * self.count)
        if done.returncode != 0:
            raise AssertionError(f"lan.sh {' '.join(map(str, arguments))}: {done.stdout.decode()}")
        return done.stdout.decode()

    def prefix(self, number):
        """What comes before a command to run it on a machine."""
        return ["env", f"LAN_DIR={self.directory}", str(LAN_SH), "exec", str(number)]

    def down(self):
        if self.directory.exists():
            self("down")


@unittest.skipUnless(IS_ROOT, "needs root, for network namespaces")
class LanTestCase(NodeTestCase):
    """Makes a LAN and nodes on its machines."""

    NAMES = ("reception", "laboratory", "ward", "pharmacy", "archive")

    def host_name(self, number):
        """What machine `number` is called; beyond the few that have names of their own, by its number."""
        return self.NAMES[number - 1] if number <= len(self.NAMES) else f"node{number}"

    def make_lan(self, count, **settings):
        names = " ".join(self.host_name(i) for i in range(1, count + 1))
        self.lan = Lan(self.folder, count, LAN_NAMES=names, **settings)
        # Clean-ups run in reverse order: the LAN goes first, and takes every process on it along.
        self.addCleanup(self.lan.down)
        return self.lan

    def home_on(self, number):
        """A node on machine `number`, named like its host, that is neither made nor started yet."""
        name = self.host_name(number)
        node = Node(self.folder / name, name, self.lan.prefix(number))
        self.nodes.append(node)
        return node

    def node_on(self, number, *arguments):
        """A node on machine `number`, named like its host, running."""
        return self.home_on(number).init().start(*arguments)

    def on(self, number, script):
        """A few words of shell on a machine."""
        subprocess.run([*self.lan.prefix(number), "sh", "-c", script], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def pair_all(self, nodes):
        for node in nodes:
            node.trust(*[other for other in nodes if other is not node])

    def start_paired(self, count, database, *arguments, **settings):
        """A LAN of `count` nodes that are paired with each other and have this database."""
        self.make_lan(count, **settings)
        nodes = [self.node_on(i, *arguments) for i in range(1, count + 1)]
        self.pair_all(nodes)
        for node in nodes:
            node.create(database)
        return nodes

    def await_all_in_sync(self, nodes, seconds=60):
        for node in nodes:
            for other in nodes:
                if other is not node:
                    node.await_peer(other.name, "inSync", seconds=seconds)

    def await_nearby(self, node, *names):
        wait_for(f"{node.name} to see {', '.join(names)} nearby", lambda: node.nearby() >= set(names))


def pid_of_lan_processes(directory):
    """The holders of a LAN that still run."""
    left = []
    for file in Path(directory).glob("*/pid"):
        pid = file.read_text().strip()
        if pid and os.path.exists(f"/proc/{pid}"):
            left.append(pid)
    return left
