"""Which trainings are missing, and what becomes of them as processes. The trainings here are a few lines of Python."""

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from seq2seq import cli
from seq2seq.compare.training import Job, jobs_of, moved_of, stored, train_missing
from seq2seq.errors import UserError

SETTINGS = {"seed": 1, "model": {"name": "rnn"}, "trainer": {"accelerator": "cpu", "max_epochs": 2}, "resume": True}
# Leaves what train.py would; waits where there is a file ``wait`` beside it, and saves when it is asked to end.
SCRIPT = """
import os, pathlib, signal, sys, time
run = pathlib.Path(next(word for word in sys.argv if word.startswith("run_dir="))[8:])
run.mkdir(exist_ok=True)
def save(*_):
    (run / "saved").touch()
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
(run / "threads").write_text(os.environ["OMP_NUM_THREADS"])
print("words of", run.name)
while (run.parent / "wait").exists():
    time.sleep(0.05)
if run.name == "broken-1":
    sys.exit("it broke")
(run / "metrics.json").write_text("{}")
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def job(tmp_path, name="rnn-1", settings=SETTINGS):
    return Job(tmp_path / name, settings, [f"run_dir={tmp_path / name}"])


def finish(one, settings=SETTINGS):
    """Leave a finished run in its folder."""
    one.folder.mkdir()
    (one.folder / "config.yaml").write_text(yaml.safe_dump(settings))
    (one.folder / "metrics.json").write_text("{}")


def test_what_is_missing_is_trained_and_what_is_finished_is_not(tmp_path, script):
    jobs = [job(tmp_path, f"rnn-{seed}") for seed in (1, 2, 3)]
    finish(jobs[1])
    train_missing(jobs, 2, script)
    assert [(one.folder / "metrics.json").exists() for one in jobs] == [True, True, True]
    assert [one.log_file.exists() for one in jobs] == [True, False, True]
    assert jobs[0].log_file.read_text() == "words of rnn-1\n"


def test_the_cores_are_shared_among_the_trainings(tmp_path, script, monkeypatch):
    monkeypatch.setattr("seq2seq.compare.training.cores", lambda: 8)
    jobs = [job(tmp_path, f"rnn-{seed}") for seed in (1, 2)]
    train_missing(jobs, "auto", script)
    assert (jobs[0].folder / "threads").read_text() == "4"  # there are but two to train
    jobs = [job(tmp_path, f"luong-{seed}") for seed in (1, 2, 3)]
    train_missing(jobs, 2, script)
    assert (jobs[0].folder / "threads").read_text() == "4"


@pytest.mark.parametrize("given", [0, -1, "many", 1.5, True])
def test_jobs_is_a_number_or_auto(tmp_path, script, given):
    with pytest.raises(UserError, match="jobs="):
        train_missing([job(tmp_path)], given, script)


def test_a_training_that_fails_is_named_with_its_log_and_the_others_go_on(tmp_path, script, caplog):
    jobs = [job(tmp_path, name) for name in ("broken-1", "rnn-1", "rnn-2")]
    with pytest.raises(UserError, match=r"1 of 3 trainings failed.*broken-1 \(see .*broken-1\.log\)"):
        train_missing(jobs, 1, script)
    assert "it broke" in jobs[0].log_file.read_text()
    assert all((one.folder / "metrics.json").exists() for one in jobs[1:])
    assert f"broken-1: failed; {jobs[0].log_file} says why" in caplog.text


@pytest.mark.parametrize("finished", [True, False])
def test_another_setting_than_the_runs_is_one_line_that_names_it(tmp_path, script, finished):
    one = job(tmp_path)
    finish(one, SETTINGS | {"trainer": {"accelerator": "cpu", "max_epochs": 7}, "recipe": {"max_epochs": 7}})
    if not finished:
        (one.folder / "metrics.json").unlink()
    with pytest.raises(
        UserError, match=r"rnn-1 was trained with trainer.max_epochs=7, and 2 is asked for now"
    ) as caught:
        train_missing([one], 1, script)
    assert "\n" not in str(caught.value)
    assert not one.log_file.exists()


def test_a_setting_that_an_older_run_does_not_have_counts_as_null(tmp_path):
    one = job(tmp_path, settings=SETTINGS | {"data": {"new": None}})
    finish(one)
    assert one.finished()
    with pytest.raises(UserError, match=r"data.new=null, and 3 is asked for now"):
        job(tmp_path, settings=SETTINGS | {"data": {"new": 3}}).finished()


def test_what_changes_no_result_may_differ(tmp_path):
    one = job(tmp_path)
    finish(one, SETTINGS | {"resume": False, "run_dir": "elsewhere"})
    assert one.finished()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_trainings_save_and_says_how_to_go_on(number, tmp_path, script):
    (tmp_path / "wait").touch()
    code = f"""
