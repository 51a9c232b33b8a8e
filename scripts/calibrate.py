"""Fit the models of scenario files to the figures these give: calibrate.py [--check] [FILE...].

Writes the parameters between the lines "# calibrated: begin" and "# calibrated: end" of each file;
by default of those in examples/scenarios. With --check nothing is written, and the exit status is 1
if a file holds other parameters.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import schedfw
from schedfw.bandwidth import fit_harmonic_mix, fit_staging, load_scenario

FOLDER = Path(__file__).resolve().parents[1] / "examples/scenarios"
BEGIN, END = "# calibrated: begin", "# calibrated: end"
DIGITS = 6


def fit_a10(scenario: dict[str, Any]) -> dict[str, float]:
    """Return the parameters of the host path."""
    names = list(scenario["article"])
    return fit_staging(
        [scenario["article"][name]["gib_per_s"] for name in names],
        [scenario["article"][name]["p99_ms"] for name in names],
        [scenario["modes"][name] for name in names],
    )


def fit_a13(scenario: dict[str, Any]) -> dict[str, float]:
    """Return the bandwidths of the two paths."""
    near, far = fit_harmonic_mix(
        [point["cross_numa_percent"] / 100 for point in scenario["article"]],
        [point["gb_per_s"] for point in scenario["article"]],
    )
    return {"near_gb_per_s": near, "cross_numa_gb_per_s": far}


FITS = {"A10": fit_a10, "A13": fit_a13}


def calibrated(path: Path) -> tuple[str, str]:
    """Return the text of a file, and the text with the fitted parameters."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    begins = [i for i, line in enumerate(lines) if line.startswith(BEGIN)]
    ends = [i for i, line in enumerate(lines) if line == END]
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise ValueError(f'{path}: needs the lines "{BEGIN} …" and "{END}", once in that order')
    scenario = load_scenario(path)
    parameters = FITS[scenario["row"]](scenario)
    block = ["calibrated:"]
    block += [
        f"  {name}: {json.dumps(float(f'{value:.{DIGITS}g}'))}"
        for name, value in parameters.items()
    ]
    new = lines[: begins[0] + 1] + block + lines[ends[0] :]
    return text, "\n".join(new) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    args = parser.parse_args()
    status = 0
    for path in args.files or sorted(FOLDER.glob("*.yaml")):
        try:
            if load_scenario(path).get("row") not in FITS:
                continue  # it has nothing to fit
            old, new = calibrated(path)
        except (OSError, ValueError, schedfw.Error) as error:
            parser.error(str(error))
        if old == new:
            continue
        if args.check:
            print(f"{path}: other parameters", file=sys.stderr)
            status = 1
        else:
            path.write_text(new, encoding="utf-8")
            print(path)
    return status


if __name__ == "__main__":
    sys.exit(main())
