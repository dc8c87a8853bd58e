"""Going on with a run that was stopped: exactly, from the newest whole file, with the settings of the run."""

import errno
import json
import os
import signal
from types import SimpleNamespace

import pytest
import tiny
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_train import settings
from torch.utils.tensorboard import SummaryWriter

from seq2seq import cli
from seq2seq.checkpoint import read_checkpoint
from seq2seq.errors import Interrupted, UserError
from seq2seq.training import saving
from seq2seq.training.events import keep_events
from seq2seq.training.module import TranslationModule
from seq2seq.training.settings import extends

# Several batches an epoch, dropout, accumulation, and a file after every other step
BUSY = (
    *("data.batch_tokens=32", "trainer.accumulate=2", "trainer.max_epochs=4", "trainer.save_steps=2"),
    *("model.dropout=0.3", "trainer.validate_every=3", "decoding=greedy"),
)


def train(tmp_path, *more, asked=None):
    gold = tmp_path / "gold"
    gold.write_text("0-0 1-1\n" * len(tiny.ENGLISH))
    return tiny.load_script("train").train(settings(tmp_path, *BUSY, cli.quote(f"data.gold={gold}"), *more), asked)


def go_on(tmp_path, *more, asked=None):
    return train(tmp_path, "resume=true", *more, asked=asked)


def crash(monkeypatch, calls, action=None):
    """Let the training step of that number fail, or do something else."""
    real, left = TranslationModule.training_step, [calls]

    def step(self, batch, index):
        left[0] -= 1
        if left[0] == 0:
            if action is None:
                raise RuntimeError("power cut")
            action()
        return real(self, batch, index)

    monkeypatch.setattr(TranslationModule, "training_step", step)


def stopped(tmp_path, monkeypatch, calls, *more):
    """A run that came to a sudden end in its training step of that number."""
    with monkeypatch.context() as patch:
        crash(patch, calls)
        with pytest.raises(RuntimeError, match="power cut"):
            train(tmp_path, *more)
    return tmp_path / "run"


def weights(folder, name="last"):
    return read_checkpoint(folder / "checkpoints" / f"{name}.ckpt")["state_dict"]


