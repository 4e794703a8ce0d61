"""`calm mitigate JUDGE`: which mitigations make a judge pass, what they cost, and the judge.toml that has them."""

import json
import tomllib
from pathlib import Path

import pytest

from calm.cases import bundled, sample
from calm.cases.lines import line
from calm.errors import ConfigError
from calm.judges.judgefile import read_judge
from calm.plugins.mitigate.prompts import FAIR
from calm.plugins.mitigate.report import with_mitigations
from calm.plugins.mitigate.study import chance
from calm.results.audit import JudgeRecord
from calm.results.steps import remedies
from tests.inside import calm_inside
from tests.servers import Answer, wire_server
from tests.servers.planted import planted_respond

JUDGE = """
[judge]
name = "tried"
task = "pairwise"
{judge}
[model]
provider = "openai"
model = "judge-1"
base_url = "{url}"
max_tokens = 64
price_usd_per_mtok = {{ input = 0.50, output = 2.00 }}
[prompt]
{prompt}
"""
DEAD = "http://127.0.0.1:9/v1"
SMALL = ("--repeats=2+2", "--cache=off")
AUTHORITY = ("--", "--pyargs", "calm.suites.test_authority")
POSITION = ("--", "--pyargs", "calm.suites.test_position", "-k", "the_order_does_not")


def calm(folder, *arguments):
    """Return the run of `calm mitigate` in a folder."""
    return calm_inside(folder, "mitigate", *arguments, env={"COLUMNS": "200"})


def judge_file(folder, url=DEAD, *, judge="", prompt="", name="judge.toml"):
    """Write a judge.toml and return its name."""
    (folder / name).write_text(JUDGE.format(url=url, judge=judge, prompt=prompt))
    return name


def study(folder):
    """Return what was written."""
    return json.loads((folder / "calm-mitigate" / "mitigations.json").read_text("utf-8"))


def rows(folder):
    """Return the rows by set."""
    return {row["set"]: row for row in study(folder)["rows"]}


def test_the_swap_repairs_position_at_two_calls_and_its_judge_is_written(tmp_path):
    """The bare judge fails, the swap passes, and judge.toml with it is the judge that was measured."""
    cases = sample(bundled("pairwise"), 80, 0)
    with wire_server(planted_respond("planted:position=0.3", cases)) as server:
        path = judge_file(tmp_path, server.url)
        done = calm(tmp_path, path, "--try=swap,segments", "--sample=80", *SMALL, *POSITION)
        made = len(server.judged)

    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(tmp_path)
    assert (found["none"]["outcome"], found["swap"]["outcome"]) == ("FAIL", "PASS")
    assert (found["none"]["calls_per_verdict"], found["swap"]["calls_per_verdict"]) == (1.0, 2.0)
    # as it is and with inert words: the swap asks both orders twice each; the bare judge asks the other order once each
    assert found["swap"]["usd"] == pytest.approx(found["none"]["usd"] * (4 + 4) / (3 + 3))
    assert made == 80 * (4 + 4)  # the swap finds made what the bare judge was asked
    assert study(tmp_path)["cheapest"] == "swap"
    assert "segments: left out: 'segments' expects task = 'score'" in done.stdout
    written = tmp_path / "calm-mitigate" / "judge.toml"
    assert tomllib.loads(written.read_text())["judge"]["mitigations"] == ["swap"]
    assert "only adds ties" in found["swap"]["remarks"]
    assert "report.html" in done.stdout


@pytest.mark.parametrize(
    ("bias", "suite", "remedy"),
    [("formatting", "test_formatting", "plain-text"), ("position", "test_position", "swap")],
)
def test_the_remedy_that_is_named_first_makes_the_judge_pass(tmp_path, bias, suite, remedy):
    """What a red report names first for a bias is what the study finds to pass; of two equal answers, too."""
    first, *_ = remedies(bias, JudgeRecord("j", "pairwise", None, None, None, None, {}, {}))

    calm(
        tmp_path,
        f"planted:{bias}=0.6",
        f"--try={first}",
        "--sample=80",
        *SMALL,
        "--",
        "--pyargs",
        f"calm.suites.{suite}",
    )

    found = rows(tmp_path)
    assert first == remedy
    assert (found["none"]["outcome"], found[first]["outcome"]) == ("FAIL", "PASS"), found


