"""The four reserved token ids, the same in every vocabulary of this project.

The tokenizer asserts them when it is trained and when it is loaded; models, loss and search rely on them.
"""

PAD, UNK, BOS, EOS = 0, 1, 2, 3
