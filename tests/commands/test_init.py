"""`calm init`: what it writes, what it says, and that it writes all or nothing."""

import argparse
import io
import json
import re
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from threading import Barrier
from zipfile import ZipFile

import pytest
from ruamel.yaml import YAML

import calm
from calm import ConfigError
from calm.cases import read_files
from calm.commands import (
    CONFIGURATION,
    DONE,
    REFUSED,
    cli,
    file_set,
    init,
    init_ci,
    init_drafts,
    init_prompts,
)
from calm.commands import (
    init_ci as init_package,
)
from calm.core.case import Framing
from calm.gate.from_spec import judge_from
from calm.models.apis import APIS
from calm.results.outputs import VERDICTS
from tests.inside import offered
from tests.servers import wire_server

FILES = {"judge.toml", "judge.jinja", "judge.negative.jinja", "cases.jsonl", "gate.toml", ".github/workflows/judge.yml"}


def run(*arguments):
    """Run `calm init` with these arguments and return its status; its errors come as they are."""
    parser = argparse.ArgumentParser(prog="calm")
    init.register(parser.add_subparsers())
    options = parser.parse_args(["init", *map(str, arguments)])
    return options.run(options)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return an empty folder, which is the working one; no key is set, and nobody sits at a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def there(folder):
    """Return the names of all files in a folder, with those of the folders around them."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("task", init.TASKS)
def test_each_kind_of_judge_can_be_started_from_nothing(folder, task, capsys):
    """Judge, cases and twin fit, `calm lint` finds nothing, and no call is made without a key."""
    assert run("--task", task) == DONE

    judge = judge_from("judge.toml", {"OPENAI_API_KEY": "k"})
    assert len(read_files(["cases.jsonl"], task=judge.task)) == init_drafts.MADE
    assert (judge.prompt.negative is None) is (task == "label")  # a class has no twin
    assert there(folder) >= FILES - (
        {"judge.jinja", "judge.negative.jinja"} if task not in init_prompts.STARTERS else set()
    )
    assert "no call was made, as OPENAI_API_KEY is not set: export OPENAI_API_KEY=..." in capsys.readouterr().out
    if offered("lint"):
        assert cli.main(["lint", "judge.toml"]) == DONE
        assert capsys.readouterr().out == "judge.toml: nothing found\n"


SHAPED = {
    "id": "c",
    "question": "And when does it close?",
    "turns": [{"role": "user", "text": "When does the shop open?"}, {"role": "assistant", "text": "At nine."}],
    "context": ["The shop is open from 9 to 18."],
    "answers": [
        {"id": "only", "text": "At six.", "steps": [{"thought": "Look.", "tool": "hours", "result": "9 to 18 sharp"}]}
    ],
    "scores": {"only": 4},
    "criteria": [{"id": "k", "text": "It is right."}],
    "met": {"only": {"k": True}},
}


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_the_prompt_to_start_from_shows_what_the_cases_hold(folder, task):
    """A judge of conversations, passages or runs of agents sees them; that of plain cases has no place for them."""
    second = {"id": "other", "text": "At nine."}
    pair = {"answers": [*SHAPED["answers"], second], "better": "only", "scores": {}, "criteria": [], "met": {}}
    case = {**SHAPED, **(pair if task == "pairwise" else {})}
    Path("own.jsonl").write_text("".join(json.dumps({**case, "id": f"c{n}"}) + "\n" for n in range(3)), "utf-8")

    assert run("--task", task, "--cases", "own.jsonl") == DONE

    judge = judge_from("judge.toml", {"OPENAI_API_KEY": "k"})
    (first, *_) = read_files(["cases.jsonl"], task=task)
    for framing in Framing.STANDARD, Framing.NEGATIVE:
        sent = str(judge.sees(first.present(framing=framing)))
        assert all(text in sent for text in ("When does the shop open?", "is open from 9 to 18", "9 to 18 sharp"))
    plain = init_prompts.starter(task)
    assert "turns" not in plain
    assert "{#" not in plain


def test_the_workflow_names_the_variable_of_the_key(folder):
    """That of the provider, or the one that was named; a server that needs none gets none."""
    run("--provider", "anthropic", "--ci", "github")

    text = (folder / ".github" / "workflows" / "judge.yml").read_text("utf-8")
    assert "secrets.ANTHROPIC_API_KEY" in text
    assert tomllib.loads((folder / "judge.toml").read_text("utf-8"))["model"]["model"] == APIS["anthropic"].model


def test_a_judge_without_a_key_is_never_replayed_in_its_place(folder, capsys):
    """Its workflow has no secret, and asks."""
    (folder / "p.txt").write_text("{input} {answer} from 1 to 5: [[N]]", "utf-8")
    run("--prompt", "p.txt", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")

    text = (folder / ".github" / "workflows" / "judge.yml").read_text("utf-8")
    assert [word for word in ("secrets", "replay", "API_KEY", "env:") if word in text] == []
    assert "--calm-cache-file=" in text
    assert "http://127.0.0.1:9/v1 must answer where it runs" in capsys.readouterr().out


BY_HAND = 'write api_key_env = "NAME" under [model] in judge.toml'


@pytest.mark.parametrize(
    ("ci", "more"),
    [
        ("github", ", and NAME: ${{ secrets.NAME }} under env: of the step of the workflow that runs calm audit\n"),
        ("gitlab", ", and the variable NAME in the CI/CD settings of the project\n"),
        ("none", "\n"),
    ],
)
def test_a_server_that_wants_a_key_is_found_out_before_anything_is_said_of_it(folder, ci, more, capsys):
    """What to write where is said once, nothing claims that it needs none, and no case is asked."""
    (folder / "p.txt").write_text("{input} {answer} from 1 to 5: [[N]]", "utf-8")
    with wire_server(lambda messages, body: "[[4]]", api_key="sesame") as server:
        command = ("--prompt", "p.txt", "--base-url", server.url, "--model", "m", "--ci", ci)
        status, seen = run(*command), len(server.seen)
        said, error = capsys.readouterr()
        keyed = run(*command, "--api-key-env", "KITCHEN_KEY", "--force")

    assert (status, seen, keyed) == (REFUSED, 1, DONE)
    assert f"where NAME is the variable that holds the key: judge.toml {'has' if ci == 'none' else 'and'}" in said
    assert f"{BY_HAND}{more}" in said
    assert "needs no key" not in said
    assert error == "calm: no case was asked, as the server wants a key. When it is named: calm try judge.toml\n"
    if ci == "github":
        assert "secrets.KITCHEN_KEY" in (folder / ".github/workflows/judge.yml").read_text("utf-8")
    assert "no call was made, as KITCHEN_KEY is not set" in capsys.readouterr().out


def test_a_server_without_a_key_gets_a_workflow_without_one(folder, capsys):
    """It is greeted, and asked about a case."""
    (folder / "p.txt").write_text("{input} {answer} from 1 to 5: [[N]]", "utf-8")
    with wire_server(lambda messages, body: "[[4]]") as server:
        assert run("--prompt", "p.txt", "--base-url", server.url, "--model", "m") == DONE

    assert "the judge needs no key, so the workflow has none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ci", "below", "place"),
    [
        ("github", ".", ".github/workflows/judge.yml"),
        ("github", "a/b", ".github/workflows/judge-a-b.yml"),
        ("gitlab", "a/b", "a/b/.gitlab-ci.yml"),
    ],
)
def test_the_workflow_stands_where_the_service_looks(folder, ci, below, place, capsys):
    """At the root of the work tree, with the paths of the judge in it."""
    (folder / ".git").mkdir()

    run("--dir", below, "--ci", ci)

    made = YAML(typ="safe").load(folder / place)
    said = capsys.readouterr().out
    assert f"{place}" in said.partition("\n")[0]
    if ci == "gitlab":
        assert "cd a/b/" in made["judge-a-b"]["script"]
        assert 'write "include: [{local: a/b/.gitlab-ci.yml}]" there' in said
        return
    job = made["jobs"]["gate"]
    prefix = "" if below == "." else f"{below}/"
    assert job.get("defaults", {}).get("run", {}).get("working-directory", "") == prefix
    uses = {step["uses"].partition("@")[0]: step.get("with", {}) for step in job["steps"] if "uses" in step}
    assert uses["actions/upload-artifact"]["path"] == f"{prefix}calm-audit/"
    assert f"hashFiles('{prefix}judge.toml', '{prefix}*.jinja'" in uses["actions/cache"]["key"]
    shutil.rmtree(folder / "a", ignore_errors=True)
    assert run("--dir", below, "--ci", ci) == CONFIGURATION
    assert place in capsys.readouterr().err


@pytest.mark.parametrize(("name", "tree"), [("b", False), ("it's", True)])
def test_a_workflow_that_must_be_moved_says_so(folder, name, tree, capsys):
    """The folder is in no work tree, or its name means something else in a workflow."""
    if tree:
        (folder / ".git").mkdir()

    run("--dir", name)

    assert (folder / name / ".github" / "workflows" / "judge.yml").exists()
    assert "is run only at the root of a repository" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "file", "ci"),
    [
        ('[remote "origin"]\n\turl = git@gitlab.example.org:a/b.git\n', "", "gitlab"),
        ("", ".gitlab-ci.yml", "gitlab"),
        ('[remote "origin"]\n\turl = git@gitlab.example.org:a/b.git\n', ".github/x", "github"),
        ("", "", "github"),
    ],
)
def test_the_ci_is_that_of_the_repository(folder, config, file, ci):
    """As its files and its remotes say."""
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(config, "utf-8")
    if file:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("", "utf-8")
    (folder / "below").mkdir()

    assert init_ci.usual(folder / "below") == ci


def test_the_workflow_installs_the_calm_that_is_here(folder):
    """As a wheel of its own files, and what it needs by version: no line leaves to a registry what calm is."""
    run("--ci", "github")

    lines = (folder / "calm-ci" / "requirements.txt").read_text("utf-8").splitlines()
    calm_itself, *others = [line for line in lines if not line.startswith("#")]
    with ZipFile(folder / calm_itself) as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist()}
    (about,) = {name.partition("/")[0] for name in held} - {"calm", "calm_judge.py"}
    record = [row.split(",") for row in held[f"{about}/RECORD"].decode().splitlines()]
    assert {name for name, _, _ in record} == held.keys()
    assert all(hashed == init_package._hash(held[name]) for name, hashed, _ in record if hashed)
    assert held["calm/__init__.py"] == Path(calm.__file__).read_bytes()
    assert {"calm/suites/test_authority.py", f"{about}/licenses/LICENSE", f"{about}/entry_points.txt"} <= held.keys()
    declared = tomllib.loads((Path(calm.__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"][
        "entry-points"
    ]["calm.plugins"]
    points = held[f"{about}/entry_points.txt"].decode()
    assert {f"{name} = {module}" for name, module in declared.items()} <= set(points.splitlines())
    assert "calm = calm_judge:main" in points
    assert not [name for name in held if "__pycache__" in name or "/." in name]
    assert {"pytest", "openai", "numpy"} <= {line.partition("==")[0] for line in others}
    assert all(re.fullmatch(r"[\w.-]+==[\w.!-]+", line) for line in others)
    assert not [line for line in others if line.startswith("calm")]


def test_the_wheel_is_the_same_each_time(folder):
    """Byte for byte, so that a repository changes only where calm does."""
    once = init_package.package()
    init_package.package.cache_clear()

    assert init_package.package() == once


@pytest.fixture
def installed(folder, monkeypatch):
    """Return a way to install a package before all others, by its metadata alone."""

    def add(name, version, origin=None, installer="pip"):
        about = folder / "site" / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
        (about / "INSTALLER").write_text(installer, "utf-8")
        if origin is not None:
            (about / "direct_url.json").write_text(json.dumps(origin), "utf-8")

    monkeypatch.syspath_prepend(str(folder / "site"))
    init_package.package.cache_clear()
    yield add
    init_package.package.cache_clear()


@pytest.mark.parametrize(
    ("package", "named"),
    [
        (("calm-judge", "9"), "9"),
        (("pytest", "9.9", {"url": "file:///home/me/pytest", "dir_info": {"editable": True}}), "pytest"),
        (("openai", "3.9", {"url": "https://u:p@e.org/x", "vcs_info": {"vcs": "git", "commit_id": "a"}}), "openai"),
        (("numpy", "2.9+local"), "numpy"),
    ],
)
def test_what_no_registry_holds_is_refused(folder, installed, package, named, capsys):
    """With the cause, and a fix; nothing is written, unless no workflow is asked for."""
    installed(*package)

    with pytest.raises(ConfigError) as refused:
        run()

    assert named in str(refused.value)
    assert "--ci none" in str(refused.value)
    assert "u:p" not in str(refused.value)
    assert there(folder) == {name for name in there(folder) if name.startswith("site/")}
    assert run("--ci", "none") == DONE


def test_a_release_that_conda_built_is_a_release(folder, installed):
    """It notes the folder where it was built; a registry holds it all the same."""
    installed("pytest", "9.9", {"url": "file:///croot/pytest/work", "dir_info": {}}, "conda")

    assert "\npytest==9.9\n" in init_package.package()[init_package.REQUIREMENTS]


def test_a_wheel_that_git_ignores_is_refused(folder):
    """CI would not have it."""
    subprocess.run(["git", "init", "-q"], check=True)
    (folder / ".gitignore").write_text("*.whl\n", "utf-8")

    with pytest.raises(ConfigError, match="git ignores"):
        run("--dir", "a/b")

    assert there(folder / "a") == set()


@pytest.mark.parametrize(
    ("event", "head", "author", "has"),
    [
        ("push", None, None, True),
        ("pull_request", "me/judge", "me", True),
        ("pull_request", "them/judge", "them", False),
        ("pull_request", None, "them", False),
        ("pull_request", "me/judge", "dependabot[bot]", False),
    ],
)
def test_only_the_gate_has_the_key_and_no_stranger(folder, event, head, author, has):
    """The job may read the repository and no more; all actions are named by a commit."""
    run("--provider", "anthropic", "--ci", "github")

    text = (folder / ".github" / "workflows" / "judge.yml").read_text("utf-8")
    made = YAML(typ="safe").load(text)
    (job,) = made["jobs"].values()
    steps = {step.get("name", step.get("uses", "").partition("@")[0]): step for step in job["steps"]}
    said = steps["gate"]["env"].pop("ANTHROPIC_API_KEY")
    assert (made["permissions"], job["permissions"], text.count("secrets.")) == ({}, {"contents": "read"}, 1)
    assert [step["env"] for step in job["steps"] if step.get("env")] == []
    assert steps["actions/checkout"]["with"] == {"persist-credentials": False}
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in job["steps"] if "uses" in step)
    values = {
        "github.event_name": event,
        "github.event.pull_request.head.repo.full_name": head,
        "github.event.pull_request.user.login": author,
        "github.repository": "me/judge",
        "secrets.ANTHROPIC_API_KEY": "key",
    }
    inner = said.removeprefix("${{").removesuffix("}}").replace("&&", " and ").replace("||", " or ")
    for name in sorted(values, key=len, reverse=True):
        inner = inner.replace(name, repr(values[name]))
    assert eval(inner) == ("key" if has else "")


@pytest.mark.parametrize(("ci", "name"), [("gitlab", ".gitlab-ci.yml"), ("none", None)])
def test_another_ci_gets_its_own_file(folder, ci, name):
    """Or none."""
    run("--ci", ci)

    assert there(folder) - {"judge.toml", "judge.jinja", "judge.negative.jinja", "cases.jsonl", "gate.toml"} == {
        name,
        *([] if name is None else init_package.package()),
    } - {None}


def test_nothing_is_written_over_without_force(folder, capsys):
    """Not even the files that are not there yet; and the message names those that are."""
    (folder / "gate.toml").write_text("# mine\n", "utf-8")

    assert run() == CONFIGURATION

    assert there(folder) == {"gate.toml"}
    said = capsys.readouterr().err
    assert "gate.toml" in said
    assert "--force" in said
    assert run("--force") == DONE
    assert "# mine" not in (folder / "gate.toml").read_text("utf-8")


def test_a_file_that_cannot_be_written_takes_the_others_back(folder):
    """A folder stands where a file must go: what stood there before is there again."""
    (folder / "judge.toml").write_text("# mine\n", "utf-8")
    (folder / ".github" / "workflows" / "judge.yml").mkdir(parents=True)

    with pytest.raises(ConfigError, match="got a folder"):
        run("--force")

    assert there(folder) == {"judge.toml"}
    assert (folder / "judge.toml").read_text("utf-8") == "# mine\n"


def test_of_several_at_once_one_writes_all_and_the_others_take_nothing_away(folder):
    """Whoever is refused takes back only what it has put there itself."""
    begin = Barrier(4)

    def put(number, place):
        begin.wait()
        try:
            texts = {place / name: str(number) for name in ("a", "b", "made/c")}
            file_set.put(texts, VERDICTS, judges=[place / "a"], force=False)
        except ConfigError:
            return None
        return str(number)

    for place in (folder / str(number) for number in range(15)):
        with ThreadPoolExecutor(4) as pool:
            won = [one for one in pool.map(put, range(4), repeat(place)) if one]
        assert len(won) == 1
        assert [(place / name).read_text("utf-8") for name in ("a", "b", "made/c")] == won * 3
        assert there(place) == {"a", "b", "made/c"}


def test_a_prompt_gets_its_twin_by_rule_or_says_why_not(folder, capsys):
    """The word that no rule knows is named, with its line."""
    (folder / "plain.txt").write_text(
        "{input}\n{response_a}\n{response_b}\nWhich answer is better? [[A]] or [[B]]", "utf-8"
    )
    (folder / "odd.txt").write_text(
        "{input}\n{response_a}\n{response_b}\nPick the superior one: [[A]] or [[B]]", "utf-8"
    )

    assert run("--prompt", "plain.txt", "--dir", "one") == run("--prompt", "odd.txt", "--dir", "two") == DONE

    assert "worse" in (folder / "one" / "judge.negative.jinja").read_text("utf-8")
    assert not (folder / "two" / "judge.negative.jinja").exists()
    assert re.search(r"because of the word 'superior' .judge.jinja, line 4.", capsys.readouterr().out)


def test_a_twin_and_a_system_message_of_ones_own_are_taken(folder):
    """With their placeholders in calm's names."""
    (folder / "p.txt").write_text("Rate {answer} from 1 to 5: [[N]]", "utf-8")
    (folder / "n.txt").write_text("Say how bad {answer} is, from 1 to 5: [[N]]", "utf-8")
    (folder / "s.txt").write_text("You judge {question}.", "utf-8")

    run("--prompt", "p.txt", "--negative", "n.txt", "--system", "s.txt", "--dir", "made")

    judge = judge_from("made/judge.toml", {"OPENAI_API_KEY": "k"})
    assert [m.text for m in judge.prompt.messages] == [
        "You judge {{ question }}.",
        "Rate {{ answers[0].text }} from 1 to 5: [[N]]",
    ]
    assert "how bad" in judge.prompt.negative[-1].text
    assert (judge.scale.low, judge.scale.high) == (1, 5)


