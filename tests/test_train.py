"""``scripts/train.py`` from settings to the run's folder, on a corpus of four pairs."""

import json

import pytest
import tiny
import torch
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq import checkpoint, cli
from seq2seq.errors import UserError
from seq2seq.models import build_model
from seq2seq.training.settings import LIMITS, check_settings, duration, precision
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


VARIANTS = sorted(path.stem for path in (cli.CONF / "model").glob("*_*.yaml"))


@pytest.mark.parametrize("model", VARIANTS)
def test_a_named_variant_differs_from_its_family_in_little_and_is_a_checkpoint_that_loads(model, tmp_path):
    chosen, plain = (settings(tmp_path, f"model={name}") for name in (model, model.partition("_")[0]))
    different = {key for key, value in chosen["model"].items() if plain["model"][key] != value}
    assert "name" in different
    assert 2 <= len(different) <= 3
    assert chosen["model"]["name"] == model
    check_settings(chosen)
    pair = tiny.tokenizers()
    network = build_model(chosen["model"], len(pair.source), len(pair.target), pair.shared)
    stored = {checkpoint.ENTRY: checkpoint.contents(chosen, pair), "global_step": 1}
    stored["state_dict"] = {checkpoint.PREFIX + key: value for key, value in network.state_dict().items()}
    torch.save(stored, tmp_path / "x.ckpt")
    assert checkpoint.load_checkpoint(tmp_path / "x.ckpt").settings["model"] == chosen["model"]


def test_a_variant_is_trained_under_its_name(tmp_path):
    result = tiny.load_script("train").train(settings(tmp_path, "model=transformer_t5", "model.attention=window"))
    assert result["model"]["name"] == "transformer_t5"


def test_tensorboard_gets_every_tag_of_the_documentation(tmp_path):
    tiny.load_script("train").train(settings(tmp_path))
    tags = board(tmp_path / "run").Tags()
    train = {f"train/{name}" for name in ("loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second")}
    validation = {f"validation/{name}" for name in ("loss", "perplexity", "bleu", "chrf", "bleu_by_length/1-9")}
    test = {"test/bleu_vs_length", "test/bleu", "test/chrf"}  # the last two for the HParams tab
    assert train | validation | test == set(tags["scalars"])
    assert {"alignment/0", "alignment/1", "bleu_vs_length"} <= set(tags["images"])
    assert "translations/text_summary" in tags["tensors"]


def test_the_alignment_error_is_shown_where_gold_is_given(tmp_path):
    (tmp_path / "gold").write_text("0-0 1p1\n" * len(tiny.ENGLISH))
    tiny.load_script("train").train(settings(tmp_path, cli.quote(f"data.gold={tmp_path / 'gold'}")))
    points = board(tmp_path / "run").Scalars("alignment/aer")
    assert len(points) == 2  # a validation an epoch
    assert all(0 <= point.value <= 1 for point in points)


def test_gold_that_does_not_fit_ends_a_run_before_it_begins(tmp_path):
    (tmp_path / "gold").write_text("0-0\n")
    with pytest.raises(UserError, match="gold has 1 lines for 4 sentence pairs"):
        tiny.load_script("train").train(settings(tmp_path, cli.quote(f"data.gold={tmp_path / 'gold'}")))
    assert not (tmp_path / "run").exists()


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
    assert "init_from: model.name is the checkpoint's, bahdanau" in (tmp_path / "tuned" / "train.log").read_text(
        "utf-8"
    )
    assert torch.equal(*(one["seq2seq"]["tokenizers"]["source"] for one in (first, second)))
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


@pytest.mark.parametrize(
    ("given", "step"),
    [
        (["trainer.max_steps=1", "training.patience=1"], 1),
        (["trainer.max_steps=5", "data.batch_tokens=32"], 5),
        (["trainer.validate_every=50"], 2),
        (["trainer.validate_every=2", "data.batch_tokens=32", "trainer.max_epochs=3"], 6),
    ],
)
def test_the_last_step_is_validated_and_saved_wherever_a_limit_falls(given, step, tmp_path):
    result = tiny.load_script("train").train(settings(tmp_path, *given))
    run = tmp_path / "run"
    if "data.batch_tokens=32" not in given:
        assert result["train"]["steps"] == step
    steps = [event.step for event in board(run).Scalars("validation/bleu")]
    assert steps[-1] == result["train"]["steps"]
    assert len(steps) == len(set(steps))
    last = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["global_step"] == result["train"]["steps"]


def test_the_best_checkpoint_is_the_one_with_the_highest_bleu_and_evaluation_finds_that_bleu(tmp_path):
    more = ("trainer.max_epochs=12", "training.learning_rate=0.02", "data.batch_tokens=32", "decoding=greedy")
    more += ("decoding.max_length=200", "decoding.beam=1")  # as in validation
    result = tiny.load_script("train").train(settings(tmp_path, *more))
    events = board(tmp_path / "run").Scalars("validation/bleu")
    best = max(events, key=lambda event: (event.value, -event.step))
    assert best.value > 0
    assert result["train"]["best_step"] == best.step
    # dev and test of this corpus are the same sentences
    assert result["test"]["bleu"] == pytest.approx(best.value, abs=1e-3)


def test_early_stopping_ends_a_run_that_gets_no_better(tmp_path):
    more = ("training.patience=2", "training.learning_rate=0.0", "trainer.max_epochs=50")
    result = tiny.load_script("train").train(settings(tmp_path, *more))
    assert result["train"]["epochs"] == 3  # the first validation, and two that were no better


def test_a_run_that_diverges_says_so(tmp_path):
    with pytest.raises(UserError, match=r"diverged at step \d+.*learning_rate"):
        tiny.load_script("train").train(
            settings(tmp_path, "training.learning_rate=1e38", "training.warmup=0", "data.batch_tokens=32")
        )


@pytest.mark.parametrize(
    "wrong",
    [
        *("trainer.precision=3", "trainer.precision=bf16-true", "trainer.devices=0"),
        *("trainer.strategy=telepathy", "trainer.accumulate=0"),
        *("trainer.validate_every=3.5", "trainer.max_steps=0", "trainer.max_time=soon", "model.dropout=1.5"),
        *(
            "model.layers=0",
            "model.name=transformer/../x",
            "seed=-1",
            "training.learning_rate=-1.0",
            "training.schedule=noam",
        ),
        *("decoding.beam=0", "decoding.alpha=-1.0", "data.batch_tokens=1"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_trained(wrong, tmp_path):
    with pytest.raises(UserError) as caught:
        tiny.load_script("train").train(settings(tmp_path, wrong))
    assert wrong.partition("=")[0].rpartition(".")[2] in str(caught.value) or "trainer.*" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_limits_name_settings_that_there_are(tmp_path):
    known = [settings(tmp_path, f"model={model}") for model in ("bahdanau", "transformer")]
    for key in LIMITS:
        group, _, name = key.rpartition(".")
        assert any(name in (one[group] if group else one) for one in known), key


def test_durations_are_minutes_or_clock_times():
    assert duration(25).total_seconds() == 1500
    assert duration("01:00:05").total_seconds() == 3605
    assert duration("2:01:00:05").total_seconds() == 2 * 86400 + 3605
    assert duration(None) is None
    with pytest.raises(UserError, match="HH:MM:SS"):
        duration("soon")


def test_a_named_precision_is_taken_as_it_is():
    assert precision("16-mixed", "cpu") == "16-mixed"
    assert precision("auto", "cpu") in ("32-true", "bf16-mixed")
