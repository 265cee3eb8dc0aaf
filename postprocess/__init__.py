"""Logits to classes, scores and labels. Library code: ``model.py`` only calls it."""
