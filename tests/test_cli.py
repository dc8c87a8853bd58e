import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from seq2seq import cli
from seq2seq.errors import UserError

NASTY = [
    "a=b",
    "a, b;c",
    "it's",
    'say "hi"',
    "đường/dẫn",
    "C:\\new\\",
    "a\\'",
    "\\${x}",
    "${x}",
    "\\\\",
    "(1",
    " a ",
]
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def call(monkeypatch, tmp_path):
    """The settings that a command line gives, one dict a job."""
    monkeypatch.chdir(tmp_path)

    def _call(name, *arguments, task=None):
        jobs = []
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        cli.run(name, task or jobs.append, "how to", multirun=name == "train")
        return jobs

    return _call


@pytest.fixture
def complaint(call, capfd):
    """The one line that a wrong command line gives."""

    def _complaint(name, *arguments, task=None):
        with pytest.raises(SystemExit) as stop:
            call(name, *arguments, task=task)
        assert stop.value.code == 2
        out, err = capfd.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return _complaint


@given(st.text("'\"\\${}=,:[]() xđ\t~#", min_size=1, max_size=12))
@example("a\\${b}'")
@example("\\\\'\\")
def test_free_text_comes_through_hydra_as_it_was_typed(text):
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf

    assume(not (len(text) > 1 and text[0] == text[-1] in "'\""))
    override = OverridesParser.create().parse_override(cli.quote(f"run_dir={text}"))
    assert OmegaConf.create({"value": override.value()}).value == text


def test_a_value_in_quotes_of_its_own_and_no_value_are_kept():
    kept = ["run_dir='a b'", 'run_dir="a, b"', "run_dir=null", "run_dir=", "model=rnn", "model.dropout=0.1,0.2", "-m"]
    assert [cli.quote(argument) for argument in kept] == kept


def test_paths_in_a_list_are_quoted_one_by_one(call):
    (settings,) = call("compare", "runs=[runs/a b,đường/dẫn=1, 'c, d'.x,${x}]", "hypotheses=[it's.vi]")
    assert settings["runs"] == ["runs/a b", "đường/dẫn=1", "'c", "d'.x", "${x}"]
    assert settings["hypotheses"] == ["it's.vi"]


def test_settings_of_two_files_are_told_apart():
    typed = [
        "models=[rnn]",
        "seeds=[1,2]",
        "run_dir=x",
        "data=files",
        "data.dir=y",
        "trainer.max_epochs=3",
        "model=rnn",
    ]
    own, others = cli.split("compare", "train", [*typed, "--cfg", "job", "modles=[rnn]"])
    assert own == ["models=[rnn]", "seeds=[1,2]", "run_dir=x", "--cfg", "job", "modles=[rnn]"]
    assert others == ["data=files", "data.dir=y", "trainer.max_epochs=3", "model=rnn"]


def test_composed_settings_are_those_that_a_script_gets(call):
    typed = ("model=rnn", "seed=7", "data=files", "data.dir=a=b")
    (settings,) = call("train", *typed)
    assert cli.composed("train", typed) == settings
    with pytest.raises(UserError, match="Interpolation key 'nowhere' not found"):
        cli.composed("train", ["model.hidden=${nowhere}"])


def test_the_home_folder_is_found_behind_a_key(call, monkeypatch):
    monkeypatch.setenv("HOME", "/home/đ b")
    (settings,) = call("translate", "input=~/x", "output=a~/x")
    assert (settings["input"], settings["output"]) == ("/home/đ b/x", "a~/x")


@pytest.mark.parametrize("text", NASTY)
def test_paths_arrive_in_the_settings(call, text):
    (settings,) = call("train", f"run_dir={text}", "data=files", f"data.dir={text}")
    assert settings["run_dir"] == text
    assert settings["data"]["dir"] == text


def test_settings_are_plain_and_resolved(call, tmp_path):
    (settings,) = call("train", "model=rnn", "seed=7", "model.dropout=0", "training.patience=null")
    assert type(settings) is dict
    assert yaml.safe_load(yaml.safe_dump(settings)) == settings
    assert "${" not in str(settings)
    assert "hydra" not in settings
    assert (settings["model"]["name"], settings["seed"], settings["model"]["dropout"]) == ("rnn", 7, 0)
    assert settings["model"]["hidden"] == settings["recipe"]["hidden"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["runs", *NASTY[:3], NASTY[7]])
def test_every_job_of_a_multirun_has_a_folder(call, text):
    jobs = call("train", "-m", "model=rnn,luong", "seed=1,2", f"run_dir={text}")
    assert [job["run_dir"] for job in jobs] == [f"{text}/{name}" for name in ("0-rnn", "1-rnn", "2-luong", "3-luong")]
    assert [job["seed"] for job in jobs] == [1, 2, 1, 2]


def test_a_job_that_fails_does_not_stop_the_others(call, capsys):
    done = []

    def task(settings):
        done.append(settings["model"]["name"])
        if len(done) < 3:
            raise UserError(f"{done[-1]} went wrong")

    with pytest.raises(SystemExit):
        call("train", "-m", "model=rnn,luong,transformer", task=task)
    assert done == ["rnn", "luong", "transformer"]
    assert "error: rnn went wrong" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train", "translate", "evaluate"])
