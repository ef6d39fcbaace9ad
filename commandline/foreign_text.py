"""Text of somebody else in sentences of ours: on one line, cut, without characters that a terminal or page obeys."""

import unicodedata

MOST_SHOWN = 40
"""Characters of a value that a sentence shows. Chosen: enough to find it again in the file."""

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's control, format (direction among them) and half characters, and its separators of lines."""


def shown(value: object, most: int = MOST_SHOWN) -> str:
    """A value as a sentence may show it: at most so many characters; of a list or a group of keys, that it is one."""
    if isinstance(value, dict):
        return "a group of keys"
    if isinstance(value, list | tuple | set):
        return "a list"
    try:
        text = str(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    visible = printable(" ".join(text[: 4 * most].split())[: most + 1])
    return visible if len(visible) <= most else f"{visible[: most - 3]}..."


def printable(text: str) -> str:
    """The text with every character that is obeyed rather than shown written as an escape, such as ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _OBEYED else c for c in text)


def _escaped(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode()


def has_half_character(value: object) -> bool:
    """Whether a text in a parsed file, keys included, cannot be written: what ``"\\ud800"`` becomes.

    Parts that aliases repeat are looked at once.
    """
    waiting, looked_at = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if not part.isascii() and any("\ud800" <= c <= "\udfff" for c in part):
                return True
        elif isinstance(part, dict | list) and id(part) not in looked_at:
            looked_at.add(id(part))
            waiting += [*part, *part.values()] if isinstance(part, dict) else part
    return False
