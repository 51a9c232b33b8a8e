"""Reduces a case to the smallest one that still shows a difference of the same sort."""

import copy
import json
import re

from . import answer, compare

AT_ONCE = 40  # candidates that are answered together
KEPT = {"kind", "apiVersion"}


def sort_of(field):
    """The part of a difference that must stay the same: which field, without names of nodes."""
    return re.sub(r"\.[^.]*\d{3}\b", "", field or "")


class Reduction:
    """The state of one reduction."""

    def __init__(self, case, field, work, sides):
        self.case = case
        self.sort = sort_of(field)
        self.work = work
        self.sides = sides

    def still_different(self, candidates):
        """Returns the numbers of the candidates that show the difference."""
        cases = [{**c, "name": f"c-{i:05d}"} for i, c in enumerate(candidates)]
        answer.write_cases(cases, self.work / "cases")
        for side in ("want", "got"):
            repeats = 200
            self.sides.run(side, self.work / "cases", answer.fresh(self.work / side), repeats)
        out = []
        for i, case in enumerate(cases):
            want = answer.read(self.work / "want", case["name"])
            got = answer.read(self.work / "got", case["name"])
            different = compare.differences(case["mode"], want, got)
            if any(sort_of(d.field) == self.sort for d in different):
                out.append(i)
        return out

    def first(self, candidates):
        """Returns the first candidate that shows the difference, or None."""
        for start in range(0, len(candidates), AT_ONCE):
            some = candidates[start : start + AT_ONCE]
            good = self.still_different(some)
            if good:
                return some[good[0]]
        return None

    def reduce_items(self):
        """Removes objects, halves first."""
        size = max(1, len(self.case["cluster"]["items"]) // 2)
        while True:
            items = self.case["cluster"]["items"]
            candidates = [
                with_items(self.case, items[:start] + items[start + size :])
                for start in range(0, len(items), size)
            ]
            smaller = self.first(candidates) if len(items) > 1 else None
            if smaller is not None:
                self.case = smaller
                size = max(1, min(size, len(smaller["cluster"]["items"]) // 2))
            elif size > 1:
                size //= 2
            else:
                return

    def reduce_fields(self, part):
        """Removes fields and entries of lists of the `cluster` or the `config`, big ones first."""
        while self.case[part] is not None:
            candidates = []
            if part == "config":
                candidates.append({**self.case, "config": None})
            for path in paths(self.case[part]):
                candidates.append({**self.case, part: without(self.case[part], path)})
            candidates.sort(key=lambda c: len(json.dumps(c[part])))
            smaller = self.first(candidates)
            if smaller is None:
                return
            self.case = smaller


def with_items(case, items):
    """The case with other objects."""
    return {**case, "cluster": {**case["cluster"], "items": items}}


def paths(value, path=()):
    """Yields the paths of all that may be left out."""
    entries = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        entries = value.items()
    for key, inner in entries:
        here = (*path, key)
        named = key == "name" and len(path) == 3 and path[0] == "items"
        if key not in KEPT and not named and here != ("items",):
            yield here
        yield from paths(inner, here)


def without(value, path):
    """A copy of the tree without what is at the path."""
    out = copy.deepcopy(value)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return out


def reduce(case, field, work, sides):
    """Reduces a case: objects, then fields, then the configuration. Its folder is left behind."""
    reduction = Reduction(case, field, work, sides)
    if reduction.still_different([case]):
        reduction.reduce_items()
        reduction.reduce_fields("config")
        reduction.reduce_fields("cluster")
        reduction.reduce_fields("config")
    small = {**reduction.case, "name": "smallest"}
    answer.write_cases([small], work / "cases")
    return small
