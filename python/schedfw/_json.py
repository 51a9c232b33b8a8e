"""JSON text of what users write as dicts, numpy numbers included."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} can't be part of a Kubernetes object")


def dumps(value: object) -> str:
    """Return the JSON text of a tree of dicts, lists, text and Python or numpy numbers."""
    return json.dumps(value, default=_plain)