@pytest.mark.parametrize(
    ("turns", "table"),
    [
        (["system", "user"], {"system_file", "user_file", "negative_user_file", "negative_system_file"}),
        (["user"], {"user_file"}),
        (["system"], {"user_file"}),
        (["user", "assistant", "user"], {"messages_file"}),
    ],
)
def test_a_chat_prompt_stays_one(folder, turns, table):
    """`calm lint` reads the same messages; a twin turns round the message that says how to judge."""
    texts = ["Say how good the answer is, from 1 to 5: [[N]].", "Yes.", "{{input}}: {{output}}"]
    said = {1: ["From 1 to 5: [[N]]. {{input}}: {{output}}"], 2: texts[::2], 3: texts}[len(turns)]
    made = [{"role": role, "content": text} for role, text in zip(turns, said, strict=True)]
    (folder / "p.json").write_text(json.dumps(made), "utf-8")

    assert run("--prompt", "p.json", "--dir", "made") == DONE

    judge = judge_from("made/judge.toml", {"OPENAI_API_KEY": "k"})
    assert [one.role for one in judge.prompt.messages] == (turns if len(turns) > 1 else ["user"])
    assert judge.prompt.messages[-1].text.endswith("{{ question }}: {{ answers[0].text }}")
    assert set(tomllib.loads((folder / "made" / "judge.toml").read_text("utf-8"))["prompt"]) == table
    if judge.prompt.negative:
        assert judge.prompt.negative[0].text.startswith("Say how bad")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{input}\n{output!r} [[7]]", r"p\.txt, line 2: \{output!r\}: expected a text as it is"),
        ("{% for r in responses %}{{ r }}{% endfor %}", "it may compare two or rate one; expected --task"),
        ("{{output}}\n\n{{> more}}", r"p\.txt, line 3: .+put its text in its place"),
    ],
)
def test_a_placeholder_that_is_not_understood_is_refused(folder, text, message):
    """With its line and what to write; nothing is written."""
    (folder / "p.txt").write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=message):
        run("--prompt", "p.txt")

    assert there(folder) == {"p.txt"}


