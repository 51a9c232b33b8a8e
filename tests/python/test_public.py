"""What the package shows of itself: names, docstrings and stubs."""

import ast
import inspect
import pickle

import pytest

import schedfw
from schedfw import _core
from support import ROOT

PUBLIC = [getattr(schedfw, name) for name in schedfw.__all__ if name != "__version__"]


def members(thing):
    for name, member in vars(thing).items():
        if not name.startswith("_") and not (inspect.isclass(thing) and name in ("name", "reason")):
            yield name, member


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_docstrings(thing):
    if not issubclass(thing, Exception) if inspect.isclass(thing) else True:
        assert inspect.getdoc(thing)
    if not inspect.isclass(thing):
        return
    for name, member in members(thing):
        if callable(member) or isinstance(member, property | classmethod | staticmethod):
            doc = inspect.getdoc(member) or ""
            # Compiled methods have their signature above the text.
            text = doc.split("\n\n", 1)[1] if doc.startswith(f"{name}(") and "\n\n" in doc else doc
            assert text, f"{thing.__name__}.{name} has no docstring"
            assert not text.startswith(f"{name}("), f"{thing.__name__}.{name} has no docstring"
            assert text.rstrip().endswith((".", ":", "–", "]", "}", ")")), f"{name}: {text}"


def test_names_are_those_of_the_package():
    for thing in PUBLIC:
        assert thing.__module__.split(".")[0] == "schedfw"
        assert thing.__module__ != "schedfw._core"
    assert sorted(schedfw.__all__) == schedfw.__all__
    assert schedfw.__version__ == _core.__version__


def test_exceptions():
    for kind in (schedfw.ParseError, schedfw.ConfigError, schedfw.PluginError):
        assert issubclass(kind, schedfw.Error)
        again = pickle.loads(pickle.dumps(kind("text")))
        assert (type(again), str(again)) == (kind, "text")
    assert issubclass(schedfw.Error, Exception)


def test_stub_has_what_the_module_has():
    tree = ast.parse((ROOT / "python/schedfw/_core.pyi").read_text())
    stub = {
        node.name: {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    module = {
        name: value
        for name, value in vars(_core).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("schedfw")
    }
    classes = {name for name, value in module.items() if inspect.isclass(value)}
    assert classes == set(stub)
    assert functions == {name for name, value in module.items() if callable(value)} - classes
    for name in classes:
        if issubclass(module[name], Exception):
            continue
        compiled = {m for m in vars(module[name]) if not m.startswith(("__", "_pybind11"))}
        declared = {m for m in stub[name] if not m.startswith("__")}
        assert compiled == declared, name


def test_results_are_made_by_the_package_only():
    for name in ("Scores", "Explanation", "Diagnosis", "Placement", "Fit", "Pod", "Nodes"):
        with pytest.raises(TypeError, match="No constructor defined"):
            getattr(schedfw, name)()
