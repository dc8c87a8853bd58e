"""The Transformer's layers against PyTorch's, what its caches hold, and what older checkpoints rely on."""

import pytest
import torch
from torch import nn
from zoo import SETTINGS, TRANSFORMERS, VOCABULARY, build

from seq2seq.attention import self_attention
from seq2seq.attention.cache import ROOM
from seq2seq.attention.masks import Pattern
from seq2seq.attention.positions import build_positions
from seq2seq.models import build_model
from seq2seq.models.transformer import DecoderLayer, EncoderLayer, Shape
from seq2seq.symbols import PAD

LENGTHS = torch.tensor([12, 5, 1])
REAL = torch.arange(12) < LENGTHS[:, None]  # (B, S)
EVERY = pytest.mark.parametrize("name", ["transformer", *(f"transformer, {label}" for label in TRANSFORMERS)])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def blocks_however_short(monkeypatch):
    """Sentences of a few words are cut into blocks as long ones are."""
    monkeypatch.setattr(self_attention, "SHORT", 0)


def source():
    return torch.randint(4, VOCABULARY, (3, 12)).masked_fill(~REAL, PAD)


def shape(**changes):
    plain = {"hidden": 16, "inner": 32, "heads": 4, "kv_heads": None, "scale": "sqrt_dk", "norm": "layer"}
    return Shape(**plain | {"norm_first": True, "dropout": 0.0} | changes)


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_rest(ours, theirs):
    theirs.linear1.load_state_dict(ours.feed[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed[3].state_dict())
    for number, norm in enumerate(ours.norms, 1):
        norm.weight.normal_()
        norm.bias.normal_()
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())