def test_a_field_that_a_prompt_shows_and_no_case_has_is_named_and_the_files_are_written(folder, capsys):
    """The message names the field, and the option that brings cases; no call is made."""
    (folder / "p.txt").write_text("{tone}: rate {answer} from 1 to 5: [[N]]", "utf-8")

    assert run("--prompt", "p.txt", "--ci", "none") == REFUSED

    assert there(folder) == {"p.txt", "judge.jinja", "judge.toml", "cases.jsonl", "gate.toml"}
    said = capsys.readouterr()
    assert "tone (fields.tone in 120 of 120 cases)" in said.err
    assert "--cases FILE" in said.err
    assert "no call was made" not in said.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a prompt, got an empty file"),
        ("Is it good?", "has no placeholder"),
        ("Is {thing} good?", r"\(\{thing\}\).+--placeholder thing=answer"),
    ],
)
def test_a_prompt_without_an_answer_is_refused(folder, text, message):
    """It could judge nothing."""
    (folder / "p.txt").write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=message):
        run("--prompt", "p.txt")

    assert there(folder) == {"p.txt"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--negative", "n"], "--negative: expected --prompt FILE beside it"),
        (["--prompt", "p", "--log", "l"], "--prompt, --log: expected one of them"),
        (["--cases", "c", "--log", "l"], "--cases, --log: expected one of them"),
        (["--metric", "m"], "expected --log FILE beside them"),
        (["--prompt", "missing"], "missing: there is no such file"),
        (["--cases", "missing.csv"], "missing.csv: there is no such file"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder, options, message):
    """With the fix, and nothing is written."""
    with pytest.raises(ConfigError, match=message):
        run(*options)

    assert there(folder) == set()


def test_columns_of_a_table_are_known_by_their_names(folder, capsys):
    """What was taken is said, and a word for the better answer can be explained with --value."""
    (folder / "t.csv").write_text("Prompt,Response A,Response B,winner\nWhy?,So.,Thus.,model_b\n", "utf-8")

    assert run("--cases", "t.csv", "--value", "model_b=b") == DONE

    [case] = read_files(["cases.jsonl"])
    assert (case.question, [a.text for a in case.answers], case.better) == ("Why?", ["So.", "Thus."], "b")
    assert "'Response A' is the answer a" in capsys.readouterr().out


CALL = {"id": "c", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order": 7}'}}
RUN = [
    {"role": "system", "content": "You help customers."},
    {"role": "user", "content": "Cancel order 7."},
    {"role": "assistant", "content": "At once.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": '{"status": "cancelled"}'},
    {"role": "assistant", "content": "It is cancelled."},
]


def test_scores_beyond_the_prompt_to_start_from_get_the_prompt_that_has_their_scale(folder, capsys):
    """It rates from 1 to 5, calm's own one on any usual scale; beyond these nothing is written."""
    (folder / "agent.jsonl").write_text(json.dumps({"messages": RUN, "score": 8}) + "\n", "utf-8")

    assert run("--cases", "agent.jsonl", "--task", "score", "--dir", "made") == DONE

    assert "judge.jinja" not in there(folder / "made")
    scale = judge_from("made/judge.toml", {"OPENAI_API_KEY": "k"}).scale
    assert (scale.low, scale.high) == (1, 10)
    (folder / "agent.jsonl").write_text(json.dumps({"messages": RUN, "score": 800}) + "\n", "utf-8")
    with pytest.raises(ConfigError, match="expected scores on a usual scale"):
        run("--cases", "agent.jsonl", "--task", "score", "--dir", "other")


def test_a_person_at_a_terminal_is_asked_what_no_option_says(folder, monkeypatch, capsys):
    """An answer that is none is asked for again; an empty one means the usual; the CI is not asked for."""
    said = iter(["", "missing.csv", "", "scores", "score", "", "claude"])
    monkeypatch.setattr("builtins.input", lambda question: next(said))
    for stream in ("sys.stdin", "sys.stdout"):
        monkeypatch.setattr(f"{stream}.isatty", lambda: True, raising=False)

    assert run() == DONE

    judge = judge_from("judge.toml", {"OPENAI_API_KEY": "k"})
    assert (judge.task, judge.endpoints[0].model) == ("score", "claude")
    assert next(said, None) is None
    assert "got scores" in capsys.readouterr().out


def test_a_set_of_files_that_cannot_be_written_leaves_the_older_one(folder):
    """The older judge is back, too."""
    (folder / "taken").mkdir()
    for name in ("judge.toml", "cases.jsonl"):
        (folder / name).write_text(f"old {name}", "utf-8")
    written = {Path(name): "new" for name in ("judge.toml", "cases.jsonl", "more.jsonl", "taken")}

    with pytest.raises(ConfigError, match="taken: cannot be written"):
        file_set.put(written, VERDICTS, judges=[Path("judge.toml")], force=True)

    assert {name: (folder / name).read_text("utf-8") for name in ("judge.toml", "cases.jsonl")} == {
        "judge.toml": "old judge.toml",
        "cases.jsonl": "old cases.jsonl",
    }
    assert there(folder) == {"judge.toml", "cases.jsonl"}


def test_a_field_of_a_prompt_is_the_column_of_its_name(folder, capsys):
    """And a capital letter is the answer that it names: nobody has to map what can mean one thing alone."""
    table = "question,answer_a,answer_b,Policy,better\nHow long?,5 days,9 days,At most 5 days.,A\n"
    (folder / "t.csv").write_text(table, "utf-8")
    prompt = "{{policy}}\n{{question}}\nA: {{answer_a}}\nB: {{answer_b}}\nEnd with [[A]], [[B]] or [[C]] for a tie."
    (folder / "p.txt").write_text(prompt, "utf-8")

    assert run("--prompt", "p.txt", "--cases", "t.csv") == DONE

    (case,) = read_files(["cases.jsonl"])
    assert case.fields == {"policy": "At most 5 days."}
    assert case.better == "a"
    assert "'Policy' is the field policy" in capsys.readouterr().out
