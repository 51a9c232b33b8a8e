"""The command line; scripts/differential.sh builds the programs and calls it."""

import argparse
import sys

from . import answer, fields, mutate, run


def main():
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(prog="differential")
    parser.add_argument("task", choices=["compare", "fields", "mutate"])
    parser.add_argument("pods", type=int)
    parser.add_argument("seed")
    parser.add_argument("--oracle", required=True, help="the real kube-scheduler")
    parser.add_argument("--answers", required=True, help="the program that schedfw answers with")
    parser.add_argument("--work", required=True, help="a folder for cases and answers")
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="only these kinds")
    parser.add_argument("--show", type=int, default=run.SHOWN, help="differences that are reduced")
    parser.add_argument("--log", help="a file that gets a line about this run")
    parser.add_argument("--by", choices=["want", "got"], default="got", help="who answers (fields)")
    parser.add_argument("--only", help="only the mutations whose name has this in it")
    options = parser.parse_args()
    sides = answer.Sides(options.oracle, options.answers)
    tasks = {"compare": run.run, "fields": fields.run, "mutate": mutate.main}
    sys.exit(tasks[options.task](options, sides))


main()