@torch.no_grad()
@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_equal_pytorchs_before_and_after_the_norm(norm_first):
    options = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    positions = build_positions("none", 16, 4, 9, causal=False)
    states, memory = torch.randn(3, 12, 16), torch.randn(3, 12, 16)
    ours, theirs = (
        EncoderLayer(shape(norm_first=norm_first), Pattern()),
        nn.TransformerEncoderLayer(16, 4, 32, **options),
    )
    copy_attention(ours.attention, theirs.self_attn)
    copy_rest(ours, theirs)
    found, _ = ours(states, positions, REAL)
    expected = theirs.train()(states, src_key_padding_mask=~REAL)
    torch.testing.assert_close(found[REAL], expected[REAL], atol=1e-5, rtol=1e-5)

    ours, theirs = (
        DecoderLayer(shape(norm_first=norm_first), Pattern()),
        nn.TransformerDecoderLayer(16, 4, 32, **options),
    )
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_rest(ours, theirs)
    found, _, _ = ours(states, positions, ours.cross_attention.keys_values(memory), REAL[:, None, None])
    triangle = torch.ones(12, 12).triu(1).bool()
    expected = theirs(states, memory, tgt_mask=triangle, memory_key_padding_mask=~REAL)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_steps_far_beyond_the_window_give_what_the_whole_target_gives(name):
    model, target = build(name), torch.randint(4, VOCABULARY, (3, 30))
    memory = model.encode(source(), LENGTHS)
    features, _ = model.decode(memory, target)
    state = model.start(memory)
    for place, tokens in enumerate(target.unbind(1)):
        output, _, state = model.step(memory, tokens, state)
        torch.testing.assert_close(output, features[:, place], atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_caches_hold_the_heads_of_keys_and_no_more_than_the_window(name):
    model, memory = build(name), build(name).encode(source(), LENGTHS)
    settings = SETTINGS[name]
    heads, size = settings.get("kv_heads", 4), 4
    most = {"window": settings.get("window"), "global": settings.get("window", 0) + settings.get("global_positions", 0)}
    state = model.start(memory)
    for done in range(1, 20):
        _, _, state = model.step(memory, torch.full((3,), 5), state)
        kept = min(done, most.get(settings.get("attention"), done))
        assert {cache.size for cache in state.caches} == {kept}
        for part in (part for cache in state.caches for part in (cache.keys, cache.values)):
            assert part.shape[:2] == (3, heads)
            assert kept <= part.shape[2] < kept + ROOM
            assert part.shape[3] == size
    assert {part.shape for cache in memory.cache for part in cache} == {(3, heads, 12, size)}


@EVERY
@torch.no_grad()
def test_self_attention_sums_to_one_where_the_pattern_allows_and_is_zero_elsewhere(name):
    model, settings = build(name), SETTINGS[name]
    memory = model.encode(source(), LENGTHS, attention=True)
    _, attention = model.decode(memory, torch.randint(4, VOCABULARY, (3, 7)), attention=True)
    options = {key: settings[key] for key in ("window", "global_positions", "stride") if key in settings}
    kind = settings.get("attention", "full")
    both = Pattern(kind, **options).dense(12) & REAL[:, None, None, None]  # (B, 1, 1, S, S)
    assert attention.encoder_self.shape == (3, 2, 4, 12, 12)
    for weights, allowed in (
        (attention.encoder_self, both),
        (attention.decoder_self, Pattern(kind, **options, causal=True).dense(7)),
    ):
        allowed = allowed.expand_as(weights)
        assert (weights[~allowed] == 0).all()
        assert (weights[allowed] > 0).float().mean() > 0.9  # saturated ones may vanish
        torch.testing.assert_close(weights.sum(-1), allowed.any(-1).float())
    assert all(cross.isfinite().all() for cross in (attention.cross, attention.encoder_self, attention.decoder_self))


def test_settings_of_older_checkpoints_build_the_model_that_they_built():
    """Names and order of the parameters, which state_dict and the optimiser's state are known by."""
    names = [name for name, _ in build("transformer").named_parameters()]
    attention = [f"{part}.{kind}" for part in ("query", "key_value", "output") for kind in ("weight", "bias")]
    feed = [f"feed.{number}.{kind}" for number in (0, 3) for kind in ("weight", "bias")]
    norms = [f"norms.{number}.{kind}" for number in range(3) for kind in ("weight", "bias")]
    expected = ["target_embedding.weight"]
    for layer in ("encoder.0.", "encoder.1."):
        expected += [layer + name for name in [*(f"attention.{part}" for part in attention), *feed, *norms[:4]]]
    for layer in ("decoder.0.", "decoder.1."):
        both = [f"{kind}_attention.{part}" for kind in ("self", "cross") for part in attention]
        expected += [layer + name for name in [*both, *feed, *norms]]
    expected += [f"{side}_norm.{kind}" for side in ("encoder", "decoder") for kind in ("weight", "bias")]
    assert names == [*expected, "output.bias"]


def test_the_defaults_are_what_the_settings_name():
    """What conf/model/transformer.yaml spells out builds the same model as leaving it out does."""
    spelt = {
        **{"kv_heads": 4, "scale": "sqrt_dk", "attention": "full", "window": 3, "global_positions": 2, "stride": 2},
        **{"positions": "sinusoidal", "max_positions": 7, "norm": "layer", "norm_first": True},
    }
    torch.manual_seed(5)
    plain = build("transformer")
    torch.manual_seed(5)
    full = build_model(SETTINGS["transformer"] | spelt, VOCABULARY, VOCABULARY, True).eval()
    target = torch.randint(4, VOCABULARY, (3, 7))
    words = source()
    found = [model.decode(model.encode(words, LENGTHS), target)[0] for model in (plain, full)]
    assert torch.equal(*found)


def test_after_the_last_post_norm_comes_no_other():
    names = dict(build("transformer, post-norm").named_parameters())
    assert not [name for name in names if name.startswith(("encoder_norm", "decoder_norm"))]
    assert "encoder.1.norms.1.weight" in names


def test_the_decoders_relative_positions_are_all_for_the_past():
    model, distances = build("transformer, t5"), torch.tensor([8, 9])
    assert torch.equal(*model.source_positions.bias(distances).unbind(1))  # one bucket: half are for the future
    assert not torch.equal(*model.target_positions.bias(distances).unbind(1))