def test_a_note_in_the_prompt_is_the_first_remedy_for_a_length_that_wins_between_equals(tmp_path):
    """A server that heeds the note passes with it; of two equally good answers the longer one wins without."""
    cases = sample(bundled("pairwise"), 60, 0)
    led, sound = (planted_respond(one, cases) for one in ("planted:verbosity=0.9", "planted"))
    with wire_server(lambda turns, body: (sound if FAIR in repr(turns) else led)(turns, body)) as server:
        path = judge_file(tmp_path, server.url)
        first, *_ = remedies("verbosity", JudgeRecord("j", "pairwise", None, None, None, "a prompt", {}, {}))
        suite = ("--", "--pyargs", "calm.suites.test_verbosity", "--calm-limits=attainable")
        calm(tmp_path, path, f"--try={first}", "--sample=60", *SMALL, *suite)

    found = rows(tmp_path)
    assert first == "debias"
    assert (found["none"]["outcome"], found[first]["outcome"]) == ("FAIL", "PASS"), found


def test_no_set_that_passes_is_status_1(tmp_path):
    """A remedy that changes nothing is not named as one that helps; nothing is written as a judge."""
    done = calm(tmp_path, "planted:authority=0.9", "--try=swap", "--sample=40", *SMALL, *AUTHORITY)

    assert done.returncode == 1, done.stderr
    assert study(tmp_path)["nearest"] is None
    assert not (tmp_path / "calm-mitigate" / "judge.toml").exists()


