"""``scripts/train.py`` from settings to the run's folder, on a corpus of four pairs."""

import json
import subprocess
import sys

import pytest
import tiny
import torch
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq import cli
from seq2seq.errors import UserError
from seq2seq.training.run import _duration, choose_precision
from seq2seq.translator import Translator

SMALL = [
    *("data=files", "recipe=small", "trainer.accelerator=cpu", "trainer.precision=32-true", "trainer.log_every=2"),
    *("trainer.max_epochs=2", "data.vocabulary_size=400", "training.examples=2", "model.hidden=16"),
    *("decoding.beam=2", "decoding.max_length=20", "training.warmup=2"),
]


def settings(tmp_path, *more):
    """Settings composed as the command line does it."""
    corpus = tmp_path / "corpus"
    if not corpus.exists():
        tiny.write_corpus(corpus)
    where = [f"data.dir={corpus}", f"run_dir={tmp_path / 'run'}", f"data.cache_dir={tmp_path / 'cache'}"]
    with initialize_config_dir(str(cli.CONF), version_base="1.3"):
        config = compose("train", [*SMALL, *(cli.quote(word) for word in where), *more])
    return OmegaConf.to_container(config, resolve=True)


def board(folder):
    """Everything TensorBoard would show of a run."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return events


@pytest.mark.parametrize("model", ["rnn", "bahdanau", "luong", "transformer"])
def test_a_run_leaves_everything_it_promises(model, tmp_path):
    result = tiny.load_script("train").train(settings(tmp_path, f"model={model}"))
    run = tmp_path / "run"
    for name in ("config.yaml", "train.log", "test.hyp", "bleu_by_length.png", "metrics.json"):
        assert (run / name).stat().st_size > 0, name
    assert json.loads((run / "metrics.json").read_text("utf-8")) == json.loads(json.dumps(result))
    assert result["model"]["name"] == model
    assert (result["train"]["steps"], result["train"]["epochs"]) == (2, 2)  # one batch an epoch
    assert result["data"]["pairs"] == {"train": 4, "validation": 4, "test": 4}
    assert len((run / "test.hyp").read_text("utf-8").splitlines()) == len(tiny.ENGLISH)
    assert yaml.safe_load((run / "config.yaml").read_text("utf-8"))["model"]["name"] == model
    for name in ("best", "last"):
        stored = torch.load(run / "checkpoints" / f"{name}.ckpt", weights_only=True)
        assert stored["seq2seq"]["settings"]["model"]["name"] == model


def test_tensorboard_gets_every_tag_of_the_documentation(tmp_path):
    tiny.load_script("train").train(settings(tmp_path))
    tags = board(tmp_path / "run").Tags()
    train = {f"train/{name}" for name in ("loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second")}
    validation = {f"validation/{name}" for name in ("loss", "perplexity", "bleu", "chrf", "bleu_by_length/1-9")}
    test = {"test/bleu_vs_length", "test/bleu", "test/chrf"}  # the last two for the HParams tab
    assert train | validation | test == set(tags["scalars"])
    assert {"alignment/0", "alignment/1", "bleu_vs_length"} <= set(tags["images"])
    assert "translations/text_summary" in tags["tensors"]


def test_a_heatmap_is_drawn_after_each_validation_and_none_without_attention(tmp_path):
    tiny.load_script("train").train(settings(tmp_path))
    events = board(tmp_path / "run")
    assert [event.step for event in events.Images("alignment/0")] == [1, 2]
    tiny.load_script("train").train(settings(tmp_path, "model=rnn", f"run_dir={tmp_path / 'rnn'}"))
    images = board(tmp_path / "rnn").Tags()["images"]
    assert not [tag for tag in images if tag.startswith("alignment")]


def test_the_checkpoint_translates_as_the_run_did(tmp_path):
    tiny.load_script("train").train(settings(tmp_path))
    translator = Translator.from_checkpoint(tmp_path / "run", device="cpu")
    again = [one.text for one in translator.translate(tiny.ENGLISH, **translator.settings["decoding"])]
    assert again == (tmp_path / "run" / "test.hyp").read_text("utf-8").splitlines()


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    weights = []
    for number, seed in enumerate((1, 1, 2)):
        tiny.load_script("train").train(settings(tmp_path, f"seed={seed}", f"run_dir={tmp_path / str(number)}"))
        stored = torch.load(tmp_path / str(number) / "checkpoints" / "last.ckpt", weights_only=True)
        weights.append(stored["state_dict"]["model.target_embedding.weight"])
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_fine_tuning_starts_from_the_weights_and_the_tokenizer_of_another_run(tmp_path):
    tiny.load_script("train").train(settings(tmp_path))
    more = ("training.learning_rate=0.0", "training.weight_decay=0.0", f"init_from={tmp_path / 'run'}")
    tiny.load_script("train").train(settings(tmp_path, *more, f"run_dir={tmp_path / 'tuned'}", "model=transformer"))
    first, second = (
        torch.load(tmp_path / name / "checkpoints" / "best.ckpt", weights_only=True) for name in ("run", "tuned")
    )
    assert second["seq2seq"]["tokenizers"] == first["seq2seq"]["tokenizers"]
    assert second["seq2seq"]["settings"]["model"] == first["seq2seq"]["settings"]["model"]
    for key, value in first["state_dict"].items():
        assert torch.equal(second["state_dict"][key], value), key


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    with pytest.raises(UserError, match="holds a run already"):
        tiny.load_script("train").train(settings(tmp_path))


def test_a_run_stops_at_its_time_limit_and_is_still_tested(tmp_path):
    result = tiny.load_script("train").train(settings(tmp_path, "trainer.max_epochs=100000", "trainer.max_time=0.03"))
    assert 1 < result["train"]["epochs"] < 100000
    assert result["train"]["seconds"] < 30
    assert "bleu" in result["test"]


def test_training_without_a_test_split_ends_without_scores(tmp_path):
    given = settings(tmp_path)
    for language in ("en", "vi"):
        (tmp_path / "corpus" / f"test.{language}").unlink()
    result = tiny.load_script("train").train(given)
    assert result["test"] == {}


@pytest.mark.long
def test_two_processes_make_one_run_whose_validation_covers_every_sentence(tmp_path):
    given = [f"data.dir={tiny.write_corpus(tmp_path / 'corpus')}", f"data.cache_dir={tmp_path / 'cache'}"]
    command = [sys.executable, "scripts/train.py", *SMALL, "trainer=ddp", "trainer.accelerator=cpu", *given]
    done = subprocess.run(
        [*command, f"run_dir={tmp_path / 'run'}"], cwd=cli.CONF.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run")] == ["run"]
    result = json.loads((tmp_path / "run" / "metrics.json").read_text("utf-8"))
    assert result["train"]["steps"] == 2
    assert "validation BLEU" in (tmp_path / "run" / "train.log").read_text("utf-8")


def test_a_schedule_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UserError, match="inverse_sqrt"):
        tiny.load_script("train").train(settings(tmp_path, "training.schedule=noam"))


def test_durations_are_minutes_or_clock_times():
    assert _duration(25).total_seconds() == 1500
    assert _duration("01:00:05").total_seconds() == 3605
    assert _duration("2:01:00:05").total_seconds() == 2 * 86400 + 3605
    assert _duration(None) is None
    with pytest.raises(UserError, match="HH:MM:SS"):
        _duration("soon")


def test_a_named_precision_is_taken_as_it_is():
    assert choose_precision("64-true", "cpu") == "64-true"
    assert choose_precision("auto", "cpu") in ("32-true", "bf16-mixed")
