"""The observer and the reflector that need no model (memory-rules.md section 4, Providers)."""

from app.memory.extractive.extractor import ExtractiveExtractor
from app.memory.extractive.observer import ExtractiveObserver
from app.memory.extractive.reflector import ExtractiveReflector

__all__ = ["ExtractiveExtractor", "ExtractiveObserver", "ExtractiveReflector"]