def test_a_panel_of_unlike_judges_repairs_self_authorship(tmp_path):
    """Each member is charged, and the panel passes where the judge does not."""
    done = calm(
        tmp_path,
        "planted:self-authorship=0.6,seed=1",
        "--try=panel:planted:seed=2+planted:seed=3",
        "--sample=80",
        *SMALL,
        "--",
        "--pyargs",
        "calm.suites.test_self_authorship",
    )

    found = rows(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["none"]["outcome"] == "FAIL"
    assert found["panel:planted:seed=2+planted:seed=3"]["outcome"] == "PASS"
    assert found["panel:planted:seed=2+planted:seed=3"]["calls_per_verdict"] == 3.0


def test_a_member_that_is_never_read_is_said(tmp_path):
    """The panel decides without it, and its row says so."""
    (tmp_path / "mine.py").write_text(
        "def mute(case):\n    return None\n\nmute.fingerprint = 'mute'\nmute.quick = True\n"
    )

    done = calm(tmp_path, "planted:seed=1", "--try=panel:planted:seed=2+mine:mute", "--sample=10", *SMALL, *POSITION)

    assert "mute gave no verdict in" in done.stdout, done.stderr


def test_the_grid_shows_what_a_filter_stops_and_what_it_does_not(tmp_path):
    """Plain orders are stopped by patterns, codes are not; chance is accounted for over all cells."""
    done = calm(
        tmp_path,
        "planted:injection=0.7,encoding=0.7",
        "--try=string-filter",
        "--grid",
        "--attacks=plea_first,ignore_previous,in_base64,in_rot13",
        "--sample=30",
        *SMALL,
        *POSITION,
    )

    grid = study(tmp_path)["attack_grid"]
    cells = {(c["attack"], c["set"]): c for c in grid["cells"]}
    assert done.returncode in (0, 1), done.stderr
    assert cells["injection.plea_first", "none"]["wins"]
    assert not cells["injection.plea_first", "string-filter"]["wins"]
    assert cells["injection.plea_first", "string-filter"]["value"] == 0.0
    assert cells["encoding.in_base64", "none"]["wins"]
    assert cells["encoding.in_base64", "string-filter"]["wins"]
    assert [len(grid["matrix"]), len(grid["columns"])] == [4, 2]
    assert "report.html" in done.stdout


def test_a_plan_asks_nothing(tmp_path):
    """What each set takes, and all together where calls are shared."""
    done = calm(
        tmp_path,
        judge_file(tmp_path),
        "--try=swap,evidence:2,output-filter,samples:3,plan",
        "--sample=5",
        *SMALL,
        "--plan",
        *POSITION,
    )

    assert done.returncode == 0, done.stderr
    assert "none: 31 calls" in done.stdout
    assert "swap: 41 calls" in done.stdout  # both orders of what the bare judge is asked, too
    assert "evidence:2: 61 calls" in done.stdout
    assert "output-filter: 61 calls" in done.stdout  # each reply is checked by itself
    assert "samples:3: 91 calls" in done.stdout
    assert "plan: 71 calls" in done.stdout  # it is carried out and judged by 30 times, and made for 5 questions twice
    # 130 for the first four; the first sample is what the bare judge is asked
    assert "All sets together, with shared calls counted once, take at most: 261 calls" in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["judge.toml"]


def test_what_is_set_up_wrongly_is_status_4(tmp_path, subtests):
    """The message names the option, and nothing is asked."""
    for arguments, told in [
        (("planted", "--try=swpa"), "did you mean 'swap'"),
        (("planted", "--try=panel"), "expected other judges after 'panel:'"),
        (("planted",), "--try: expected at least one mitigation"),
        (("planted", "--try=swap", "--max-usd=-1"), "--max-usd: expected an amount above 0"),
        (("planted", "--try=swap", "--attacks=x"), "--attacks: expected --grid"),
        (("planted", "--try=swap", "--", "--calm-gate=g.toml"), "--calm-gate: has no effect on this command"),
        (("nothing.toml", "--try=swap"), "nothing.toml"),
    ]:
        with subtests.test(repr(arguments)):
            done = calm(tmp_path, *arguments)

            assert done.returncode == 4
            assert told in done.stderr


def refusing(turns, body):
    """Answer as a server that gives no log-probabilities, and takes no prompt with the note of `debias`."""
    if FAIR in repr(turns):
        return Answer(status=400, message="this prompt is not taken")
    return Answer("[[A]]", tokens=())


def test_a_set_that_cannot_be_served_is_left_out_and_the_others_end(tmp_path):
    """Each for its own reason, before its gate is paid for; what is known beforehand asks nothing."""
    with wire_server(refusing) as server, wire_server(lambda *_: "[[A]]", api_key="k-1") as locked:
        path = judge_file(tmp_path, server.url)
        judge_file(tmp_path, locked.url, name="locked.toml")
        tries = "--try=g-eval,debias,panel:locked.toml,segments,swap"
        done = calm(tmp_path, path, tries, "--sample=4", *SMALL, *POSITION)

    assert done.returncode in (0, 1), done.stderr
    assert rows(tmp_path).keys() == {"none", "swap"}
    left = {one["set"]: one["reason"] for one in study(tmp_path)["not_applicable"]}
    assert left.keys() == {"g-eval", "debias", "panel:locked.toml", "segments"}
    assert [word in left[name] for name, word in zip(left, ("log-probabilities", "400", "401", "task"), strict=True)]
    assert all(f"{name}: left out: {why}" in done.stdout for name, why in left.items())
    noted = sum(FAIR in repr(seen.messages) for seen in server.seen)
    assert (sum("logprobs" in seen.body for seen in server.seen), noted, len(locked.seen)) == (3, 3, 1)


def test_where_no_set_can_be_served_nothing_is_compared(tmp_path):
    """The judge alone is not audited either, and what each set lacks is in one message."""
    with wire_server(refusing) as server:
        path = judge_file(tmp_path, server.url)
        never = calm(tmp_path, path, "--try=segments", *SMALL, *POSITION)
        unasked = len(server.seen)
        done = calm(tmp_path, path, "--try=g-eval,debias,segments", "--sample=4", *SMALL, *POSITION)

    assert (never.returncode, done.returncode, unasked) == (4, 4, 0)
    assert all(name in done.stderr for name in ("g-eval: ", "debias: ", "segments: "))
    assert len(server.seen) == 1 + 1 + 3 + 3  # the greeting, and as many cases of each set as were tried
    assert not (tmp_path / "calm-mitigate").exists()


def test_the_judges_own_file_is_not_written_over(tmp_path):
    """A judge.toml in the folder of the results is another file than the judge's."""
    path = tmp_path / "judge.toml"
    path.write_text(JUDGE.format(judge="", url=DEAD, prompt=""), "utf-8")
    before = path.read_bytes()

    done = calm(tmp_path, "judge.toml", "--try=swap", "--out=.", *SMALL, *POSITION)

    assert done.returncode == 4
    assert "--out: expected a file other than the inputs of the run, got 'judge.toml'" in done.stderr
    assert path.read_bytes() == before


def test_a_cap_is_one_for_all_sets(tmp_path):
    """What is unfinished is INCOMPLETE, and passes nothing."""
    with wire_server(lambda *_: "[[A]]") as server:
        path = judge_file(tmp_path, server.url)
        done = calm(tmp_path, path, "--try=debias", "--sample=10", "--max-calls=15", *SMALL, *POSITION)

    assert done.returncode == 1, done.stderr
    assert {row["outcome"] for row in study(tmp_path)["rows"]} == {"INCOMPLETE"}
    assert len(server.seen) <= 15


# ----------------------------------------------------------------------------------------------------------- judge.toml


def test_mitigations_of_judge_toml_run_in_the_gate(tmp_path):
    """A panel's members are told from the file; the judge that it makes has both."""
    judge_file(tmp_path, name="b.toml")
    path = judge_file(tmp_path, judge='mitigations = ["evidence:2", "panel:b.toml"]')

    judge = read_judge(tmp_path / path, {})

    assert judge.about["mitigations"] == ["evidence:2", "panel:b.toml"]
    assert len(judge.endpoints) == 1  # both files name one model on one server


def test_faults_of_mitigations_are_told_with_their_file(tmp_path, subtests):
    """As all other faults of judge.toml."""
    for listed, told in [
        ('["evidence:99"]', "whole number from 1 to 16"),
        ('["g-evil"]', "did you mean 'g-eval'"),
        ('["panel:missing.toml"]', "missing.toml: "),
        ('["panel:judge.toml"]', "this judge itself"),
        ('["segments"]', "'segments' expects task = 'score', got task='pairwise'; take it out"),
    ]:
        with subtests.test(repr(listed)):
            path = judge_file(tmp_path, judge=f"mitigations = {listed}")

            with pytest.raises(ConfigError, match=told) as error:
                read_judge(tmp_path / path, {})

            assert "[judge] mitigations" in str(error.value)


def test_a_judge_toml_for_another_folder_is_the_same_judge(tmp_path):
    """Paths are told from there, and a list that stood in the file is replaced."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "user.jinja").write_text(
        "{{ question }}{% for a in answers %}{{ a.label }}: {{ a.text }}{% endfor %}"
    )
    judge_file(tmp_path / "in", name="b.toml")
    source = (
        tmp_path
        / "in"
        / judge_file(tmp_path / "in", judge='mitigations = [\n  "swap",\n]', prompt="user_file = 'user.jinja'")
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "said.jsonl").write_text("".join(f"{line(case)}\n" for case in bundled("pairwise")[:8]))
    names = ["debias", "autocalibrate:said.jsonl", "panel:b.toml"]

    moved = tmp_path / "out" / "judge.toml"
    moved.write_text(with_mitigations(source.read_text(), names, source, moved.parent))
    source.write_text(with_mitigations(source.read_text(), names, source, source.parent))

    assert read_judge(moved, {}).fingerprint == read_judge(source, {}).fingerprint
    assert tomllib.loads(moved.read_text())["judge"]["mitigations"] == [
        "debias",
        "autocalibrate:../in/said.jsonl",
        "panel:../in/b.toml",
    ]
    assert Path(tomllib.loads(moved.read_text())["prompt"]["user_file"]) == Path("../in/user.jinja")


def test_the_p_value_belongs_to_the_interval():
    """It is small where the interval leaves 0 out, and 1 where nothing differs."""
    nothing = chance([0.0] * 50, -1, 1)
    some = chance([0.0] * 30 + [1.0] * 20, -1, 1)

    assert nothing == 1.0
    assert some < 0.001
    assert chance([-1.0] * 30, -1, 1, above=True) == 1.0