def points(folder):
    """TensorBoard's points by tag, clocks apart."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0})
    events.Reload()
    scalars = {tag: [(point.step, point.value) for point in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    images = {tag: [image.step for image in events.Images(tag)] for tag in events.Tags()["images"]}
    return {tag: values for tag, values in (scalars | images).items() if "second" not in tag}


@pytest.mark.parametrize("calls", [1, 6, 7, 8, 11])
def test_a_resumed_run_ends_as_one_that_was_never_stopped(calls, tmp_path, monkeypatch):
    whole = train(tmp_path, f"run_dir={tmp_path / 'whole'}")
    folder = stopped(tmp_path, monkeypatch, calls)
    resumed = go_on(tmp_path)
    for name in ("best", "last"):
        expected = weights(tmp_path / "whole", name)
        for key, value in weights(folder, name).items():
            assert torch.equal(value, expected[key]), key
    assert points(folder) == points(tmp_path / "whole")
    assert len(points(folder)["alignment/aer"]) == len(points(folder)["validation/bleu"]) > 1
    for part in ("model", "data"):
        assert resumed[part] == whole[part]
    for part in ("train", "test"):
        for result in (whole, resumed):
            for clock in ("seconds", "tokens_per_second"):
                result[part].pop(clock, None)
        assert resumed[part] == whole[part]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_leaves_with_the_command_to_go_on(number, status, tmp_path, monkeypatch):
    whole = train(tmp_path, f"run_dir={tmp_path / 'whole'}")
    handlers = [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)]
    with monkeypatch.context() as patch:
        crash(patch, 5, lambda: os.kill(os.getpid(), number))  # in the middle of the third step
        with pytest.raises(Interrupted) as stop:
            train(tmp_path, "trainer.save_steps=null")
    assert stop.value.status == status
    assert str(stop.value) == (
        f"stopped at step 3, which is saved; to go on: python scripts/train.py resume=true run_dir={tmp_path / 'run'}"
    )
    assert [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)] == handlers
    assert go_on(tmp_path)["test"]["bleu"] == whole["test"]["bleu"]
    assert all(map(torch.equal, weights(tmp_path / "run").values(), weights(tmp_path / "whole").values()))


def test_a_damaged_file_is_named_and_the_one_before_it_used(tmp_path, monkeypatch):
    train(tmp_path, f"run_dir={tmp_path / 'whole'}")
    folder = stopped(tmp_path, monkeypatch, 8)
    last, previous = (folder / "checkpoints" / f"{name}.ckpt" for name in ("last", "previous"))
    step = read_checkpoint(previous)["global_step"]
    last.write_bytes(last.read_bytes()[:-1000])
    go_on(tmp_path)
    text = (folder / "train.log").read_text("utf-8")
    assert f"{last}: damaged" in text
    assert f"going on from {previous}, step {step}" in text
    assert all(map(torch.equal, weights(folder).values(), weights(tmp_path / "whole").values()))


def test_where_every_file_is_damaged_nothing_is_begun(tmp_path, monkeypatch):
    folder = stopped(tmp_path, monkeypatch, 8)
    for name in ("last", "previous"):
        (folder / "checkpoints" / f"{name}.ckpt").write_bytes(b"PK")
    with pytest.raises(UserError, match=r"nothing to go on from: .*last.ckpt.*previous.ckpt"):
        go_on(tmp_path)


def test_a_finished_run_says_so_and_changes_nothing(tmp_path):
    result = train(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.name != "train.log"}
    assert go_on(tmp_path) == json.loads(json.dumps(result))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "is finished: nothing is left to do" in (tmp_path / "run" / "train.log").read_text("utf-8")


@pytest.mark.parametrize(
    ("end", "limit", "steps"), [("trainer.max_epochs=4", "max_epochs", 6), ("trainer.max_steps=3", "max_steps", 6)]
)
def test_a_larger_limit_extends_a_finished_run(end, limit, steps, tmp_path):
    first = train(tmp_path, end)
    longer = go_on(tmp_path, end, asked={f"trainer.{limit}": 6})
    assert longer["train"]["steps"] > first["train"]["steps"]
    assert longer["train"][{"max_epochs": "epochs", "max_steps": "steps"}[limit]] == steps
    for tag, values in points(tmp_path / "run").items():
        assert len(values) == len({value if isinstance(value, int) else value[0] for value in values}), tag


def test_a_run_goes_on_behind_an_epoch_while_early_stopping_watches(tmp_path):
    more = ("training.patience=9", "trainer.validate_every=1.0")
    train(tmp_path, *more, "trainer.max_epochs=1")
    longer = go_on(tmp_path, *more, asked={"trainer.max_epochs": 3})
    whole = train(tmp_path, *more, "trainer.max_epochs=3", f"run_dir={tmp_path / 'whole'}")
    assert longer["train"]["steps"] == whole["train"]["steps"]
    assert len(points(tmp_path / "run")["validation/bleu"]) == 3


@pytest.mark.parametrize("every", [1, 1000])
def test_a_run_that_early_stopping_ended_is_finished(every, tmp_path):
    more = ("training.patience=2", "training.learning_rate=0.0", "trainer.max_epochs=50", f"trainer.log_every={every}")
    result = train(tmp_path, *more)
    before = points(tmp_path / "run")
    (tmp_path / "run" / "metrics.json").unlink()  # as if it had been killed while it was tested
    assert go_on(tmp_path, *more)["train"]["steps"] == result["train"]["steps"]
    assert points(tmp_path / "run") == before


def test_an_empty_folder_is_begun(tmp_path):
    assert go_on(tmp_path)["train"]["epochs"] == 4


def test_stored_settings_hold_and_what_contradicts_them_is_refused(tmp_path, monkeypatch):
    stopped(tmp_path, monkeypatch, 8)
    with pytest.raises(UserError, match=r"^model.dropout=0.5: the run in .* has 0.3, and its settings hold"):
        go_on(tmp_path, asked={"model.dropout": 0.5})
    go_on(tmp_path, "model.dropout=0.5", asked={"model.dropout": 0.3, "data.workers": 1})
    last = read_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert last["seq2seq"]["settings"]["data"]["workers"] == 1


def test_other_text_is_refused(tmp_path, monkeypatch):
    stopped(tmp_path, monkeypatch, 8)
    (tmp_path / "corpus" / "train.en").write_text("A.\nB.\nC.\nD.\n", "utf-8")
    with pytest.raises(UserError, match="trained on other text"):
        go_on(tmp_path)


def test_a_limit_that_is_past_already_is_refused(tmp_path, monkeypatch):
    stopped(tmp_path, monkeypatch, 8)
    with pytest.raises(UserError, match=r"trainer.max_steps=1: the run has done 3 already"):
        go_on(tmp_path, asked={"trainer.max_steps": 1})


def test_resuming_needs_a_folder():
    with pytest.raises(UserError, match="resume=true needs run_dir"):
        tiny.load_script("train").train({"resume": True, "run_dir": None})


def test_a_full_disc_is_one_line_and_the_last_good_file_stays(tmp_path, monkeypatch):
    real, left = os.fsync, [5]  # a file and its folder, twice

    def full(handle):
        left[0] -= 1
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(saving.os, "fsync", full)
        with pytest.raises(UserError) as caught:
            train(tmp_path)
    folder = tmp_path / "run" / "checkpoints"
    assert str(caught.value) == (
        f"{folder / 'last.ckpt'}: the checkpoint cannot be saved: No space left on device; "
        f"the last good checkpoint is {folder / 'last.ckpt'}"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["best.ckpt", "last.ckpt"]
    whole = train(tmp_path, f"run_dir={tmp_path / 'whole'}")
    assert go_on(tmp_path)["test"]["bleu"] == whole["test"]["bleu"]


def test_batches_done_are_counted_anew_for_another_number_of_processes(tmp_path):
    done = {"processed": 14}
    loops = {"epoch_loop.batch_progress": {"total": done, "current": done, "is_last_batch": True}}
    loops["state_dict"] = {"combined_loader": [{"epoch": 1, "given": 14}]}
    trainer = SimpleNamespace(world_size=4, accumulate_grad_batches=2)
    callback = saving.Saving(tmp_path, "", {})
    callback.on_load_checkpoint(trainer, None, {saving.RANDOM: [{}, {}], "loops": {"fit_loop": loops}})
    assert loops["epoch_loop.batch_progress"]["current"]["completed"] == 6  # of 7, a whole number of steps
    assert loops["state_dict"]["combined_loader"] == [{"epoch": 1, "given": 6}]


def test_pairs_of_the_step_are_named_where_training_diverges(tmp_path):
    more = ("training.learning_rate=1e38", "training.warmup=0", "trainer.validate_every=1.0")
    with pytest.raises(UserError, match=r"look at pairs \d(, \d)* \(\d in all\) of the training split"):
        train(tmp_path, *more)


def test_events_are_kept_once_and_up_to_where_a_kill_cut_them_off(tmp_path):
    for values in ((1, 2, 3), (3, 4)):
        writer = SummaryWriter(str(tmp_path))
        for step in values:
            writer.add_scalar("train/loss", 10 * step + len(values), step)
        writer.close()
    last = sorted(tmp_path.glob("events*"))[-1]
    last.write_bytes(last.read_bytes()[:-5])
    keep_events(tmp_path, lambda tag, step: tag == "train/loss" and step >= 2)
    assert points(tmp_path) == {"train/loss": [(2, 23.0), (3, 32.0)]}
    assert len(list(tmp_path.iterdir())) == 1
    writer = SummaryWriter(str(tmp_path))
    writer.add_scalar("train/loss", 40, 4)
    writer.close()
    assert [step for step, _ in points(tmp_path)["train/loss"]] == [2, 3, 4]
    keep_events(tmp_path, lambda tag, step: step >= 3)
    assert points(tmp_path) == {"train/loss": [(3, 32.0), (4, 40.0)]}
    keep_events(tmp_path, lambda tag, step: False)
    assert not list(tmp_path.iterdir())


def test_kept_events_come_first_however_new_files_are_named(tmp_path):
    for step, name in ((1, "events.out.tfevents.7.host.1.9"), (2, "events.out.tfevents.7.host.1.10")):
        writer = SummaryWriter(str(tmp_path / "one"))
        writer.add_scalar("train/loss", step, step)
        writer.close()
        (written,) = (tmp_path / "one").iterdir()
        written.rename(tmp_path / name)
        if step == 1:
            keep_events(tmp_path, lambda tag, step: True)
    assert points(tmp_path) == {"train/loss": [(1, 1.0), (2, 2.0)]}


def test_limits_are_compared_with_none_as_the_largest():
    old = {"max_epochs": 3, "max_steps": -1, "max_time": "00:01:00"}
    assert not extends(old, old)
    assert not extends(old, old | {"max_epochs": 2})
    assert extends(old, old | {"max_epochs": -1})
    assert extends(old, old | {"max_time": 1.5})
    assert not extends(old, old | {"max_steps": 100})


def test_what_was_typed_is_what_was_named_or_chosen():
    defaults = {"seed": 1, "model": {}, "model.name": "a", "model.size": 2}
    composed = {"seed": 1, "model": {"name": "b", "size": 2}}
    assert cli._asked(composed, ["seed=1", "model=b"], defaults) == {"seed": 1, "model.name": "b"}
