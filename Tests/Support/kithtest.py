"""What the tests that run real `kith` processes have in common. Standard library only.

A `Home` is a node's folder, a `Node` is `kith up` on it, and `NodeTestCase` makes them in a
temporary folder, ends every process after each test, and fails a test that left something behind.
Waiting is always for something that happens (`wait_for`), with a deadline far beyond what a slow
machine needs.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "demo"))  # for `import generate`, the clinic's documents
KITH = os.environ.get("KITH") or str(ROOT / ".build" / "debug" / "kith")
IS_ROOT = os.geteuid() == 0
LONG = os.environ.get("KITH_TESTS_LONG") == "1"

# Far beyond what any step takes on an idle machine; only a failure waits that long.
DEADLINE_SECONDS = 60


class NotInTime(AssertionError):
    """What a test waited for did not happen."""


def wait_for(what, check, seconds=DEADLINE_SECONDS, pause=0.02):
    """Calls `check` until it returns something true, which is returned.

    An exception of `check` that only says "not yet" (no connection, no answer) counts as false.
    """
    deadline = time.monotonic() + seconds
    last = None
    while True:
        try:
            last = check()
            if last:
                return last
        except (OSError, http.client.HTTPException, RestError, KeyError, IndexError) as error:
            last = error
        if time.monotonic() > deadline:
            raise NotInTime(f"waited {seconds} s in vain for: {what}; last seen: {last!r}")
        time.sleep(pause)


class RestError(Exception):
    """An answer of the REST interface that is not a success."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body if isinstance(body, dict) else {}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a node's socket."""

    def __init__(self, path, timeout=DEADLINE_SECONDS):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def quoted(name):
    return urllib.parse.quote(name, safe="")


def clean_environment(**more):
    """No setting of the machine reaches a node that is under test."""
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")}
    keep.update({k: str(v) for k, v in more.items() if v is not None})
    return keep


