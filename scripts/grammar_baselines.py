"""Prints two trivial baselines on the built-in corpus (copying, and a dictionary), and what is new in it.

python scripts/grammar_baselines.py
"""

import re
from collections import Counter, defaultdict

import sacrebleu

from seq2seq.data.grammar import Pair, Sentence, generate_sentences

MARKS = re.compile(r"[.,;:?!]+$")


def nearest_pair(train: list[Pair], test: list[Pair]) -> list[str]:
    """The target of the training pair whose source shares most words with the test source (Dice over word counts)."""
    bags = [Counter(MARKS.sub("", word).lower() for word in pair.source.split()) for pair in train]
    sizes = [bag.total() for bag in bags]
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            postings[word].append((row, count))
    result = []
    for pair in test:
        bag = Counter(MARKS.sub("", word).lower() for word in pair.source.split())
        shared = [0] * len(train)
        for word, count in bag.items():
            for row, other in postings.get(word, ()):
                shared[row] += min(count, other)
        size = bag.total()
        best = max(range(len(train)), key=lambda row: (2 * shared[row] / (size + sizes[row]), -row))
        result.append(train[best].target)
    return result


def word_for_word(train: list[Pair], test: list[Pair]) -> list[str]:
    """Each source word by its most frequent gold translation in train (all words aligned with it), in source order."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for pair in train:
        source, target = pair.source.split(), pair.target.split()
        linked: dict[int, list[int]] = {i: [] for i in range(len(source))}
        for link in pair.alignment.split():
            i, j = map(int, link.split("-"))
            linked[i].append(j)
        for i, places in linked.items():
            phrase = " ".join(MARKS.sub("", target[j]) for j in places)
            counts[MARKS.sub("", source[i]).lower()][phrase.lower() if min(places, default=1) == 0 else phrase] += 1
    dictionary = {word: choices.most_common(1)[0][0] for word, choices in counts.items()}
    result = []
    for pair in test:
        words = []
        for token in pair.source.split():
            word = MARKS.sub("", token)
            translation, mark = dictionary.get(word.lower(), word), token[len(word) :]
            if translation:
                words.append(translation + mark)
            elif mark and words:
                words[-1] += mark
        line = " ".join(words)
        result.append(line[:1].upper() + line[1:])
    return result


def baselines(splits: dict[str, list[Pair]]) -> dict[str, float]:
    """Corpus BLEU (sacreBLEU, 13a) of both baselines on the test split."""
    references = [[pair.target for pair in splits["test"]]]
    systems = {"nearest training pair": nearest_pair, "word for word": word_for_word}
    return {
        name: sacrebleu.corpus_bleu(system(splits["train"], splits["test"]), references).score
        for name, system in systems.items()
    }


def unseen(sentences: dict[str, list[Sentence]]) -> int:
    """Test sentences with an adjective and noun, or a verb and object, that training never combines."""
    trained = {name for sentence in sentences["train"] for name in sentence.used if name.startswith("pair ")}
    news = ({name for name in sentence.used if name.startswith("pair ")} - trained for sentence in sentences["test"])
    return sum(map(bool, news))


def main() -> None:
    sentences = generate_sentences()
    splits = {name: [sentence.pair for sentence in split] for name, split in sentences.items()}
    for name, bleu in baselines(splits).items():
        print(f"{name:22} {bleu:5.1f} BLEU")
    print(f"{unseen(sentences)} of {len(sentences['test'])} test sentences combine words as no training sentence does")


if __name__ == "__main__":
    main()
