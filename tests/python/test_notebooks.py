"""The code of notebooks, cell by cell."""

import json

import pytest

from support import ROOT

FOLDER = ROOT / "examples/notebooks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebook_runs(path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr("sys.argv", ["notebook"])
    notebook = json.loads(path.read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs aren't committed"
    variables = {"__name__": "__main__"}
    try:
        for i, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), f"{path.name}, cell {i}", "exec")
                exec(code, variables)
    finally:
        plt.close("all")
    out = capsys.readouterr()
    assert out.err == ""
    assert "GB/s" in out.out
