"""Texts drawn by a seed, and how alike two texts are by the definition."""

from __future__ import annotations

import random
import string

WORDS = [
    "".join(random.Random(number).choices(string.ascii_lowercase + "éžш漢", k=number % 7 + 2)) for number in range(900)
]


def true_jaccard(one: str, other: str) -> float:
    """The Jaccard index as the definition has it, by sets of texts."""
    sets = []
    for text in (one, other):
        flat = " ".join(text.split())
        sets.append({flat[at : at + 8] for at in range(len(flat) - 7)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1]) if all(sets) else 0.0


def text_of(seed: int, words: int, changed: int = 0) -> str:
    """A text; ``changed`` words of it differ from those of the same seed without."""
    draw = random.Random(seed)
    chosen = draw.choices(WORDS, k=words)
    for at in random.Random(-seed).sample(range(words), changed):
        chosen[at] = f"x{at}y"
    return " ".join(chosen)
