"""Attention as pure calls on tensors; nothing here knows a model."""
