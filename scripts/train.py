"""Train a model, test its best checkpoint, and leave everything in one folder."""

import logging
import shlex
from typing import Any

from seq2seq import cli

USAGE = """
Train one of four models on English–Vietnamese and test it.

  python scripts/train.py                                         # Bahdanau attention on the built-in corpus
  python scripts/train.py model=transformer data=files data.dir=DIR
  python scripts/train.py -m model=rnn,bahdanau,luong,transformer # one after the other

Choices (files of conf/):
  model=      rnn | bahdanau | luong | transformer, and variants of them: bahdanau_coverage, luong_local_p, …
  data=       grammar (built in) | files | iwslt15 | opus100
  recipe=     small | base          sizes and training settings; follows data
  decoding=   beam | greedy         how the test split is translated
  trainer=    auto | cpu | gpu | ddp

Often used:
  run_dir=PATH                      default runs/<data>/<model>/<time>
  resume=true run_dir=PATH          go on where that run stopped; a larger limit extends a finished one
  seed=1   init_from=CHECKPOINT     fine-tune another run's weights
  data.dir=DIR  data.source=vi  data.target=en  data.vocabulary_size=8000  data.batch_tokens=4096
  model.layers=2  model.hidden=512  model.dropout=0.3  model.score=dot  model.input_feeding=false
  trainer.max_epochs=20  trainer.max_steps=1000  trainer.max_time=25 (minutes, or HH:MM:SS)  trainer.accumulate=2
  trainer.devices=2  trainer.precision=auto|32-true|bf16-mixed  decoding.beam=5  decoding.alpha=0.6
  --cfg job                         print all settings, each explained in conf/
"""


def train(settings: dict[str, Any], asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """One run from plain settings (the keys of conf/train.yaml). Gives what ``metrics.json`` holds.

    asked: what of the settings was typed, by dotted names; it matters where a run is resumed.
    """
    from seq2seq.training.run import train_and_test

    return train_and_test(settings, shlex.join(cli.TYPED), asked)


if __name__ == "__main__":
    logging.captureWarnings(True)
    cli.run("train", train, USAGE, tell_asked=True)
