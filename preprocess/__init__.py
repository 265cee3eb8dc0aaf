"""Encoded image bytes to pixels. Library code: ``model.py`` only calls it."""
