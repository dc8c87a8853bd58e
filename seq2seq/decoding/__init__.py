"""From a model to sentences: search for the best hypothesis, and exact scores of given ones."""
