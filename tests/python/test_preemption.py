"""Preemption, nominations and sampling from Python and the command line."""

import json

import pytest

import schedfw
from schedfw import Scheduler
from support import cluster, node, pod, run_schedfw, state


def important(name, priority, *, on=None, cpu="1", **spec):
    return pod(name, on=on, cpu=cpu, spec={"priority": priority, **spec})


BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "ml"},
    "spec": {"selector": {"matchLabels": {"app": "db"}}},
    "status": {"disruptionsAllowed": 0},
}


def objects():
    db = important("db", 5, on="b", cpu="4")
    db["metadata"]["labels"] = {"app": "db"}
    return [
        node("a", cpu=4),
        node("b", cpu=4),
        important("low", 1, on="a"),
        important("lower", 0, on="a", cpu="3"),
        db,
        BUDGET,
        important("new", 10, cpu="2"),
        important("whole", 10, cpu="4", nodeSelector={"kubernetes.io/hostname": "b"}),
        important("meek", 10, cpu="2", preemptionPolicy="Never"),
        important("fits", 0, cpu="0"),
    ]


def test_explain_says_who_would_go():
    some = cluster(*objects())
    before = state(some)
    scheduler = Scheduler()
    got = scheduler.explain(some, "ml/new", preempt=True)
    assert not got.status
    assert got.preemption.status
    assert got.preemption.nominated_node == "a"
    (victim,) = got.preemption.victims
    assert (victim.pod, victim.priority, victim.violated_budget) == ("ml/lower", 0, None)
    assert victim.reason == "its priority 0 is below 10 of ml/new"
    assert repr(victim) == "<Victim ml/lower: its priority 0 is below 10 of ml/new>"
    assert repr(got.preemption) == "<Preemption of 1 pods on a>"
    assert state(some) == before
    assert json.loads(got.to_json())["preemption"] == {
        "code": "Success",
        "nominatedNode": "a",
        "victims": ["ml/lower"],
    }


def test_explain_names_the_budget_that_breaks():
    (victim,) = (
        Scheduler().explain(cluster(*objects()), "ml/whole", preempt=True).preemption.victims
    )
    assert victim.violated_budget == "ml/keep"
    assert victim.reason.endswith("at the cost of PodDisruptionBudget ml/keep")


def test_preemption_is_looked_for_on_request_and_where_nothing_fits():
    some = cluster(*objects())
    scheduler = Scheduler()
    assert scheduler.explain(some, "ml/new").preemption is None
    assert scheduler.explain(some, "ml/fits", preempt=True).preemption is None
    meek = scheduler.explain(some, "ml/meek", preempt=True).preemption
    assert (meek.nominated_node, meek.victims) == (None, [])
    message = "preemption: not eligible due to preemptionPolicy=Never."
    assert meek.status.message == message
    assert repr(meek) == f"<Preemption: {message}>"


def test_preempt_acts_and_the_pod_is_placed_next():
    some = cluster(*objects())
    scheduler = Scheduler()
    result = scheduler.preempt(some, "ml/new")
    assert [v.pod for v in result.victims] == ["ml/lower"]
    assert some.pods_on("a") == ["ml/low"]
    assert some.pod("ml/new").nominated_node == "a"
    assert "ml/new" in some.pending
    assert scheduler.schedule_one(some, "ml/new").node == "a"


def test_preempt_that_does_not_help_changes_nothing_but_the_nomination():
    some = cluster(*objects())
    some.nominate("ml/meek", "a")
    before = state(some)
    assert not Scheduler().preempt(some, "ml/meek").status
    assert state(some) == before
    assert some.pod("ml/meek").nominated_node == "a"  # not eligible: nothing was tried
    with pytest.raises(schedfw.Error, match="ml/none"):
        Scheduler().preempt(some, "ml/none")


def test_nominate():
    some = cluster(node("a", cpu=4), important("first", 5, cpu="4"), important("next", 1, cpu="1"))
    scheduler = Scheduler()
    assert scheduler.schedule(some, "ml/next")
    some.nominate("ml/first", "a")
    assert not scheduler.schedule(some, "ml/next").status
    assert some.fork().pod("ml/first").nominated_node == "a"
    some.nominate("ml/first", None)
    assert scheduler.schedule(some, "ml/next").node == "a"
    with pytest.raises(schedfw.Error):
        some.nominate("ml/none", "a")


def test_filters_in_python_see_the_node_without_the_victims():
    class AtMostTwo(schedfw.Plugin):
        name = "AtMostTwo"
        seen = set()  # noqa: RUF012 - shared on purpose

        def filter(self, cycle, node):
            self.seen.add(len(node.pods))
            return None if len(node.pods) < 2 else "two pods are there"

    some = cluster(
        node("a"), important("p", 1, on="a"), important("q", 2, on="a"), important("new", 9)
    )
    got = Scheduler(plugins=[AtMostTwo()]).explain(some, "ml/new", preempt=True)
    assert [v.pod for v in got.preemption.victims] == ["ml/p"]
    assert AtMostTwo.seen == {0, 1, 2}


def test_a_filter_that_raises_in_a_dry_run():
    class Fragile(schedfw.Plugin):
        name = "Fragile"

        def filter(self, cycle, node):
            if not node.pods:
                raise ValueError("an empty node")
            return "never"

    some = cluster(node("a"), important("p", 1, on="a"), important("new", 9))
    before = state(some)
    with pytest.raises(ValueError, match="an empty node"):
        Scheduler(plugins=[Fragile()]).explain(some, "ml/new", preempt=True)
    assert state(some) == before


def test_nodes_to_score():
    nodes = [node(f"n{i:03d}") for i in range(250)]
    some = cluster(*nodes, important("p", 0), important("q", 0))
    assert Scheduler().schedule(some, "ml/p").evaluated == 250
    sampling = Scheduler(nodes_to_score="configured")
    assert sampling.schedule(some, "ml/p").evaluated == 120  # 50 - 250 / 125 percent
    with pytest.raises(schedfw.ConfigError, match="nodes_to_score"):
        Scheduler(nodes_to_score="some")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()}))
    return path


def test_command_explain_preempt(file):
    text = run_schedfw("explain", file, "--preempt").stdout
    assert "  evicting 1 pod on a makes room:\n" in text
    assert "    VICTIM    PRIORITY  BREAKS BUDGET  WHY\n" in text
    assert "ml/keep" in text
    assert "  evicting pods doesn't help: preemption: not eligible due to" in text
    answers = json.loads(run_schedfw("explain", file, "--preempt", "-o", "json").stdout)
    assert [a["pod"] for a in answers] == ["ml/new", "ml/whole", "ml/meek", "ml/fits"]
    assert not any("raw" in a or "total" in a for a in answers)
    assert answers[0]["preemption"]["victims"] == ["ml/lower"]


def test_command_cycle(file):
    answers = json.loads(run_schedfw("cycle", file, "-o", "json").stdout)
    assert answers[0] == {"pod": "ml/new", "evaluated": 2, "feasible": 0}
    text = run_schedfw("cycle", file).stdout
    assert text.splitlines()[0].split() == ["POD", "EVALUATED", "FEASIBLE", "NODE", "WHY", "NOT"]
    assert run_schedfw("cycle", file.parent / "none.json").returncode == 2
