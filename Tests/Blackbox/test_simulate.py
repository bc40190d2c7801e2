"""Tests/simulate, with programs in place of the simulation that end as it can."""

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from kithtest import ROOT

# Plays its seeds at once; 7 fails, 8 crashes, and 9 and what follows is never done.
PLAYER = """#!/bin/sh
seed=$1
while [ "$seed" -le "$3" ]; do
  echo "seed $seed"
  case $seed in
    7) echo "failed seed 7: node 1 differs"; exit 1 ;;
    8) echo "Fatal error: out of range"; kill -SEGV $$ ;;
    9) exec tail -f /dev/null ;;
  esac
  seed=$((seed + $2))
done
"""


class SimulateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        player = Path(folder.name) / "player"
        player.write_text(PLAYER)
        player.chmod(0o755)
        self.environment = dict(os.environ, KITH_SIMULATE=str(player))

    def simulate(self, *arguments):
        return subprocess.run(
            [ROOT / "Tests" / "simulate", *arguments], env=self.environment, stdout=subprocess.PIPE, text=True, timeout=250)

    def test_all_hold(self):
        """Seeds that all hold end with 0, however many processes share them."""
        for processes in ("1", "3", "50"):
            ended = self.simulate("--from", "20", "--seeds", "40", "--processes", processes)
            self.assertEqual(ended.returncode, 0)
            self.assertIn("40 seeds held, from 20 on", ended.stdout)

    def test_failure(self):
        """A seed that fails is named with its fault, and the processes that go on are stopped."""
        ended = self.simulate("--from", "6", "--seeds", "4", "--processes", "4")
        self.assertEqual(ended.returncode, 1)
        # 7 and 8 are played at the same time.
        self.assertRegex(ended.stdout, r"seed [78] failed. Play it again: Tests/simulate --seed [78]")
        ended = self.simulate("--from", "6", "--seeds", "2", "--processes", "1")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("seed 7 failed. Play it again: Tests/simulate --seed 7\nfailed seed 7: node 1 differs", ended.stdout)

    def test_crash(self):
        """A process that crashes is a failure of the seed that it was playing."""
        ended = self.simulate("--from", "8", "--seeds", "1")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("seed 8 failed", ended.stdout)
        self.assertIn("Fatal error: out of range", ended.stdout)

    def test_interrupt(self):
        """After an interrupt it says where to go on."""
        running = subprocess.Popen(
            [ROOT / "Tests" / "simulate", "--from", "9", "--seeds", "100", "--processes", "2"], env=self.environment,
            stdout=subprocess.PIPE, text=True)
        # The process that plays 10, 12, … is done; the other one hangs at 9.
        self.assertTrue(any(line.startswith("50 of 100 seeds") for line in running.stdout))
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=250)
        self.assertEqual(running.returncode, 130)
        self.assertIn("Every seed before 9 held. Go on with: Tests/simulate --from 9", rest)


if __name__ == "__main__":
    unittest.main()