class Home:
    """A node's folder, and the commands that are typed on its machine.

    `prefix` is put before each command (another user, or a machine of the LAN).
    """

    def __init__(self, folder, name, prefix=()):
        self.folder = Path(folder)
        self.name = name
        self.prefix = list(prefix)

    @property
    def socket_path(self):
        return str(self.folder / "run" / "kith.sock")

    @property
    def certificate(self):
        return str(self.folder / "identity" / "certificate.pem")

    @property
    def key(self):
        return str(self.folder / "identity" / "key.pem")

    def argv(self, *arguments):
        return [*self.prefix, KITH, *map(str, arguments)]

    def environment(self):
        return clean_environment(KITH_HOME=self.folder, HOME=self.folder.parent)

    def run(self, *arguments, stdin=None, timeout=DEADLINE_SECONDS):
        """One command of the program; the result has returncode, stdout and stderr as text."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run(
            self.argv(*arguments), env=self.environment(), input=stdin if stdin is not None else b"",
            capture_output=True, timeout=timeout)
        done.stdout = done.stdout.decode("utf-8", "replace")
        done.stderr = done.stderr.decode("utf-8", "replace")
        return done

    def check(self, *arguments, stdin=None, timeout=DEADLINE_SECONDS):
        """One command that must succeed; its output."""
        done = self.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(
                f"kith {' '.join(map(str, arguments))} on {self.name} ended with {done.returncode}:\n"
                f"{done.stdout}{done.stderr}")
        return done.stdout

    def init(self):
        self.check("init", "--name", self.name)
        return self

    def configure(self, **settings):
        """Changes lines of config.json, as a user with an editor would."""
        path = self.folder / "config.json"
        config = json.loads(path.read_text())
        config.update(settings)
        path.write_text(json.dumps(config))


class Node(Home):
    """A home and the `kith up` that runs on it."""

    def __init__(self, folder, name, prefix=()):
        super().__init__(folder, name, prefix)
        self.process = None
        self.log_path = Path(str(folder) + ".log")

    # --- the process

    def start(self, *arguments):
        """Starts `kith up` and waits until it answers."""
        assert self.process is None, f"{self.name} runs already"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.argv("up", *arguments), env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(f"{self.name} to answer on its socket", self._is_up)
        return self

    def _is_up(self):
        code = self.process.poll()
        if code is not None:
            self.process = None
            raise AssertionError(f"{self.name} ended with {code} instead of running:\n{self.log()}")
        return self.get("/_kith/id")

    @property
    def pid(self):
        """The pid of kith itself, which with a prefix is a descendant of the started process."""
        pid = self.process.pid
        while self.prefix:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if not children:
                break
            pid = int(children[0])
        return pid

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        os.kill(self.pid, number)
        if number == signal.SIGCONT and self.prefix:
            # An nsenter whose command is stopped stops itself as well.
            os.kill(self.process.pid, number)

    def wait(self, seconds=DEADLINE_SECONDS):
        """The exit code once the node has ended."""
        code = self.process.wait(timeout=seconds)
        self.process = None
        return code

    def stop(self):
        """Ends the node as `systemctl stop` does; its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """Ends the node as a crash does."""
        self.signal(signal.SIGKILL)
        self.wait()

    def end(self):
        """Whatever state it is in, it is gone afterwards."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        self.process = None

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def await_log(self, *words, after=0, seconds=DEADLINE_SECONDS):
        """Waits for a line that has all these words (whatever their case) beyond byte `after`; the line."""
        def line():
            for text in self.log()[after:].splitlines():
                if all(w.lower() in text.lower() for w in words):
                    return text
            return None
        return wait_for(f"a log line of {self.name} with {' and '.join(words)}", line, seconds)

    # --- REST over the socket

    def exchange(self, method, path, body=None, headers=None):
        """(status, headers, bytes) of one request; the names of headers are as any."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        connection = UnixConnection(self.socket_path)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def request(self, method, path, body=None, headers=None):
        """(status, parsed or raw body) of one request."""
        status, _, data = self.exchange(method, path, body, headers)
        try:
            return status, json.loads(data)
        except ValueError:
            return status, data

    def call(self, method, path, body=None):
        status, answer = self.request(method, path, body)
        if status >= 300:
            raise RestError(status, answer)
        return answer

    def get(self, path):
        return self.call("GET", path)

    def status(self):
        return self.get("/_kith/status")

    @property
    def port(self):
        return self.status()["node"]["port"]

    @property
    def node_id(self):
        """The full node ID: from the running node, else from the identity."""
        return self.check("id").split()[0]

    def trust(self, *others):
        for other in others:
            self.check("trust", other.node_id, "--name", other.name)

    def create(self, database):
        self.check("db", "create", database)

    def put(self, database, document_id, body, rev=None):
        """The revision that was acknowledged."""
        query = f"?rev={rev}" if rev else ""
        return self.call("PUT", f"/{quoted(database)}/{quoted(document_id)}{query}", body)["rev"]

    def remove(self, database, document_id, rev):
        return self.call("DELETE", f"/{quoted(database)}/{quoted(document_id)}?rev={rev}")["rev"]

    def document(self, database, document_id, rev=None, conflicts=False):
        query = []
        if rev:
            query.append(f"rev={rev}")
        if conflicts:
            query.append("conflicts=true")
        return self.get(f"/{quoted(database)}/{quoted(document_id)}" + ("?" + "&".join(query) if query else ""))

    def has(self, database, document_id, rev=None):
        try:
            return self.document(database, document_id)["_rev"] == rev if rev else bool(
                self.document(database, document_id))
        except RestError as error:
            if error.status == 404:
                return False
            raise

    def load(self, database, documents, batch=500):
        """Writes documents (each with an `_id`) with _bulk_docs; {id: acknowledged revision}."""
        acknowledged = {}
        for start in range(0, len(documents), batch):
            rows = self.call("POST", f"/{quoted(database)}/_bulk_docs", {"docs": documents[start:start + batch]})
            for row in rows:
                if "error" in row:
                    raise AssertionError(f"refused: {row}")
                acknowledged[row["id"]] = row["rev"]
        return acknowledged

    def count(self, database):
        return self.get(f"/{quoted(database)}")["doc_count"]

    def digest(self, database):
        return self.get(f"/{quoted(database)}/_digest")

    def conflicts(self, database):
        return {row["id"]: sorted(leaf["rev"] for leaf in row["leaves"])
                for row in self.get(f"/{quoted(database)}/_conflicts")["rows"]}

    def peer(self, name):
        """The peer's part of the status, or None."""
        return next((p for p in self.status()["peers"] if p["name"] == name), None)

    def nearby(self):
        return {n["name"] for n in self.status()["nearby"]}

    def await_peer(self, name, *states, seconds=DEADLINE_SECONDS):
        return wait_for(
            f"{self.name} to see {name} as {' or '.join(states)}",
            lambda: (p := self.peer(name)) and p["state"] in states and p, seconds)


def converged(nodes, database):
    """Whether all nodes have the same documents, revisions and winners."""
    return len({node.digest(database)["digest"] for node in nodes}) == 1


