"""Records of the files that the fit writes: one line each, numbers to three digits."""

from collections.abc import Mapping


def flow_mapping(values: Mapping[str, object]) -> str:
    """A mapping in braces, which a reader of the file sees as one row; floats to three significant digits."""
    shown = (f"{key}: {_rounded(value) if isinstance(value, float) else value}" for key, value in values.items())
    return f"{{{', '.join(shown)}}}"


def _rounded(value: float) -> str:
    """Three significant digits without an exponent, which YAML 1.1 would read as text."""
    text = f"{float(f'{value:.3g}'):.10f}".rstrip("0")
    return text + "0" if text.endswith(".") else text