@pytest.mark.parametrize("argument", ["+seed=1", "++seed=1", "~decoding", "~decoding=beam", "+data.extra=1"])
def test_nothing_is_added_or_removed(complaint, name, argument):
    assert complaint(name, argument).startswith(f"{argument}: settings cannot be added or removed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model=foo"], "model=foo: .* bahdanau, .*luong, .*rnn, .*transformer, .*transformer_window$"),
        (["data=ted"], "data=ted: .* files, grammar, iwslt15, opus100$"),
        (["-m", "model=rnn,foo"], "model=foo: "),
        (["model="], "model=: "),
        (["model=null"], "model=null: "),
        (["model=[rnn,luong]"], "model=.*: "),
        (["modle=rnn"], "modle: no such setting; did you mean model"),
        (["model.scoer=dot"], "model.scoer: no such setting; did you mean model.score"),
        (["model=rnn", "model.score=dot"], r"model.score: no such setting with model=rnn; model has name, .*cell"),
        (["-m", "model=luong,rnn", "model.score=dot"], "model.score: no such setting with model=rnn"),
        (["data.dir=x"], "data.dir: no such setting; data has .*grammar_seed"),
        (["data=files", "data.dri=x"], "data.dri: no such setting with data=files; did you mean data.dir"),
        (["max_epochs=3"], "max_epochs: no such setting; did you mean .*max_epochs"),
        (["zzz=3"], "zzz: no such setting; --help and conf/train.yaml"),
        (["seed=one"], "seed=one: a whole number"),
        (["seed=1.5"], "seed=1.5: a whole number"),
        (["-m", "seed=1,two"], "seed=two: a whole number"),
        (["model.dropout=much"], "model.dropout=much: a number"),
        (["model.tied=maybe"], "model.tied=maybe: true or false"),
        (["model.hidden=null"], "model.hidden=null: a whole number"),
        (["model.cell=[lstm]"], "model.cell=.*: one word"),
        (["training={clip: 2}"], "training=.*training.KEY=VALUE"),
        (["train"], "train: settings are written key=value"),
        (["=3"], "=3: settings are written key=value"),
        (["model.hidden=${nowhere}"], "Interpolation key 'nowhere' not found"),
        (["data.source='en"], "data.source='en: this value cannot be read"),
        (["seed=1,2"], "seed=1,2"),
    ],
)
def test_a_mistake_in_training_is_one_line(complaint, arguments, message):
    assert re.match(f".*{message}", complaint("train", *arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("translate", ["nbest=many"], "nbest=many: a whole number"),
        ("translate", ["chekpoint=x"], "chekpoint: no such setting; did you mean checkpoint"),
        ("translate", ["-m", "nbest=1,2"], "-m runs a training several times"),
        ("evaluate", ["decoding=best"], "decoding=best: .* beam, greedy$"),
        ("evaluate", ["decoding.beam=wide"], "decoding.beam=wide: a whole number"),
        ("evaluate", ["quantiles=4.5"], "quantiles=4.5: a whole number"),
        ("evaluate", ["edges=10"], "edges=10: a list"),
        ("evaluate", ["edges=[1,ten]"], "edges=.*: a list"),
        ("evaluate", ["data=files"], "data=files: data.KEY=VALUE"),
    ],
)
def test_a_mistake_elsewhere_is_one_line(complaint, name, arguments, message):
    assert re.match(message, complaint(name, *arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("train", ["trainer.devices=auto"], ("trainer", "devices", "auto")),
        ("train", ["trainer.max_time=25"], ("trainer", "max_time", 25)),
        ("train", ["experiment=news", "trainer.max_time=null"], ("trainer", "max_time", None)),
        ("train", ["trainer.save_minutes=0.5"], ("trainer", "save_minutes", 0.5)),
        ("train", ["training.clip=2"], ("training", "clip", 2)),
        ("train", ["trainer.precision=32"], ("trainer", "precision", 32)),
        ("translate", ["layer=mean"], ("layer", "mean")),
        ("translate", ["head=0"], ("head", 0)),
        ("translate", ["decoding=greedy", "decoding.max_length=9"], ("decoding", "max_length", 9)),
        ("evaluate", ["decoding=greedy"], ("decoding", "beam", 1)),
        ("evaluate", ["decoding.beam=null"], ("decoding", "beam", None)),
        ("evaluate", ["edges=[1,5]", "quantiles=4"], ("edges", [1, 5])),
    ],
)
def test_what_makes_sense_is_taken(call, name, arguments, expected):
    (settings,) = call(name, *arguments)
    *keys, value = expected
    for key in keys:
        settings = settings[key]
    assert settings == value


def test_what_the_task_complains_of_is_one_line(complaint, tmp_path):
    def task(settings):
        raise UserError("no luck")

    assert complaint("translate", task=task) == "no luck"
    missing = tmp_path / "no" / "file"
    assert (
        complaint("translate", task=lambda settings: missing.write_text("")) == f"{missing}: No such file or directory"
    )


def test_a_fault_of_the_program_keeps_its_traceback(call):
    with pytest.raises(ZeroDivisionError):
        call("translate", task=lambda settings: 1 / 0)


@pytest.mark.parametrize("name", ["train", "translate", "evaluate", "compare"])
def test_help_answers_at_once_and_names_every_setting(name):
    code = (
        f"import sys; sys.argv=['x', '--help']; import runpy; runpy.run_path('scripts/{name}.py', run_name='__main__')"
    )
    code += "; sys.stderr.write(' '.join({'torch', 'hydra', 'datasets', 'lightning'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stderr == ""
    keys = set(yaml.safe_load((ROOT / "conf" / f"{name}.yaml").read_text(encoding="utf-8"))) - {"defaults", "hydra"}
    if name != "train":
        assert [key for key in keys if f"{key}=" not in found.stdout and f"{key}." not in found.stdout] == []
    assert f"scripts/{name}.py" in found.stdout


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("data.dir=a=b/đường dẫn", "a=b/đường dẫn"),
        ("data.dir='a b'", "a b"),
        ("data.dir=null", None),
        ("data.dir=~/corpus", str(Path("~/corpus").expanduser())),
        ("layer=2", 2),
    ],
)
def test_one_value_is_read_as_a_script_reads_it(word, value):
    assert cli.typed_value(word) == value