def await_converged(nodes, database, seconds=DEADLINE_SECONDS):
    wait_for(f"{', '.join(n.name for n in nodes)} to have one digest of {database}",
             lambda: converged(nodes, database), seconds, pause=0.1)
    return nodes[0].digest(database)


def winner(*revisions):
    """The winner among live leaves, by the rule of the design: generation as a number, then digest."""
    return max(revisions, key=lambda r: (int(r.split("-", 1)[0]), r.split("-", 1)[1].encode()))


class NodeTestCase(unittest.TestCase):
    """Makes homes and nodes in a temporary folder and leaves nothing behind."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kith-test-"))
        self.nodes = []
        self.processes = []
        self.addCleanup(self._clean)

    def _clean(self):
        failed = any(error for _, error in getattr(self._outcome, "errors", [])) or (
            getattr(self._outcome, "result", None) is not None
            and any(test is self for test, _ in self._outcome.result.failures + self._outcome.result.errors))
        for node in self.nodes:
            node.end()
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if failed:
            for node in self.nodes:
                lines = node.log().splitlines()
                print(f"--- log of {node.name} (last {min(len(lines), 60)} of {len(lines)} lines)", file=sys.stderr)
                print("\n".join(lines[-60:]), file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        left = processes_using(self.folder)
        self.assertEqual(left, [], "processes were left behind")

    def home(self, name, prefix=()):
        return Home(self.folder / name, name, prefix)

    def new_node(self, name, prefix=(), init=True):
        """A node that does not run yet."""
        node = Node(self.folder / name, name, prefix)
        self.nodes.append(node)
        if init:
            node.init()
        return node

    def start_node(self, name, *arguments):
        """A node on loopback without discovery, on a port that the kernel chose."""
        node = self.new_node(name)
        return node.start("--port", "0", "--no-discovery", *arguments)

    def start_pair(self, *databases):
        """Two paired nodes; the second one knows where the first one is."""
        a = self.start_node("anna")
        b = self.new_node("bert")
        a.trust(b)
        b.start("--port", "0", "--no-discovery", "--peer", f"127.0.0.1:{a.port}")
        b.trust(a)
        for database in databases:
            a.create(database)
            b.create(database)
        return a, b

    def spawn(self, argv, **options):
        """A process that is ended with the test."""
        process = subprocess.Popen(argv, **options)
        self.processes.append(process)
        return process

    def assertRefused(self, done, code, *words):
        """The command failed with this exit code and one clear line that has these words."""
        text = done.stderr.strip()
        self.assertEqual(done.returncode, code, f"stdout: {done.stdout}\nstderr: {text}")
        self.assertEqual(len(text.splitlines()), 1, f"not one line: {text}")
        for word in words:
            self.assertIn(word.lower(), text.lower())
        for ugly in ("Fatal error", "KithError(", "Error Domain", "Swift."):
            self.assertNotIn(ugly, text)


def processes_using(folder):
    """Command lines of the processes that name this folder in their arguments or their environment's KITH_HOME."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            arguments = (entry / "cmdline").read_bytes()
            home = b"KITH_HOME=" + str(folder).encode()
            if arguments and (str(folder).encode() in arguments or home in (entry / "environ").read_bytes()):
                found.append(arguments.replace(b"\0", b" ").decode(errors="replace").strip())
    return found


def snapshot(folder):
    """Every file below a folder with its content, to see that nothing changed."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
            for p in sorted(Path(folder).rglob("*")) if not p.is_socket()}


def busy_port():
    """A listening socket on a port of its own, and the port."""
    listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", 0))
    listener.listen(1)
    return listener, listener.getsockname()[1]


def tls_context(identity=None):
    """A TLS client that checks nothing, with the certificate of a home if one is given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context


def tls_connect(port, identity=None, host="127.0.0.1", timeout=30):
    """A TLS connection to a node. In TLS 1.3 a refusal of our certificate shows at the first read."""
    return tls_context(identity).wrap_socket(socket.create_connection((host, port), timeout=timeout))


def read_until_closed(connection, seconds=DEADLINE_SECONDS):
    """What still comes until the other side ends or resets; raises NotInTime if it does not."""
    deadline = time.monotonic() + seconds
    data = b""
    while True:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            part = connection.recv(65536)
        except socket.timeout:
            raise NotInTime(f"the connection was still open after {seconds} s; received {data[:200]!r}") from None
        except (ConnectionError, ssl.SSLError):
            return data
        if not part:
            return data
        data += part
