#!/usr/bin/env bash
# Checks on a machine with a GPU, in about five minutes: every model trains there, resumes there, and translates as on the
# CPU. Prints a line a model; ends with 1 where a translation differs by more than ties would explain.
#   bash benchmarks/gpu.sh [NEW FOLDER for the runs]     ACCELERATOR=cpu tries the script itself without a GPU
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-$(mktemp -d)}")
accelerator=${ACCELERATOR:-gpu}
device=$([ "$accelerator" = gpu ] && echo cuda || echo cpu)
python=${PYTHON:-python}
steps=${STEPS:-600}
[ "$accelerator" = cpu ] || "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available() and "PyTorch sees no GPU here")'
status=0
for model in rnn bahdanau luong transformer; do
    run=$folder/$model
    "$python" scripts/train.py model=$model run_dir="$run" trainer.accelerator=$accelerator \
        trainer.max_epochs=-1 trainer.max_steps=$((steps / 2)) trainer.validate_every=$((steps / 2)) >/dev/null
    "$python" scripts/train.py resume=true run_dir="$run" trainer.max_steps=$steps >/dev/null
    for where in $device cpu; do
        "$python" scripts/evaluate.py checkpoint="$run" split=validation decoding=greedy device=$where \
            output="$folder/$model-$where" >/dev/null
    done
    "$python" - "$run" "$folder/$model-$device" "$folder/$model-cpu" <<'EOF' || status=1
import json
import sys
from pathlib import Path

run, *places = map(Path, sys.argv[1:])
train = json.loads((run / "metrics.json").read_text("utf-8"))["train"]
here, there = ((place / "validation.hyp").read_text("utf-8").splitlines() for place in places)
different = sum(one != other for one, other in zip(here, there, strict=True))
bleu = json.loads((places[0] / "evaluation.json").read_text("utf-8"))["test"]["bleu"]
print(
    f"{run.name}: {train['tokens_per_second']:,.0f} pieces/s in {train['precision']}, {train['steps']} steps, "
    f"validation BLEU {bleu:.1f}; {different} of {len(here)} translations differ from the CPU's"
)
sys.exit(different > len(here) // 50)
EOF
done
exit $status
