"""The life of a node as a process: signals, crashes, restarts."""

import os
import signal
import threading
import time
import unittest

from kithtest import NodeTestCase, RestError, tls_connect, wait_for

STOP_SECONDS_MAX = 5


class Process(NodeTestCase):
    def test_stop(self):
        """SIGTERM and SIGINT end a node cleanly within five seconds, also in the middle of work"""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name):
                a, b = self.start_pair(f"clinic{number.value}") if not self.nodes else self.nodes
                if not a.is_running:
                    a.start("--port", "0", "--no-discovery")
                    a.check("db", "create", f"clinic{number.value}")
                follow = self.spawn(a.argv("changes", f"clinic{number.value}", "--follow"), env=a.environment(),
                                    stdout=-3, stderr=-3, stdin=-3)
                silent = tls_connect(a.port, b)
                self.addCleanup(silent.close)
                writer = Writer(a, f"clinic{number.value}")
                wait_for("the writer to be at work", lambda: len(writer.acknowledged) > 20)
                started = time.monotonic()
                a.signal(number)
                self.assertEqual(a.wait(), 0)
                self.assertLess(time.monotonic() - started, STOP_SECONDS_MAX)
                writer.join()
                follow.wait(timeout=30)
                self.assertFalse(os.path.exists(a.socket_path), "the socket was left behind")

    def test_kill(self):
        """after SIGKILL and a restart, everything that was acknowledged is there"""
        node = self.start_node("anna")
        node.create("clinic")
        for round_number in range(4):
            writers = [Writer(node, "clinic", f"round{round_number}-{w}") for w in range(4)]
            wait_for("the writers to be at work", lambda: sum(len(w.acknowledged) for w in writers) > 60)
            node.kill()
            acknowledged = {}
            for writer in writers:
                writer.join()
                acknowledged.update(writer.acknowledged)
            node.start("--port", "0", "--no-discovery")
            for document_id, rev in acknowledged.items():
                self.assertEqual(node.document("clinic", document_id)["_rev"], rev)

    def test_sequence_after_kill(self):
        """after SIGKILL a sequence is not given to a second change"""
        node = self.start_node("anna")
        node.create("clinic")
        seen = {}
        for round_number in range(3):
            node.put("clinic", f"doc{round_number}", {"n": round_number})
            for row in node.get("/clinic/_changes")["results"]:
                self.assertEqual(seen.setdefault(row["seq"], row["id"]), row["id"])
            node.kill()
            node.start("--port", "0", "--no-discovery")

    def test_frozen(self):
        """a command to a node that does not answer ends by itself, with 4"""
        node = self.start_node("anna")
        node.signal(signal.SIGSTOP)
        try:
            self.assertRefused(node.run("status", timeout=60), 4)
        finally:
            node.signal(signal.SIGCONT)
        self.assertEqual(node.run("status").returncode, 0)

    def test_log(self):
        """the log has lines for the start and the end, and never a document's content"""
        node = self.start_node("anna")
        node.create("clinic")
        node.put("clinic", "patient:1", {"name": "VERYSECRETNAME"})
        node.run("put", "clinic", "patient:2", stdin='{"name": "VERYSECRETNAME",, }')
        node.run("put", "clinic", "patient:2", stdin='{"_VERYSECRETNAME": 1}')
        node.stop()
        log = node.log()
        self.assertGreaterEqual(len(log.splitlines()), 2)
        self.assertNotIn("VERYSECRETNAME", log)
        self.assertNotIn("PRIVATE KEY", log)


class Writer(threading.Thread):
    """Writes documents one after the other until the node goes away, and notes what was acknowledged."""

    def __init__(self, node, database, prefix="doc"):
        super().__init__(daemon=True)
        self.node, self.database, self.prefix = node, database, prefix
        self.acknowledged = {}
        self.start()

    def run(self):
        number = 0
        while True:
            document_id = f"{self.prefix}:{number}"
            try:
                self.acknowledged[document_id] = self.node.put(self.database, document_id, {"n": number, "pad": "ä" * 200})
            except Exception as error:  # however the node ends, the writer ends with it
                self.error = error
                return
            number += 1


if __name__ == "__main__":
    unittest.main()
