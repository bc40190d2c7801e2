"""Discovery alone, seen through the probe that prints its events, against real Avahi daemons.

The other half, nodes that discover each other and then replicate, is in test_lan.py.
"""

import os
import subprocess
import threading
import unittest
from pathlib import Path

from kithtest import KITH, LONG, wait_for
from lan import LanTestCase

PROBE = str(Path(KITH).parent / "KithDiscoveryProbe")


class Probe:
    """One KithDiscoveryProbe on a machine of the LAN; its events come as lists of fields."""

    def __init__(self, test, number, name, short_id, port=4984, version=1):
        self.short_id = short_id
        self.events = []
        self.process = subprocess.Popen(
            [*test.lan.prefix(number), PROBE, name, str(port), short_id, str(version)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        test.processes.append(self.process)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.events.append(line.rstrip("\n").split("\t"))

    def count(self, *wanted):
        """How many events begin with these fields."""
        return sum(event[: len(wanted)] == list(wanted) for event in self.events)

    def await_event(self, *wanted, times=1, seconds=60):
        wait_for(f"{self.short_id} to see {wanted} {times} times", lambda: self.count(*wanted) >= times, seconds)

    def nodes(self):
        """The nodes that are there now, as the events say: (name, interface) to the fields of `found`."""
        nodes = {}
        for event in list(self.events):
            if event[0] == "found":
                nodes[event[1], event[2]] = event[3:]
            elif event[0] == "lost":
                nodes.pop((event[1], event[2]))  # only what was found can be lost
        return nodes

    def ids(self):
        return sorted(fields[0] for fields in self.nodes().values())

    def await_ids(self, *ids, seconds=60):
        wait_for(f"{self.short_id} to know {ids}, not {self.ids()}", lambda: self.ids() == sorted(ids), seconds)

    def stop(self):
        """Ends its input, on which it says goodbye; the events it has seen."""
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.reader.join(timeout=30)
        return self.events

    @property
    def cpu_seconds(self):
        """What the probe itself, below lan.sh and nsenter, has used."""
        pid, used = self.process.pid, 0.0
        while True:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if not children:
                return used
            pid = int(children[0])


A, B, C = "AAAA-AAAA", "BBBB-BBBB", "CCCC-CCCC"


@unittest.skipUnless(os.access(PROBE, os.X_OK), "needs the probe: swift build --product KithDiscoveryProbe")
class Discovery(LanTestCase):
    def assert_no_repetition(self, probe):
        """No event tells what the one before about the same thing told."""
        last = {}
        for event in probe.events:
            if event[0] == "off":
                last.pop("published", None)
            about = tuple(event[1:3]) if event[0] in ("found", "lost") else "state" if event[0] in ("on", "off") else event[0]
            self.assertNotEqual(last.get(about), event, probe.events)
            last[about] = event

    def test_two_nodes(self):
        """two nodes find each other with all addresses, know themselves, and see a goodbye"""
        self.make_lan(2)
        a, b = Probe(self, 1, "kitchen", A, 4001), Probe(self, 2, "Küche 台所", B, 4002)
        for probe in (a, b):
            probe.await_ids(A, B)
            self.assertEqual(probe.count("on", "eth0"), 1)
            self.assertEqual(probe.count("published"), 1)
        self.assertEqual(
            a.nodes(), {
                ("kitchen", "eth0"): [A, "1", "4001", "own", "10.77.0.1,fe80::77:ff:fe00:1%eth0"],
                ("Küche 台所", "eth0"): [B, "1", "4002", "other", "10.77.0.2,fe80::77:ff:fe00:2%eth0"]})
        events = b.stop()
        self.assertEqual(events[-1], ["stopped"])
        a.await_ids(A)
        self.assertEqual(sorted(event[0] for event in events), ["found", "found", "on", "published", "stopped"])
        # One event for each thing that happened: on, published, two found, one lost.
        self.assertEqual(len(a.events), 5, a.events)
        self.assertEqual(a.count("lost", "Küche 台所", "eth0"), 1)

    def test_collision(self):
        """nodes of one name, started together, settle on names of their own after few steps, also in the other order"""
        ids = ("AAAA-AAAA", "BBBB-BBBB", "CCCC-CCCC", "DDDD-DDDD", "EEEE-EEEE")[:5 if LONG else 3]
        self.make_lan(len(ids))
        probes = [Probe(self, i, "laptop", short) for i, short in enumerate(ids, 1)]
        for probe in probes:
            probe.await_ids(*ids)
            wait_for("as many names", lambda: len(probe.nodes()) == len(ids))
        names = {name for name, _ in probes[0].nodes()}
        self.assertIn("laptop", names)
        self.assertTrue(all(name.startswith("laptop") for name in names), names)
        for probe in probes:
            # How many at once may find the same next name taken, and never more than are tried in all.
            self.assertLessEqual(probe.count("published"), 2 if len(ids) == 3 else 6, probe.events)
            probe.stop()
        again = [Probe(self, i, "laptop", short) for i, short in reversed(list(enumerate(ids, 1)))]
        for probe in again:
            probe.await_ids(*ids)
            self.assert_no_repetition(probe)

    def test_one_host(self):
        """two nodes of one name on one machine share its daemon, and one gives way"""
        self.make_lan(1)
        a = Probe(self, 1, "laptop", A, 4001)
        a.await_ids(A)
        b = Probe(self, 1, "laptop", B, 4002)
        for probe in (a, b):
            probe.await_ids(A, B)
        self.assertEqual(b.count("published", "laptop #2"), 1, b.events)

    def test_long_names(self):
        """names beyond 63 bytes are cut between characters, the number of a taken one included; odd ones arrive as they are"""
        self.make_lan(2)
        odd = ["name with space, dot. and (parens)", "back\\slash", "ends with #2", "x" * 63, "é" * 31, "😄" * 15, "plain"]
        shown = odd + ["y" * 63, "ü" * 31]
        for number, name in enumerate(odd + ["y" * 64, "ü" * 32]):
            Probe(self, 2, name, f"DDDD-DDD{number}")
        name = "台" * 40
        a = Probe(self, 1, name, A)
        a.await_event("published", "台" * 21)
        b = Probe(self, 2, name, B)
        for probe in (a, b):
            probe.await_ids(A, B, *(f"DDDD-DDD{number}" for number in range(len(shown))))
            self.assertEqual(len(probe.nodes()), len(shown) + 2)
        self.assertLessEqual(set(shown), {name for name, _ in a.nodes()})
        other = next(name for name, _ in a.nodes() if name not in shown and name != "台" * 21)
        self.assertLessEqual(len(other.encode()), 63)
        self.assertTrue(other.startswith("台" * 15) and other.endswith(" #2"), other)

    def test_unknown_version(self):
        """a node of a later protocol version is reported with its version, records of others are not"""
        self.make_lan(2)
        a = Probe(self, 1, "old", A)
        Probe(self, 2, "new", B, version=7)
        publish = [*self.lan.prefix(2), "avahi-publish-service"]
        for name, texts in (("none", []), ("bad id", ["v=1", "id=short"]), ("huge", ["v=1", "id=CCCCCCCC"] + ["x" * 250] * 6),
                            ("esc\x1b[2J", ["v=1", "id=CCCCCCCC"])):
            self.processes.append(subprocess.Popen(
                [*publish, name, "_kith._tcp", "4000", *texts], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        good = subprocess.Popen(
            [*publish, "good", "_kith._tcp", "4000", "V=1", "extra", "id=cccccccc"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(good)
        a.await_ids(A, B, C)
        self.assertEqual(a.nodes()["new", "eth0"][:2], [B, "7"])
        self.assertEqual({name for name, _ in a.nodes()}, {"old", "new", "good"})

    def test_changed_port(self):
        """a node that comes back on another port at once is reported with it"""
        self.make_lan(2)
        a, b = Probe(self, 1, "a", A), Probe(self, 2, "b", B, 4002)
        a.await_ids(A, B)
        b.stop()
        Probe(self, 2, "b", B, 5002)
        wait_for("the new port", lambda: a.nodes().get(("b", "eth0"), [None] * 3)[2] == "5002")
        self.assert_no_repetition(a)

    @unittest.skipUnless(LONG, "only with --long")
    def test_second_interface(self):
        """two cables into one network: seen once on each with its addresses, itself known as itself, and never renamed"""
        self.make_lan(2)
        a, b = Probe(self, 1, "a", A), Probe(self, 2, "b", B)
        for probe in (a, b):
            probe.await_ids(A, B)
        self.lan("cable", 1)
        self.on(1, "ip addr add fd77::1/64 dev eth1; ip addr add 10.78.0.1/24 dev eth1")
        a.await_ids(A, A, B, B)
        wait_for("the new addresses", lambda: "10.77.0.101" in b.nodes()["a", "eth0"][-1] and "fd77::1" in b.nodes()["a", "eth0"][-1])
        wait_for("the state to name both", lambda: a.count("on", "eth0,eth1"))
        self.assertEqual({(name, fields[3]) for (name, _), fields in a.nodes().items()}, {("a", "own"), ("b", "other")})
        self.assertEqual({interface for _, interface in a.nodes()}, {"eth0", "eth1"})
        # Between these two there were no steps on which it took another name.
        for probe, name in ((a, "a"), (b, "b")):
            self.assertEqual({event[1] for event in probe.events if event[0] == "published"}, {name}, probe.events)
        self.on(1, "ip link del eth1")
        a.await_ids(A, B)
        wait_for("the state to name one", lambda: a.count("on", "eth0") == 2)

    def test_ipv6_only(self):
        """on a LAN with IPv6 link-local addresses only, nodes find each other, with the interface in the address"""
        self.make_lan(2, LAN_NET4="")
        a, b = Probe(self, 1, "a", A), Probe(self, 2, "b", B)
        for probe in (a, b):
            probe.await_ids(A, B)
        self.assertEqual(a.nodes()["b", "eth0"][-1], "fe80::77:ff:fe00:2%eth0")

    def test_avahi_restarted_ten_times(self):
        """after each restart of Avahi the node is published and found again, once"""
        self.make_lan(2)
        a, b = Probe(self, 1, "a", A), Probe(self, 2, "b", B)
        for probe in (a, b):
            probe.await_ids(A, B)
        for number in range(1, 11):
            self.lan("avahi", 1, "kill")
            a.await_event("off", times=number)
            wait_for("everything to be lost", lambda: not a.nodes())
            self.lan("avahi", 1, "start")
            a.await_event("on", "eth0", times=number + 1)
            a.await_event("published", "a", times=number + 1)
            a.await_ids(A, B)
            b.await_ids(A, B)
        for probe in (a, b):
            self.assert_no_repetition(probe)
        self.assertEqual((a.count("on"), a.count("off"), a.count("published")), (11, 10, 11), a.events)
        self.assertEqual(b.count("published"), 1)

    def test_avahi_killed_during_registration(self):
        """kill -9 of Avahi while the name is being probed, and a node that ends while Avahi is gone"""
        self.make_lan(2)
        b = Probe(self, 2, "b", B)
        b.await_event("published")
        a = Probe(self, 1, "a", A)
        a.await_event("on")
        self.lan("avahi", 1, "kill")
        a.await_event("off")
        self.lan("avahi", 1, "start")
        for probe in (a, b):
            probe.await_ids(A, B)
        self.lan("avahi", 1, "kill")
        a.await_event("off", times=2)
        self.assertEqual(a.stop()[-1], ["stopped"])

    def test_late_start(self):
        """a node that starts without D-Bus says why, does not turn in circles, and is there once both have come"""
        self.make_lan(2)
        b = Probe(self, 2, "b", B)
        b.await_event("published")
        self.lan("avahi", 1, "kill")
        self.on(1, "kill -9 $(pidof dbus-daemon)")
        a = Probe(self, 1, "a", A)
        a.await_event("off")
        self.assertIn("D-Bus", a.events[0][1])
        self.assertIn("apt install avahi-daemon", a.events[0][2])
        used = a.cpu_seconds
        self.start_bus(1)
        wait_for("D-Bus to be found", lambda: a.events[-1][1].startswith("avahi-daemon does not run"))
        self.assertLess(a.cpu_seconds - used, 1)
        self.lan("avahi", 1, "start")
        for probe in (a, b):
            probe.await_ids(A, B)
        self.assertEqual((a.count("off"), a.count("on"), a.count("published")), (2, 1, 1), a.events)

    def test_bus_restarted(self):
        """a restart of D-Bus, which ends Avahi too, neither ends the node nor leaves it alone afterwards"""
        self.make_lan(2)
        a, b = Probe(self, 1, "a", A), Probe(self, 2, "b", B)
        a.await_ids(A, B)
        self.on(1, "kill -9 $(pidof dbus-daemon)")
        a.await_event("off")
        wait_for("everything to be lost", lambda: not a.nodes())
        # It may need a moment to notice.
        self.on(1, "while pidof avahi-daemon; do sleep 0.05; done; rm -f /run/avahi-daemon/pid")
        self.start_bus(1)
        self.lan("avahi", 1, "start")
        for probe in (a, b):
            probe.await_ids(A, B)
        self.assertIsNone(a.process.poll())
        self.assert_no_repetition(a)

    def start_bus(self, number):
        configuration = self.lan.directory / f"node{number}" / "dbus.conf"
        self.processes.append(subprocess.Popen(
            [*self.lan.prefix(number), "dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.on(number, "until dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId"
                        " 2>/dev/null; do sleep 0.05; done")


if __name__ == "__main__":
    unittest.main()
