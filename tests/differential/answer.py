"""Has cases answered, by the real kube-scheduler or by schedfw, and reads the answers."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from . import generate

PROCESSES = 2


class Sides:
    """The two programs that answer a folder of cases."""

    def __init__(self, oracle, answers):
        self.oracle = oracle
        self.answers = answers

    def command(self, side, cases, out, shard, repeats):
        """Makes the command line that answers one shard."""
        if side == "want":
            settings = ["-parallelism", "2", "-repeats", str(repeats)]
            return [self.oracle, *settings, "-dir", cases, "-out", out, "-shard", shard]
        return [self.answers, cases, out, shard]

    def run(self, side, cases, out, repeats=30, processes=PROCESSES):
        """Answers all cases of a folder: side `want` is the real scheduler, `got` is schedfw."""
        Path(out).mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOMAXPROCS": "1"}
        running = []
        for i in range(processes):
            command = self.command(side, str(cases), str(out), f"{i}/{processes}", repeats)
            running.append(subprocess.Popen(["nice", *command], env=environment))
        failed = [process.args for process in running if process.wait() != 0]
        if failed:
            raise SystemExit(f"failed: {' '.join(failed[0])}")


def read(folder, name):
    """Reads the answer to a case."""
    return json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))


def fresh(folder):
    """Makes an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
    return Path(folder)


def write_cases(cases, folder):
    """Writes cases into an empty folder."""
    fresh(folder)
    for case in cases:
        generate.write(case, folder)


def read_case(folder, name):
    """Reads back a case that was written."""
    place = Path(folder) / name
    config = place / "config.yaml"
    return {
        "name": name,
        "kind": name.rsplit("-", 1)[0],
        "mode": (place / "mode").read_text(encoding="utf-8").strip(),
        "cluster": json.loads((place / "cluster.json").read_text(encoding="utf-8")),
        "config": json.loads(config.read_text(encoding="utf-8")) if config.exists() else None,
    }
