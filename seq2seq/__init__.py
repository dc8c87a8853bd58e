"""Four ways for a decoder to know its source: a trainer for learning and comparing attention."""

__version__ = "0.1.0"
