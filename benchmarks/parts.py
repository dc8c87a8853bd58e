"""Where the time of a search goes: milliseconds of its parts for the sentences of a workload, best of several runs.

    python benchmarks/parts.py news.npz transformer --beam 5

``step`` is one position of the decoder, attention included; ``choose`` the best continuations of each sentence;
``move`` what re-orders the rows of the decoder's state.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from ours import SETTINGS, Ours
from protocol import Workload

from seq2seq.attention import multihead, self_attention
from seq2seq.decoding import search
from seq2seq.decoding.products import PRECISIONS

REST = "rest"


def parts_of(ours: Ours, workload: Workload, beam: int, precision: str) -> dict[str, float]:
    """Seconds by part of one search over all sentences; ``attention`` is a part of ``encode`` and ``step``."""
    spent: Counter[str] = Counter()

    def timed(call: Callable[..., Any], part: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            result = call(*arguments, **options)
            spent[part] += time.perf_counter() - started
            return result

        return wrapped

    places = [
        *((ours.model, name, name) for name in ("encode", "step", "project")),
        *((search, "_advance", "choose"), (search, "_thin", "move")),
        *((module, "fused", "attention") for module in (multihead, self_attention)),
    ]
    with ExitStack() as patches:
        for owner, name, part in places:
            patches.enter_context(patch.object(owner, name, timed(getattr(owner, name), part)))
        started = time.perf_counter()
        ours.translate(workload.decode, beam, precision)
        whole = time.perf_counter() - started
    inside = sum(spent[part] for part in ("encode", "step", "project", "choose", "move"))
    return {**spent, REST: whole - inside, "whole": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", type=Path, help="of workload.py")
    parser.add_argument("model", choices=SETTINGS)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    workload = Workload.load(options.workload)
    ours = Ours(options.model, workload.vocabulary, 1)
    ours.model.eval()
    ours.block_end()
    names = ("encode", "step", "attention", "project", "choose", "move", REST, "whole")
    print(f"| {options.model}, beam {options.beam} |", *(f"{name} |" for name in names))
    print("|---" + "|---:" * len(names) + "|")
    for precision in PRECISIONS:
        runs = [parts_of(ours, workload, options.beam, precision) for _ in range(options.runs)]
        best = min(runs, key=lambda parts: parts["whole"])
        print(f"| {precision} |", *(f"{1000 * best.get(name, 0):,.0f} |" for name in names))


if __name__ == "__main__":
    main()
