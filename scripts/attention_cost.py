"""Time and memory of each attention against the length of the sequence: counted, and measured on this machine.

python scripts/attention_cost.py                                   # tables on standard output
python scripts/attention_cost.py output=docs/attention_cost.png longest=8192 window=128 size=256 heads=4 memory=2

One causal layer, one sentence, forward, fp32, without the projections. memory: GiB that a mechanism may be expected to
take; where it would take more it is left out. On a CPU it uses one thread and measures processor time, which other
programs disturb least; memory is taken anew for each call, and touching it is part of the time.
"""

import math
import os
import sys
import time
from typing import Any

from seq2seq.cli import plain_options
from seq2seq.errors import UserError

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler is quiet
DEFAULTS = {"output": "", "longest": 8192, "window": 128, "size": 256, "heads": 4, "memory": 2}
SHORTEST, REPEATS = 128, 5
FIT_FROM, FIT_TO = 8, 64  # windows; between them cost should grow in proportion to n


def calls(options: dict[str, Any]) -> dict[str, Any]:
    """A function of queries, keys and values (1, h, n, d) for each mechanism, the one that the models use."""
    import torch

    from seq2seq.attention.banded import banded
    from seq2seq.attention.dot_product import fused, scaled_dot_product
    from seq2seq.attention.masks import Pattern, causal_mask
    from seq2seq.attention.strided import strided

    window = options["window"]
    near, few = Pattern("window", window, causal=True), Pattern("global", window, global_positions=1, causal=True)
    every = Pattern("strided", window, stride=window, causal=True)
    lstm = torch.nn.LSTM(options["size"], options["size"], batch_first=True)
    return {
        "explicit": lambda q, k, v: scaled_dot_product(q, k, v, causal_mask(q.shape[2], q.device)),
        "fused": lambda q, k, v: fused(q, k, v, None, causal=True),
        "window": lambda q, k, v: banded(q, k, v, near),
        "global": lambda q, k, v: banded(q, k, v, few),
        "strided": lambda q, k, v: strided(q, k, v, every),
        "recurrent": lambda q, k, v: lstm.to(q.device)(q.transpose(1, 2).flatten(2)),
    }


def measure(call: Any, inputs: list[Any]) -> tuple[float, int]:
    """Seconds, the least of some calls, and the bytes allocated at the worst moment, the result among them."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    cuda = inputs[0].is_cuda
    clock = time.perf_counter if cuda else time.process_time
    with torch.no_grad():
        call(*inputs)
        times = []
        for _ in range(REPEATS):
            start = clock()
            call(*inputs)
            if cuda:
                torch.cuda.synchronize()
            times.append(clock() - start)
        if cuda:
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            call(*inputs)
            return min(times), torch.cuda.max_memory_allocated() - before
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
            call(*inputs)
    events = [event for event in run.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return min(times), peak


def rows(options: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each mechanism and length: counted and measured."""
    import torch

    from seq2seq.attention.cost import MECHANISMS, Sizes

    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size, heads, window = options["size"], options["heads"], options["window"]
    found = []
    n = SHORTEST
    while n <= options["longest"]:
        inputs = [torch.randn(1, heads, n, size // heads, device=device) for _ in range(3)]
        for name, call in calls(options).items():
            sizes = Sizes(n, size, heads, heads, window=window, stride=window, global_positions=int(name == "global"))
            cost = MECHANISMS[name](sizes)
            if 2 * cost.bytes > options["memory"] * 2**30:  # a masked copy comes to it
                continue
            seconds, peak = measure(call, inputs)
            found.append({"mechanism": name, "n": n, "seconds": seconds, "peak": peak, **vars(cost)})
        n *= 2
    return found


def exponent(points: list[dict[str, Any]], key: str, window: int) -> float:
    """The slope of log(key) against log(n), least squares, from FIT_FROM to FIT_TO windows; NaN below three points."""
    inside = [point for point in points if FIT_FROM * window <= point["n"] <= FIT_TO * window]
    if len(inside) < 3:
        return math.nan
    x, y = ([math.log(point[name]) for point in inside] for name in ("n", key))
    middle, height = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True))
    return above / sum((a - middle) ** 2 for a in x)


