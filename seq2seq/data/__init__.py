"""From text to batches: corpora, normalisation, subword pieces, batches by token budget."""
