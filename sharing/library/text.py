"""Text as every database keeps and finds it."""

REPLACEMENT = "\ufffd"
ESCAPE = "\\"


def printable(text: str) -> str:
    """The text with a sign in place of what cannot be kept everywhere: control characters, halves of characters."""
    return "".join(c if c.isprintable() else REPLACEMENT for c in text)


def words(*texts: str) -> str:
    """Texts as they are searched: without case, one below the other."""
    return "\n".join(printable(text).casefold() for text in texts)


def containing(text: str) -> str:
    """A LIKE pattern for texts that contain this one; its own % and _ mean themselves."""
    wanted = printable(text).casefold()
    for sign in (ESCAPE, "%", "_"):
        wanted = wanted.replace(sign, ESCAPE + sign)
    return f"%{wanted}%"
