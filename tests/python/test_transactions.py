"""Reserve, Permit, PreBind, Bind and PostBind are one transaction."""

import pytest

from schedfw import Profile, Scheduler
from support import GPU, cluster, node, pod, state


class Recorder:
    """A plugin with all binding points, which fails where it is told to."""

    def __init__(self, name, calls, failing=None):
        self.name = name
        self.calls = calls
        self.failing = failing  # the point that rejects

    def _at(self, point, cycle, node):
        # While a transaction runs the pod counts on its node.
        counted = (node.requested(GPU), cycle.pod.full_name in node.pods)
        self.calls.append(f"{self.name}.{point}")
        assert counted == (3, True)
        return f"{self.name} rejects at {point}" if self.failing == point else None

    def reserve(self, cycle, node):
        return self._at("reserve", cycle, node)

    def unreserve(self, cycle, node):
        return self._at("unreserve", cycle, node)

    def permit(self, cycle, node):
        return self._at("permit", cycle, node)

    def pre_bind(self, cycle, node):
        return self._at("pre_bind", cycle, node)

    def bind(self, cycle, node):
        return self._at("bind", cycle, node)

    def post_bind(self, cycle, node):
        self._at("post_bind", cycle, node)


@pytest.fixture
def some():
    return cluster(node("a", gpu=4), node("b"), pod("there", on="a", gpu=2), pod("new", gpu=1))


def recorders(failing=None):
    calls = []
    plugins = [Recorder("One", calls), Recorder("Two", calls, failing)]
    scheduler = Scheduler(
        Profile().disable("DefaultBinder").enable("One").enable("Two"), plugins=plugins
    )
    return scheduler, calls


STEPS = ["reserve", "permit", "pre_bind"]


def test_success(some):
    scheduler, calls = recorders()
    placement = scheduler.schedule_one(some, "ml/new")
    assert placement.node == "a"
    assert calls == [
        *(f"{name}.{step}" for step in STEPS for name in ("One", "Two")),
        "One.bind",  # the first one that binds
        "One.post_bind",
        "Two.post_bind",
    ]
    assert some.node_of("ml/new") == "a"


@pytest.mark.parametrize("failing", STEPS)
def test_rejection(some, failing):
    before = state(some)
    scheduler, calls = recorders(failing)
    placement = scheduler.schedule_one(some, "ml/new")
    assert placement.node is None
    assert (placement.status.code, placement.status.plugin) == ("Unschedulable", "Two")
    assert placement.status.message == f"Two rejects at {failing}"
    done = STEPS[: STEPS.index(failing) + 1]
    assert calls == [
        *(f"{name}.{step}" for step in done for name in ("One", "Two")),
        "Two.unreserve",
        "One.unreserve",
    ]
    assert state(some) == before
    assert some.pending == ["ml/new"]


def test_bind_rejects(some):
    before = state(some)
    calls = []
    plugins = [Recorder("One", calls, "bind"), Recorder("Two", calls)]
    profile = Profile().disable("DefaultBinder").enable("One").enable("Two")
    scheduler = Scheduler(profile, plugins=plugins)
    placement = scheduler.schedule_one(some, "ml/new")
    assert placement.status.message == "One rejects at bind"
    assert calls[-3:] == ["One.bind", "Two.unreserve", "One.unreserve"]
    assert state(some) == before
    plugins[0].failing = None
    assert scheduler.schedule_one(some, "ml/new").node == "a"


@pytest.mark.parametrize("step", [*STEPS, "bind"])
def test_exception(some, step):
    class BrokenError(Exception):
        pass

    def fail(cycle, node):
        raise BrokenError

    before = state(some)
    calls = []
    plugins = [Recorder("One", calls), Recorder("Two", calls)]
    profile = Profile().disable("DefaultBinder").enable("One").enable("Two")
    setattr(plugins[0], step, fail)
    with pytest.raises(BrokenError):
        Scheduler(profile, plugins=plugins).schedule_one(some, "ml/new")
    assert calls[-2:] == ["Two.unreserve", "One.unreserve"]
    assert state(some) == before


def test_exception_in_unreserve_is_only_printed(some, monkeypatch):
    class Clumsy:
        name = "Clumsy"

        def reserve(self, cycle, node):
            return None

        def unreserve(self, cycle, node):
            raise ValueError("in unreserve")

    printed = []
    monkeypatch.setattr("sys.unraisablehook", lambda event: printed.append(str(event.exc_value)))
    before = state(some)
    plugins = [Clumsy(), Recorder("Two", [], "permit")]
    placement = Scheduler(plugins=plugins).schedule_one(some, "ml/new")
    assert printed == ["in unreserve"]
    assert placement.status.message == "Two rejects at permit"
    assert state(some) == before


def test_bind_after_default_binder_is_not_called(some):
    calls = []
    scheduler = Scheduler(plugins=[Recorder("One", calls)])
    assert scheduler.schedule_one(some, "ml/new").node == "a"
    assert "One.bind" not in calls
    assert calls[-1] == "One.post_bind"


def test_place_goes_on_after_a_rejection():
    some = cluster(node("a", gpu=4), *(pod(f"p{i}", gpu=1) for i in range(4)))

    class Odd:
        name = "Odd"

        def permit(self, cycle, node):
            return cycle.pod.name not in ("p1", "p3")

    placements = Scheduler(plugins=[Odd()]).place(some)
    assert [p.node for p in placements] == ["a", None, "a", None]
    assert placements[1].status.message == "node(s) rejected by plugin Odd"
    assert some.pending == ["ml/p1", "ml/p3"]
    assert some.requested(GPU).tolist() == [2]


def test_explain_and_schedule_reserve_nothing(some):
    scheduler, calls = recorders()
    scheduler.explain(some, "ml/new")
    scheduler.schedule(some, "ml/new")
    assert calls == []


def test_fit_runs_transactions_on_a_fork():
    some = cluster(node("a", gpu=4), pod("new", gpu=1))
    count = []

    class Limit:
        name = "Limit"

        def reserve(self, cycle, node):
            count.append(cycle.pod.name)
            return len(count) <= 2 or "two are enough"

    fit = Scheduler(plugins=[Limit()]).fit(some, "ml/new")
    assert (fit.count, fit.status.message) == (2, "two are enough")
    assert count == ["new#0", "new#1", "new#2"]
    assert some.pending == ["ml/new"]
