#!/bin/sh
# Makes one virtual environment a peer in the folder $1 (default: environments, beside this file), for compare.py.
# JoeyNMT and OpenNMT-py pin old releases; without their pins they run with today's PyTorch. Python 3.11 has wheels of all.
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/environments}
mkdir -p "$folder"

make() { # name, then what pip installs
    name=$1
    shift
    "${PYTHON:-python3}" -m venv "$folder/$name"
    "$folder/$name/bin/pip" install --quiet torch==2.13.0 numpy "$@"
}

make joeynmt pyyaml packaging importlib_metadata tqdm sentencepiece tensorboard sacrebleu subword-nmt sacremoses \
    matplotlib datasets
"$folder/joeynmt/bin/pip" install --quiet --no-deps joeynmt==2.3.0
make opennmt 'pyonmttok<2' 'ctranslate2==4.8.5' configargparse pyyaml six spacy sacrebleu rapidfuzz pyahocorasick \
    tensorboard fasttext-wheel
"$folder/opennmt/bin/pip" install --quiet --no-deps OpenNMT-py==3.5.1
make torchlingo torchlingo==0.2.9
make marian transformers==5.24.0
make ctranslate2 ctranslate2==4.8.5
