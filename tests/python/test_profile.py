import copy

import numpy as np
import pytest

import schedfw
from schedfw import Profile, Scheduler


def score_weights(profile):
    return dict(Scheduler(profile).plugins()["Score"])


def names(profile, point="Filter"):
    return [name for name, _ in Scheduler(profile).plugins()[point]]


def test_defaults():
    weights = score_weights(Profile())
    assert weights == score_weights(None)
    assert weights["TaintToleration"] == 3
    assert weights["PodTopologySpread"] == 2
    assert Profile().to_dict() == {"schedulerName": "default-scheduler"}
    assert Profile("mine").scheduler_name == "mine"


def test_methods_return_changed_copies():
    first = Profile().args("NodeResourcesFit", ignoredResources=["example.com/a"])
    before = copy.deepcopy(first.to_dict())
    first.enable("NodeName", weight=2)
    first.enable("NodeResourcesFit", weight=2, point="score")
    first.disable("ImageLocality")
    first.args("NodeResourcesFit", ignoredResources=[])
    first.to_dict()["schedulerName"] = "x"
    assert first.to_dict() == before


def test_arguments_are_copied():
    given = ["example.com/a"]
    profile = Profile().args("NodeResourcesFit", ignoredResources=given)
    given.append("example.com/b")
    raw = {"plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}}
    other = Profile.from_dict(raw)
    raw["plugins"]["score"]["disabled"].clear()
    config = profile.to_dict()["pluginConfig"]
    assert config == [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/a"]}}]
    assert other.mentions("ImageLocality")


def test_enable_and_disable():
    assert score_weights(Profile().enable("PodTopologySpread", weight=5))["PodTopologySpread"] == 5
    spread = Profile().enable("PodTopologySpread", weight=7, point="score")
    assert score_weights(spread)["PodTopologySpread"] == 7
    without = Profile().disable("PodTopologySpread", point="score")
    assert "PodTopologySpread" not in score_weights(without)
    assert "PodTopologySpread" in names(without)
    assert "NodePorts" not in names(Profile().disable("NodePorts"))
    # The last word counts.
    assert "NodePorts" in names(Profile().disable("NodePorts").enable("NodePorts"))
    assert "NodePorts" not in names(Profile().enable("NodePorts").disable("NodePorts"))
    twice = Profile().enable("NodeAffinity", weight=3).enable("NodeAffinity", weight=4)
    assert score_weights(twice)["NodeAffinity"] == 4


def test_disable_star_takes_all_back():
    profile = Profile().enable("NodeName", point="filter").disable("*", point="filter")
    assert names(profile) == []


def test_numpy_weights():
    for weight in np.arange(1, 3):
        profile = Profile().enable("NodeAffinity", weight=weight)
        assert score_weights(profile)["NodeAffinity"] == weight
        assert repr(profile).count(f"'weight': {weight}}}") == 1
    strategy = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": np.int64(2)}]}
    Scheduler(Profile().args("NodeResourcesFit", scoringStrategy=strategy))


def test_only():
    profile = Profile.only("NodeResourcesFit", "NodeName", scheduler_name="few")
    scheduler = Scheduler(profile)
    assert scheduler.profiles == ["few"]
    plugins = scheduler.plugins()
    assert plugins["Score"] == [("NodeResourcesFit", 1)]
    assert [name for name, _ in plugins["Filter"]] == ["NodeResourcesFit", "NodeName"]
    assert plugins["QueueSort"] == [("PrioritySort", 0)]
    assert plugins["Bind"] == [("DefaultBinder", 0)]


def test_args_merge():
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    profile = (
        Profile()
        .args("NodeResourcesFit", scoringStrategy=strategy)
        .args("NodeResourcesFit", ignoredResources=["example.com/a"])
        .args("InterPodAffinity", hardPodAffinityWeight=2)
    )
    configs = {c["name"]: c["args"] for c in profile.to_dict()["pluginConfig"]}
    assert configs == {
        "NodeResourcesFit": {"scoringStrategy": strategy, "ignoredResources": ["example.com/a"]},
        "InterPodAffinity": {"hardPodAffinityWeight": 2},
    }


def test_from_dict_and_equality():
    profile = Profile("a").disable("NodeName")
    assert Profile.from_dict(profile.to_dict()) == profile
    assert profile != Profile("a")
    assert profile != profile.to_dict()
    assert len({profile, Profile("a").disable("NodeName")}) == 1
    assert eval(repr(profile)) == profile


def test_nulls_of_hand_written_profiles():
    for plugins in (None, {"score": None}, {"score": {"enabled": None, "disabled": None}}):
        profile = Profile.from_dict({"plugins": plugins, "pluginConfig": None})
        assert not profile.mentions("NodeName")
        assert "NodeName" not in names(profile.enable("NodeName").disable("NodeName"))
        profile.enable("NodeAffinity", weight=2, point="score").disable("*", point="score")
        profile.args("NodeResourcesFit", ignoredResources=[])


def test_mentions():
    profile = Profile().enable("A", point="score").disable("B")
    assert [profile.mentions(name) for name in "ABC"] == [True, True, False]


def test_unknown_point():
    with pytest.raises(schedfw.ConfigError) as error:
        Profile().enable("NodeName", point="Score")
    assert str(error.value) == (
        '"Score" is no extension point (allowed: multiPoint, preEnqueue, queueSort, preFilter, '
        "filter, postFilter, preScore, score, reserve, permit, preBind, bind, postBind)"
    )
    with pytest.raises(schedfw.ConfigError):
        Profile().disable("NodeName", point="scores")


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            Profile().enable("Nonesuch"),
            'profile "default-scheduler": plugin "Nonesuch" does not exist',
        ),
        (
            Profile().enable("NodeName", point="score"),
            'profile "default-scheduler": plugin "NodeName" does not extend Score',
        ),
        (
            Profile().enable("NodeAffinity", weight=-1),
            'profile "default-scheduler": score plugin "NodeAffinity": weight -1 is not allowed '
            "(allowed: 0 or more)",
        ),
        (
            Profile().disable("DefaultBinder"),
            'profile "default-scheduler": at least one bind plugin is needed',
        ),
        (
            Profile().args("NodeResourcesFit", scoringStrategy={"type": "Best"}),
            "<profile>: profiles[0].pluginConfig[0].args.scoringStrategy.type: "
            '"Best" is not supported (allowed: LeastAllocated, MostAllocated, '
            "RequestedToCapacityRatio)",
        ),
        (Profile(""), "<profile>: profiles[0].schedulerName: a name is required"),
    ],
)
def test_errors_of_the_scheduler(profile, message):
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler(profile)
    assert str(error.value) == message