import pathlib, sys
from seq2seq.compare.training import Job, train_missing
from seq2seq.errors import Interrupted
folders = [pathlib.Path({str(tmp_path)!r}) / name for name in ("a-1", "b-1", "c-1")]
jobs = [Job(folder, {SETTINGS!r}, [f"run_dir={{folder}}"]) for folder in folders]
try:
    train_missing(jobs, 2, pathlib.Path({str(script)!r}))
except Interrupted as stop:
    print(stop, stop.status)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=cli.CONF.parent, start_new_session=True
    )
    while not all((tmp_path / name / "threads").exists() for name in ("a-1", "b-1")):
        time.sleep(0.05)
        assert process.poll() is None
    os.killpg(process.pid, number)  # as Ctrl-C does: all that the terminal started
    output, _ = process.communicate(timeout=60)
    line = "stopped with 0 of 3 trainings done; the same command goes on with the others"
    assert output == f"{line} {128 + number}\n"
    assert [(tmp_path / name / "saved").exists() for name in ("a-1", "b-1", "c-1")] == [True, True, False]


OPTIONS = {"models": ["rnn", "luong"], "seeds": [1, 2], "run_dir": None}


def compose(words):
    return cli.composed("train", words)


def test_every_model_is_trained_with_every_seed_and_the_same_settings():
    jobs = jobs_of(OPTIONS, ["data=grammar", "trainer.max_epochs=3"], compose)
    assert [str(one.folder) for one in jobs] == [
        f"runs/grammar/compare/{name}" for name in ("rnn-1", "rnn-2", "luong-1", "luong-2")
    ]
    assert [one.settings["seed"] for one in jobs] == [1, 2, 1, 2]
    assert {one.settings["trainer"]["max_epochs"] for one in jobs} == {3}
    again = cli.composed("train", jobs[3].arguments)
    assert again == jobs[3].settings | {"run_dir": "runs/grammar/compare/luong-2", "resume": True}


@pytest.mark.parametrize(
    ("options", "typed", "message"),
    [
        ({}, ["model=rnn"], r"model=rnn: .*models=\[…\]"),
        ({}, ["seed=3"], r"seed=3: .*seeds=\[…\]"),
        ({}, ["resume=true"], "resume=true: .*the same command"),
        ({}, ["init_from=x"], r"init_from=x: .*runs=\[…\]"),
        ({"models": ["rnn", "rnn"]}, [], "models=.*once"),
        ({"seeds": []}, [], "seeds=.*at least one"),
        ({"seeds": [-1]}, [], "seed=-1"),
        ({"models": ["foo"]}, [], "model=foo: there is no such choice"),
        ({}, ["model.score=dot"], "model.score: no such setting with model=rnn"),
        ({}, ["trainer.max_steps=0"], "trainer.max_steps"),
    ],
)
def test_what_cannot_hold_for_all_is_refused(options, typed, message):
    with pytest.raises(UserError, match=message):
        jobs_of(OPTIONS | options, typed, compose)


def test_of_finished_runs_only_the_place_of_the_corpus_can_be_said():
    assert moved_of(["data.dir=a=b"], lambda word: word.partition("=")[2]) == {"dir": "a=b"}
    with pytest.raises(UserError, match=r"trainer\.max_epochs=3: runs= are trained already"):
        moved_of(["trainer.max_epochs=3"], str)


def test_a_run_from_before_a_setting_has_what_it_was_without_it():
    assert stored({"decoding": {"beam": 5}}) == {"decoding.beam": 5, "decoding.precision": "fp32"}
    assert stored({"decoding": {"precision": "bf16"}}) == {"decoding.precision": "bf16"}
