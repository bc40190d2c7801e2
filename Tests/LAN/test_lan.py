"""Real nodes, real Avahi, real multicast, on machines that are network namespaces."""

import base64
import os
import random
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from kithtest import LONG, ROOT, Node, await_converged, converged, wait_for, winner
from lan import LAN_SH, LanTestCase, pid_of_lan_processes
from terminal import Terminal

import generate


class Harness(LanTestCase):
    def test_nothing_left(self):
        """lan.sh down ends every process of the LAN, and its folder is gone"""
        lan = self.make_lan(2)
        self.assertEqual(len(pid_of_lan_processes(lan.directory)), 3)
        self.assertIn("10.77.0.2", lan("status"))
        pids = [int(p) for p in pid_of_lan_processes(lan.directory)]
        lan.down()
        self.assertFalse(lan.directory.exists())
        self.assertEqual([p for p in pids if os.path.exists(f"/proc/{p}")], [])

    def test_refuses(self):
        """lan.sh without LAN_DIR says what is missing"""
        done = subprocess.run([str(LAN_SH), "up", "2"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("LAN_DIR", done.stderr)


class OnLan(LanTestCase):
    def test_first_light(self):
        """three nodes discover each other, refuse each other unpaired, and replicate once paired"""
        self.make_lan(3)
        a, b, c = nodes = [self.node_on(i) for i in (1, 2, 3)]
        for node in nodes:
            node.create("clinic")
        rev = a.put("clinic", "patient:1", {"name": "Zoë"})
        for node in nodes:
            self.await_nearby(node, *[n.name for n in nodes if n is not node])
            self.assertEqual(node.status()["peers"], [])
        self.assertEqual((b.count("clinic"), c.count("clinic")), (0, 0))
        self.pair_all(nodes)
        for node in (b, c):
            wait_for(f"the document on {node.name}", lambda: node.has("clinic", "patient:1", rev))
        self.await_all_in_sync(nodes)
        for node in nodes:
            self.assertEqual(node.nearby(), set())
        c.load("clinic", list(generate.documents(1000, 2)))
        digest = await_converged(nodes, "clinic")
        self.assertEqual(digest["documents"], 1001)

    def test_pair_by_name(self):
        """two people pair two machines that discovery has found, by name, and a document follows"""
        self.make_lan(2)
        a, b = nodes = [self.node_on(i) for i in (1, 2)]
        for node in nodes:
            node.create("clinic")
        self.await_nearby(a, b.name)
        self.await_nearby(b, a.name)
        rev = a.put("clinic", "patient:1", {"name": "Zoë"})
        asking, accepting = [Terminal(node.argv(*words), node.environment()) for node, words in (
            (a, ("pair", b.name)), (b, ("pair", "accept", a.name)))]
        self.addCleanup(asking.close)
        self.addCleanup(accepting.close)
        for terminal in (asking, accepting):
            terminal.until("Do both screens show this?", "[y/N]")
            terminal.type("y\n")
        self.assertEqual((asking.end(), accepting.end()), (0, 0))
        wait_for(f"the document on {b.name}", lambda: b.has("clinic", "patient:1", rev))
        self.await_all_in_sync(nodes)

    def test_invitation_nearby(self):
        """a code that is typed without a name finds the machine that gave it among those nearby"""
        self.make_lan(3)
        host, guest, other = nodes = [self.node_on(i) for i in (1, 2, 3)]
        for node in nodes:
            node.create("clinic")
        self.await_nearby(guest, host.name)
        self.await_nearby(guest, other.name)
        rev = host.put("clinic", "patient:1", {"name": "Zoë"})
        inviting = Terminal(host.argv("pair", "invite"), host.environment())
        self.addCleanup(inviting.close)
        inviting.until("Ctrl-C takes it back.")
        code = inviting.shown.split("kith pair join ")[1].split()[0]
        self.assertIn(f"Paired with {host.name}", guest.check("pair", "join", code))
        self.assertEqual(inviting.end(), 0)
        wait_for(f"the document on {guest.name}", lambda: guest.has("clinic", "patient:1", rev))
        self.assertEqual(other.status()["peers"], [])

    def test_published(self):
        """a node is published as _kith._tcp with its short ID, and unpublished when it ends"""
        self.make_lan(2)
        a = self.node_on(1)
        short = a.status()["node"]["id"].replace("-", "")

        def browse():
            return subprocess.run(
                [*self.lan.prefix(2), "avahi-browse", "-rtp", "_kith._tcp"], capture_output=True, text=True).stdout
        text = wait_for("avahi-browse to see the node", lambda: (t := browse()) and f"id={short}" in t and t)
        self.assertIn(str(a.port), text)
        # The version and the short ID, and nothing else: which databases there are is nobody's business.
        records = {line.split(";")[-1] for line in text.splitlines() if line.startswith("=")}
        self.assertEqual({" ".join(sorted(record.split())) for record in records}, {f'"id={short}" "v=1"'})
        self.assertEqual(a.stop(), 0)
        wait_for("the service to be gone", lambda: "_kith._tcp" not in browse())

    def test_link_down(self):
        """an unplugged node edits alone; status says offline and what waits; back on the wire all converge"""
        a, b, c = nodes = self.start_paired(3, "clinic")
        first = {i: a.put("clinic", i, {"v": 0}) for i in ("deep", "even", "gone", "saved")}
        await_converged(nodes, "clinic")
        self.await_all_in_sync(nodes)
        self.lan("link", 3, "down")
        deep = a.put("clinic", "deep", {"v": "a2"}, a.put("clinic", "deep", {"v": "a1"}, first["deep"]))
        even_a = b.put("clinic", "even", {"v": "b"}, first["even"])
        a.remove("clinic", "gone", first["gone"])
        a.remove("clinic", "saved", first["saved"])
        deep_c = c.put("clinic", "deep", {"v": "c1"}, first["deep"])
        even_c = c.put("clinic", "even", {"v": "c"}, first["even"])
        saved = c.put("clinic", "saved", {"v": "c"}, first["saved"])
        offline = a.await_peer("ward", "offline")
        self.assertIsNotNone(offline["since"])
        wait_for("status to count what waits for ward", lambda: a.peer("ward")["toSend"] == 4)
        self.assertEqual(a.peer("laboratory")["state"], "inSync")
        self.assertIn("offline", a.check("status"))
        self.assertFalse(converged(nodes, "clinic"))
        self.lan("link", 3, "up")
        await_converged(nodes, "clinic")
        for node in nodes:
            self.assertEqual(node.document("clinic", "deep")["_rev"], deep)
            self.assertEqual(node.document("clinic", "even")["_rev"], winner(even_a, even_c))
            self.assertEqual(node.document("clinic", "saved")["_rev"], saved)
            self.assertFalse(node.has("clinic", "gone"))
            self.assertEqual(node.document("clinic", "deep", rev=deep_c)["v"], "c1")
            self.assertEqual(sorted(set(node.conflicts("clinic")) & {"deep", "even"}), ["deep", "even"])
        self.await_all_in_sync(nodes)

    def test_ipv6_link_local(self):
        """a LAN with nothing but IPv6 link-local addresses is enough"""
        nodes = self.start_paired(2, "clinic", LAN_NET4="")
        rev = nodes[0].put("clinic", "x", {"n": 1})
        wait_for("the document on the other node", lambda: nodes[1].has("clinic", "x", rev))
        self.await_all_in_sync(nodes)
        address = nodes[0].peer("laboratory")["address"] or nodes[1].peer("reception")["address"]
        self.assertIn("fe80:", address)

    def test_avahi_restarted(self):
        """Avahi dies and comes back: status says so meanwhile, links live on, and new nodes are found"""
        self.make_lan(2)
        a = self.node_on(1)
        wait_for("discovery to be on", lambda: a.status()["node"]["discovery"]["state"] == "on")
        self.lan("avahi", 1, "kill")
        off = wait_for("discovery to be off", lambda: (d := a.status()["node"]["discovery"])["state"] == "off" and d)
        self.assertTrue(off["reason"])
        self.assertTrue(off["remedy"])
        self.assertIn("discovery off", a.check("status").lower())
        self.lan("avahi", 1, "start")
        wait_for("discovery to be on again", lambda: a.status()["node"]["discovery"]["state"] == "on")
        b = self.node_on(2)
        self.await_nearby(a, "laboratory")
        self.await_nearby(b, "reception")

    def test_link_outlives_avahi(self):
        """a link between two nodes does not need Avahi once it is there"""
        a, b = self.start_paired(2, "clinic")
        self.await_all_in_sync([a, b])
        self.lan("avahi", 1, "kill")
        self.lan("avahi", 2, "kill")
        rev = a.put("clinic", "x", {"n": 1})
        wait_for("the document on the other node", lambda: b.has("clinic", "x", rev))

    def test_without_avahi(self):
        """without Avahi a node says 'discovery off' and what to do, and reaches its peer at an IPv6 address it is given"""
        self.make_lan(2, LAN_AVAHI=0)
        a = self.node_on(1)
        discovery = a.status()["node"]["discovery"]
        self.assertEqual(discovery["state"], "off")
        self.assertIn("avahi-daemon", discovery["remedy"])
        self.assertIn("discovery off", a.check("status").lower())
        a.await_log("discovery off")
        b = self.node_on(2)
        self.pair_all([a, b])
        for node in (a, b):
            node.create("clinic")
        rev = a.put("clinic", "x", {"n": 1})
        self.assertRefused(b.run("peers", "add", "fe80::77:ff:fe00:1"), 19, "%eth0")
        self.assertRefused(b.run("peers", "add", f"10.77.0.2:{b.port}"), 19, "own address")
        b.check("peers", "add", f"[fe80::77:ff:fe00:1%eth0]:{a.port}")
        wait_for("the document on the other node", lambda: b.has("clinic", "x", rev))
        self.assertIn(f"[fe80::77:ff:fe00:1%eth0]:{a.port}", b.check("peers", "add"))
        self.assertIn("reception", b.check("peers", "add"))
        # Kept over a restart, and taken back.
        b.stop()
        b.start()
        rev = a.put("clinic", "y", {"n": 1})
        wait_for("the document on the other node", lambda: b.has("clinic", "y", rev))
        b.check("peers", "add", f"[fe80::77:ff:fe00:1%eth0]:{a.port}", "--remove")
        self.assertEqual(b.check("peers", "add"), "")
        self.assertRefused(b.run("peers", "add", "10.77.0.300"), 19, "not an address")
        self.assertRefused(b.run("peers", "add", "fe80::77:ff:fe00:1%eth0", "--remove"), 10, "no address that was given")

    def test_network_comes(self):
        """without Avahi a node notices that it is on the network now, and dials at once whom it could not reach"""
        self.make_lan(2, LAN_AVAHI=0)
        a = self.node_on(1)
        self.lan("link", 2, "down")
        b = self.node_on(2, "--peer", f"10.77.0.1:{a.port}")
        self.pair_all([a, b])
        for node in (a, b):
            node.create("clinic")
        rev = a.put("clinic", "x", {"n": 1})
        b.await_log("not reached")
        self.lan("link", 2, "up")
        b.await_log("on the network with", "eth0 10.77.0.2")
        wait_for("the document on the other node", lambda: b.has("clinic", "x", rev))

    def test_avahi_restarted_while_linked(self):
        """a link that is there outlives a restart of Avahi on both sides, and is not made anew"""
        a, b = self.start_paired(2, "clinic")
        self.await_all_in_sync([a, b])
        for number in (1, 2):
            self.lan("avahi", number, "kill")
        for node in (a, b):
            node.await_log("discovery off")
        for number in (1, 2):
            self.lan("avahi", number, "start")
        for node in (a, b):
            wait_for("discovery to be on again", lambda: node.status()["node"]["discovery"]["state"] == "on")
        rev = a.put("clinic", "x", {"n": 1})
        wait_for("the document on the other node", lambda: b.has("clinic", "x", rev))
        for node in (a, b):
            self.assertEqual(node.log().count("link ended"), 0, node.log())

    def test_slow_link(self):
        """on one megabit a second small documents do not wait behind an attachment of many seconds"""
        a, b = self.start_paired(2, "clinic")
        self.await_all_in_sync([a, b])
        self.lan("rate", 1, "1mbit")
        data = random.Random(1).randbytes(2 << 20)
        picture = a.put("clinic", "x-ray", {"_attachments": {
            "x-ray.png": {"content_type": "image/png", "data": base64.b64encode(data).decode()}}})
        a.await_peer("laboratory", "syncing")
        for number in range(5):
            rev = a.put("clinic", f"urgent-{number}", {"n": number})
            wait_for("the urgent document on the other node", lambda: b.has("clinic", f"urgent-{number}", rev))
        # It needs a quarter of a minute by itself; whoever waited for it would have it.
        self.assertFalse(b.has("clinic", "x-ray"))
        self.lan("rate", 1, 0)
        wait_for("the attachment on the other node", lambda: b.has("clinic", "x-ray", picture))
        self.await_all_in_sync([a, b])

    @unittest.skipUnless(LONG, "only with --long")
    def test_two_networks(self):
        """with two cables there is one link; without the one it was on it comes back over the other"""
        self.make_lan(2, LAN_IFF_RUNNING="yes")
        for number in (1, 2):
            self.lan("cable", number)
            # Two networks, and not twice the same one.
            self.on(number, f"ip addr flush dev eth1 scope global; ip addr add 10.78.0.{number}/24 dev eth1")
        a, b = nodes = [self.node_on(i) for i in (1, 2)]
        self.pair_all(nodes)
        for node in nodes:
            node.create("clinic")
        self.await_all_in_sync(nodes)
        rev = a.put("clinic", "first", {"n": 1})
        wait_for("the first document", lambda: b.has("clinic", "first", rev))
        for node in nodes:
            self.assertEqual(node.log().count("link ended"), 0, node.log())
            self.assertNotIn("refused", node.log(), "a node talks to itself, or twice to the other")
        used = (a.peer(b.name)["address"] or "") + (b.peer(a.name)["address"] or "")
        self.lan("link", 2, "down") if "10.77.0" in used or "%eth0" in used else self.on(2, "ip link set eth1 down")
        rev = a.put("clinic", "second", {"n": 2})
        wait_for("the second document over the other network", lambda: b.has("clinic", "second", rev), seconds=120)

    @unittest.skipUnless(LONG, "only with --long")
    def test_stale_and_false_addresses(self):
        """who claims a peer's short ID at dead addresses, or at another node's, keeps nobody from the peer"""
        self.make_lan(3)
        a, c = self.node_on(1), self.node_on(3)
        b = self.home_on(2).init()
        short = b.node_id.replace("-", "")[:8]
        self.pair_all([a, b])
        a.create("clinic")
        for name, address in (("dead", "10.77.0.99"), ("other", "10.77.0.3"), ("own", "10.77.0.1")):
            for words in (["-a", "-R", f"{name}.local", address],
                          ["-s", "-H", f"{name}.local", name, "_kith._tcp", str(c.port), "v=1", f"id={short}"]):
                self.processes.append(subprocess.Popen(
                    [*self.lan.prefix(3), "avahi-publish", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_for("the false ones to be seen", lambda: any(n["id"].startswith(b.node_id[:9]) for n in a.status()["nearby"])
                 or "10.77.0.99" in a.check("peers", "show", b.name))
        b.start()
        b.create("clinic")
        rev = a.put("clinic", "x", {"n": 1})
        wait_for("the document on the right node", lambda: b.has("clinic", "x", rev), seconds=120)
        self.await_all_in_sync([a, b])
        self.assertEqual(c.status()["peers"], [])

    @unittest.skipUnless(LONG, "only with --long")
    def test_site_with_unreachable_addresses(self):
        """nodes of a site that have, before the good one, an address which leads nowhere from the other, find each other"""
        self.make_lan(2)
        site, authority = [ROOT / "certs" / "site"], self.folder / "authority"
        subprocess.run([*site, "ca", authority, "Clinic"], check=True, capture_output=True)
        nodes = [self.home_on(number) for number in (1, 2)]
        for number, node in enumerate(nodes, 1):
            self.on(number, f"ip addr add 10.7{number}.0.{number}/24 dev eth0")  # each in a network of its own
            made = self.folder / f"{node.name}-made"
            subprocess.run([*site, "node", authority, node.name, made], check=True, capture_output=True)
            node.check("init", "--name", node.name, "--ca", authority / "ca.pem", "--grant", "clinic=both",
                       "--certificate", made / "certificate.pem", "--key", made / "key.pem")
            node.start()
            node.create("clinic")
        self.await_all_in_sync(nodes)

    @unittest.skipUnless(LONG, "only with --long")
    def test_other_address(self):
        """a machine that gets another address while it is linked is linked again"""
        a, b = nodes = self.start_paired(2, "clinic")
        self.await_all_in_sync(nodes)
        self.on(2, "ip addr add 10.77.0.52/24 dev eth0; ip addr del 10.77.0.2/24 dev eth0;"
                   " ip addr show dev eth0 | grep -q 10.77.0.52 || ip addr add 10.77.0.52/24 dev eth0")
        for node, other in ((a, b), (b, a)):
            rev = node.put("clinic", node.name, {"n": 1})
            wait_for("the document on the other node", lambda: other.has("clinic", node.name, rev), seconds=120)

    @unittest.skipUnless(LONG, "only with --long")
    def test_started_together(self):
        """two nodes that start in the same moment, again and again, have one link soon, which stays"""
        a, b = nodes = self.start_paired(2, "clinic")
        for number in range(20):
            marks = [len(node.log()) for node in nodes]
            for node in nodes:
                node.stop()
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(Node.start, nodes))
            self.await_all_in_sync(nodes)
            revs = [node.put("clinic", f"{node.name}-{number}", {"n": number}) for node in nodes]
            wait_for("both documents", lambda: b.has("clinic", f"{a.name}-{number}", revs[0])
                     and a.has("clinic", f"{b.name}-{number}", revs[1]))
            for node, mark in zip(nodes, marks):
                made = node.log()[mark:].count("connected ")
                self.assertIn(made, (1, 2), f"the one that stays, and at most one that gave way:\n{node.log()[mark:]}")

    @unittest.skipUnless(LONG, "only with --long")
    def test_clinic_with_loss(self):
        """with two of a hundred frames lost both ways a whole clinic replicates"""
        a, b, c = nodes = self.start_paired(3, "clinic")
        self.await_all_in_sync(nodes)
        for number in (1, 2, 3):
            self.lan("loss", number, 1)  # each frame passes two cables
        documents = list(generate.documents(300, 7))
        for node, part in zip(nodes, (documents[:100], documents[100:200], documents[200:])):
            node.load("clinic", part)
        self.assertEqual(await_converged(nodes, "clinic", seconds=180)["documents"], 300)
        self.await_all_in_sync(nodes)

    @unittest.skipUnless(LONG, "only with --long")
    def test_one_way_loss(self):
        """where one direction is lost both sides say offline in bounded time, and meet again when it is back"""
        a, b = nodes = self.start_paired(2, "clinic")
        for first, second in ((1, 2), (2, 1)):
            self.await_all_in_sync(nodes)
            self.lan("mute", first, second)
            for node, other in ((a, b), (b, a)):
                node.await_peer(other.name, "offline", seconds=90)
            own = a.put("clinic", f"a{first}", {"n": 1}), b.put("clinic", f"b{first}", {"n": 2})
            self.lan("unmute", first, second)
            wait_for("the other's document", lambda: b.has("clinic", f"a{first}", own[0])
                     and a.has("clinic", f"b{first}", own[1]), seconds=180)

    @unittest.skipUnless(LONG, "only with --long")
    def test_many_frozen_and_thawed(self):
        """nodes that are frozen and thawed in turn while all write: everybody converges"""
        nodes = self.start_paired(3, "clinic")
        self.await_all_in_sync(nodes)
        for number, node in enumerate(nodes):
            others = [other for other in nodes if other is not node]
            node.signal(signal.SIGSTOP)
            for other in others:
                other.await_peer(node.name, "offline", seconds=90)
                other.put("clinic", f"{other.name}-{number}", {"n": number})
            node.signal(signal.SIGCONT)
        await_converged(nodes, "clinic", seconds=180)
        self.await_all_in_sync(nodes)

    def test_killed_while_receiving(self):
        """a node that is killed while receiving completes after its restart"""
        a, b = self.start_paired(2, "clinic")
        self.await_all_in_sync([a, b])
        documents = list(generate.documents(6000, 4))
        own = {}
        acknowledged = a.load("clinic", documents[:1000])
        wait_for("documents to arrive", lambda: b.count("clinic") > 100)
        own["own:1"] = b.put("clinic", "own:1", {"n": 1})
        acknowledged.update(a.load("clinic", documents[1000:4000]))
        b.kill()
        acknowledged.update(a.load("clinic", documents[4000:]))
        b.start()
        digest = await_converged([a, b], "clinic")
        self.assertEqual(digest["documents"], 6001)
        for document_id, rev in [*own.items(), *list(acknowledged.items())[::101]]:
            self.assertTrue(b.has("clinic", document_id, rev))
            self.assertTrue(a.has("clinic", document_id, rev))

    def test_power_cut(self):
        """a machine that loses power comes back with everything, and status knew that it was away"""
        a, b = self.start_paired(2, "clinic")
        rev = b.put("clinic", "x", {"n": 1})
        wait_for("the document on the other node", lambda: a.has("clinic", "x", rev))
        b.kill()
        a.await_peer("laboratory", "offline")
        later = a.put("clinic", "y", {"n": 2})
        wait_for("status to count what waits", lambda: a.peer("laboratory")["toSend"] == 1)
        b.start()
        wait_for("the document on the other node", lambda: b.has("clinic", "y", later))
        self.assertTrue(b.has("clinic", "x", rev))

    def test_split(self):
        """two nodes that cannot reach each other still meet through a third"""
        a, b, c = nodes = self.start_paired(3, "clinic")
        self.await_all_in_sync(nodes)
        self.lan("split", 1, 2)
        one = a.put("clinic", "from-a", {"n": 1})
        other = b.put("clinic", "from-b", {"n": 2})
        wait_for("a's document on b", lambda: b.has("clinic", "from-a", one))
        wait_for("b's document on a", lambda: a.has("clinic", "from-b", other))
        self.lan("join", 1, 2)
        await_converged(nodes, "clinic")
        self.await_all_in_sync(nodes)

    def test_frozen_peer(self):
        """a peer that stopped answering without a word is offline in bounded time, and back when it goes on"""
        a, b = self.start_paired(2, "clinic")
        self.await_all_in_sync([a, b])
        b.signal(signal.SIGSTOP)
        a.await_peer("laboratory", "offline", seconds=90)
        rev = a.put("clinic", "x", {"n": 1})
        b.signal(signal.SIGCONT)
        wait_for("the document on the other node", lambda: b.has("clinic", "x", rev))

    def test_same_name(self):
        """two nodes of one name are told apart"""
        self.make_lan(3)
        a = self.node_on(1)
        twins = []
        for number in (2, 3):
            node = Node(self.folder / f"twin{number}", "twin", self.lan.prefix(number))
            self.nodes.append(node)
            twins.append(node.init().start())
        ids = {t.status()["node"]["id"] for t in twins}
        wait_for("both twins nearby", lambda: {n["id"] for n in a.status()["nearby"]} >= ids)

    @unittest.skipUnless(LONG, "only with --long")
    def test_lossy(self):
        """with a tenth of all frames lost, everything arrives"""
        a, b = self.start_paired(2, "clinic")
        self.lan("loss", 2, 10)
        a.load("clinic", list(generate.documents(2000, 6)))
        await_converged([a, b], "clinic", seconds=180)

    @unittest.skipUnless(LONG, "only with --long")
    def test_flapping(self):
        """a cable that comes and goes all the time does not stop the data"""
        a, b = nodes = self.start_paired(2, "clinic")
        for number in range(10):
            self.lan("link", 2, "down")
            a.put("clinic", f"a{number}", {"n": number})
            b.put("clinic", f"b{number}", {"n": number})
            self.lan("link", 2, "up")
            wait_for("the other side's document", lambda: b.has("clinic", f"a{number}") and a.has("clinic", f"b{number}"))
        await_converged(nodes, "clinic")


if __name__ == "__main__":
    unittest.main()
