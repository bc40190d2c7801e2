"""A person at a terminal: types into a pseudo-terminal and reads what the program shows."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time

from kithtest import DEADLINE_SECONDS


class Terminal:
    """One program on a terminal of its own."""

    def __init__(self, argv, env):
        master, slave = pty.openpty()
        self.master = master
        self.shown = ""
        self.process = subprocess.Popen(
            argv, env={**env, "TERM": "xterm", "NO_COLOR": "1"}, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def interrupt(self):
        """Ctrl-C."""
        os.write(self.master, b"\x03")

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return None
        self.shown += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return True if piece else None

    def until(self, *texts, seconds=DEADLINE_SECONDS):
        """Reads until all these texts have been shown; everything that was shown."""
        deadline = time.monotonic() + seconds
        while not all(text in self.shown for text in texts):
            left = deadline - time.monotonic()
            if left <= 0 or self._read(left) is None:
                raise AssertionError(f"never shown: {texts}\n{self.shown}")
        return self.shown

    def end(self, seconds=DEADLINE_SECONDS):
        """Reads until the program has ended; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(max(0, deadline - time.monotonic())) is not None:
            if time.monotonic() >= deadline:
                raise AssertionError(f"it did not end:\n{self.shown}")
        return self.process.wait(timeout=seconds)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