def readable(count: float) -> str:
    """Bytes with a unit of 1,024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def exercise() -> str:
    """How much the score matrix takes, counted."""
    from seq2seq.attention.cost import Sizes, cache_bytes, fused, score_matrix

    lines = ["| n | scores of one head, fp16 | fused keeps |", "|---:|---:|---:|"]
    for n in (4096, 32768, 131072, 1048576):
        one = Sizes(n, 128, 1, 1, item=2)
        lines.append(f"| {n:,} | {readable(score_matrix(one))} | {readable(fused(one).bytes)} |")
    whole = Sizes(131072, 4096, 32, 32, item=2)
    scores, layers = 32 * score_matrix(whole), 32
    lines.append(
        f"\n32 layers of 32 heads at n = 131,072: {readable(scores)} of scores, {scores / 80e9:.0f} cards of 80 GB; "
        f"one layer alone {score_matrix(whole) / 80e9:.1f}."
    )
    caches = {
        "32 heads of keys and values": cache_bytes(whole, layers),
        "8 (GQA)": cache_bytes(Sizes(131072, 4096, 32, 8, item=2), layers),
        "1 (MQA)": cache_bytes(Sizes(131072, 4096, 32, 1, item=2), layers),
        "32 in a window of 4,096": cache_bytes(whole, layers, window=4096),
    }
    text = "; ".join(f"{name} {readable(size)}" for name, size in caches.items())
    return "\n".join([*lines, f"Its cache of keys and values when decoding (head size 128): {text}."])


def table(found: list[dict[str, Any]], window: int) -> str:
    """Markdown: a row for each measurement, then the fitted exponents."""
    lines = [
        "| mechanism | n | multiply-adds | counted bytes | longest path | measured ms | measured peak |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    names = list(dict.fromkeys(point["mechanism"] for point in found))
    for point in sorted(found, key=lambda point: names.index(point["mechanism"])):
        counts = f"{point['multiply_adds']:.2e} | {readable(point['bytes'])} | {point['path']:g}"
        measured = f"{1000 * point['seconds']:.2f} | {readable(point['peak'])}"
        lines.append(f"| {point['mechanism']} | {point['n']:,} | {counts} | {measured} |")
    lines += ["", f"Growth n^a between {FIT_FROM * window} and {FIT_TO * window} positions:", ""]
    lines += ["| mechanism | a of time | a of memory |", "|---|---:|---:|"]
    for name in names:
        own = [point for point in found if point["mechanism"] == name]
        lines.append(f"| {name} | {exponent(own, 'seconds', window):.2f} | {exponent(own, 'peak', window):.2f} |")
    return "\n".join(lines)


def draw(found: list[dict[str, Any]], path: str) -> None:
    """Time and peak memory against n on logarithmic axes: measured as lines, the counted bytes dotted."""
    from matplotlib.figure import Figure

    from seq2seq.evaluation.figures import COLOURS, MARKERS, figure_to_png

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, name in enumerate(dict.fromkeys(point["mechanism"] for point in found)):
        own = [point for point in found if point["mechanism"] == name]
        lengths, style = [point["n"] for point in own], {"color": COLOURS[number], "marker": MARKERS[number]}
        left.loglog(lengths, [1000 * point["seconds"] for point in own], label=name, **style)
        right.loglog(lengths, [point["peak"] / 2**20 for point in own], **style)
        right.loglog(lengths, [point["bytes"] / 2**20 for point in own], ":", color=COLOURS[number])
    left.set_ylabel("milliseconds")
    right.set_ylabel("MiB at the peak (dotted: counted)")
    lengths = sorted({point["n"] for point in found})
    for axes in (left, right):
        axes.set_xlabel("positions n")
        axes.set_xticks(lengths, [str(n) for n in lengths])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.legend()
    figure_to_png(figure, path)


def parse(arguments: list[str]) -> dict[str, Any]:
    """Raises UserError for a setting that there is not, or a number that cannot be."""
    options = plain_options(arguments, DEFAULTS)
    if options["size"] % options["heads"]:
        raise UserError(f"heads={options['heads']} does not divide size={options['size']}: choose a divisor")
    if options["longest"] < SHORTEST:
        raise UserError(f"longest={options['longest']}: give at least {SHORTEST}")
    return options


def main(arguments: list[str]) -> str:
    """Measures, draws where ``output`` is given, and gives the tables."""
    options = parse(arguments)
    found = rows(options)
    if options["output"]:
        draw(found, options["output"])
    return "\n\n".join([table(found, options["window"]), exercise()])


if __name__ == "__main__":
    try:
        print(__doc__.strip() if {"-h", "--help"} & set(sys.argv) else main(sys.argv[1:]))
    except (UserError, OSError) as error:
        sys.exit(f"error: {error}")
