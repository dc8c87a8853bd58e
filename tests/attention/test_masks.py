"""Patterns, word by word."""

import pytest

from seq2seq.attention.masks import KINDS, Pattern
from seq2seq.errors import UserError


def picture(pattern, size):
    return ["".join(".x"[seen] for seen in row) for row in pattern.dense(size).int().tolist()]


def test_patterns_look_like_their_papers_figures():
    assert picture(Pattern("window", window=2), 5) == ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"]
    assert picture(Pattern("window", window=3, causal=True), 5) == ["x....", "xx...", "xxx..", ".xxx.", "..xxx"]
    assert picture(Pattern("global", window=1, global_positions=1), 5) == ["xxxxx", "xx...", "x.x..", "x..x.", "x...x"]
    causal = Pattern("global", window=1, global_positions=2, causal=True)
    assert picture(causal, 5) == ["x....", "xx...", "xxx..", "xx.x.", "xx..x"]
    strided = Pattern("strided", window=2, stride=3, causal=True)
    assert picture(strided, 7) == ["x......", "xx.....", ".xx....", "x.xx...", ".x.xx..", "..x.xx.", "x..x.xx"]
    both_ways = Pattern("strided", window=1, stride=2)
    assert picture(both_ways, 4) == ["x.x.", ".x.x", "x.x.", ".x.x"]
    assert picture(Pattern(causal=True), 3) == ["x..", "xx.", "xxx"]
    assert picture(Pattern(), 2) == ["xx", "xx"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [1, 2, 5, 40])
def test_a_position_sees_itself_and_when_causal_nothing_later(kind, causal, window):
    mask = Pattern(kind, window, global_positions=2, stride=3, causal=causal).dense(17)
    assert mask.diagonal().all()
    assert mask.triu(1).any() != causal or (kind, window) == ("window", 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [1, 3, 30])
def test_what_a_decoder_keeps_is_all_that_its_later_positions_see(kind, window):
    pattern = Pattern(kind, window, global_positions=2, stride=4, causal=True)
    mask = pattern.dense(20)
    for done in range(1, 21):
        kept = set(pattern.kept(done).tolist())
        seen = mask[done - 1 :, :done].any(0).nonzero().flatten().tolist()
        assert set(seen) <= kept
        if kind in ("window", "global"):
            assert len(kept) <= window + pattern.anchors
            assert kept == set(range(min(pattern.anchors, done))) | set(range(max(0, done - window), done))


def test_an_unknown_kind_is_refused():
    with pytest.raises(UserError, match=r"model\.attention=sparse is not known: choose one of full, window, global, s"):
        Pattern("sparse")
