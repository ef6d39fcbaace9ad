"""How reports look for the company that makes them: name, logo and colours, from a file that SHARING_BRAND names."""

import os
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sharing.errors import SharingError

VARIABLE = "SHARING_BRAND"
"""Environment variable with the path of a YAML file."""

MOST_BYTES = 20_000_000
"""Size that neither the file nor a logo, font or template exceeds."""

MOST_PIXELS = 16_000_000
"""Of a logo. Chosen: 4,000 a side, which print a width of 17 cm at 600 dots an inch; 64 MB in memory."""

LOGOS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""First bytes of the images that every format can hold, and what they are."""

FONTS = (b"\x00\x01\x00\x00", b"true")
"""First bytes of TrueType fonts."""

FILES = {
    "logo": (tuple(LOGOS), "PNG or JPEG image"),
    "font": (FONTS, "TrueType font"),
    "font_bold": (FONTS, "TrueType font"),
    "template": ((b"PK\x03\x04",), "PowerPoint file (.pptx)"),
}
"""Keys that name a file beside that of the brand: how its content begins, and what it is."""

Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]


class BadBrand(SharingError):
    """The file of the brand cannot be used; the message says why."""


class Brand(BaseModel):
    """``primary``: titles and the first series of charts; ``accent``: the second. ``logo``: a PNG or JPEG.

    ``font`` and ``font_bold``: TrueType fonts for the PDF, whose own show Western European letters alone.
    ``template``: the presentation whose master the slides get.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", max_length=80)
    primary: Colour = "#0072b2"
    accent: Colour = "#d55e00"
    footer: str = Field(default="", max_length=200)
    logo: bytes = b""
    font: bytes = b""
    font_bold: bytes = b""
    template: bytes = b""


def image_type(content: bytes) -> str:
    """What an image is that every format can hold; empty for anything else."""
    return next((kind for start, kind in LOGOS.items() if content.startswith(start)), "")


def configured_brand() -> Brand:
    """The brand of the file that the environment names, the product's own look without one. Raises BadBrand."""
    path = os.environ.get(VARIABLE, "")
    return _read(path, Path(path).stat().st_mtime_ns if path and Path(path).is_file() else 0) if path else Brand()


@lru_cache(maxsize=4)
def _read(path: str, _changed: int) -> Brand:
    return read_brand(Path(path))


def read_brand(file: Path) -> Brand:
    """The brand in a file; a logo is a PNG or JPEG beside it. Raises BadBrand with one sentence."""
    keys = _keys(file)
    beside = {key: _beside(file, key, keys.pop(key)) for key in FILES if keys.get(key) is not None}
    try:
        brand = Brand.model_validate(keys)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise BadBrand(f"{file.name}: {where}: {fault['msg'][0].lower()}{fault['msg'][1:]}.") from None
    return brand.model_copy(update=beside)


def read_logo(file: Path) -> bytes:
    """A customer's logo. Raises BadBrand with one sentence."""
    try:
        content = _bytes(file)
    except OSError:
        raise BadBrand(f"{file.name} cannot be read.") from None
    check_logo(content, file.name)
    return content


def check_logo(content: bytes, name: str) -> None:
    """Whether an image can stand in every format. Raises BadBrand: a small file may hold more pixels than memory does,
    or end in the middle."""
    from PIL import Image  # which takes time to load, and most brands have no logo

    if len(content) > MOST_BYTES:
        raise BadBrand(f"{name} is larger than {MOST_BYTES // 1_000_000} MB.")
    if not image_type(content):
        raise BadBrand(f"{name} is no {FILES['logo'][1]}.")
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG")) as opened:
            width, height = opened.size
            if width * height <= MOST_PIXELS:
                opened.load()
                return
    except Image.DecompressionBombError:
        pass
    except (OSError, ValueError, SyntaxError):
        raise BadBrand(f"{name} is no image that can be read.") from None
    raise BadBrand(f"{name} has more than {MOST_PIXELS // 1_000_000} million pixels: save it smaller.")


def _keys(file: Path) -> dict[str, Any]:
    try:
        keys = yaml.safe_load(_bytes(file).decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise BadBrand(f"{VARIABLE} names {file.name}, which cannot be read.") from None
    except (yaml.YAMLError, RecursionError):
        raise BadBrand(f"{file.name} is not valid YAML.") from None
    if not isinstance(keys, dict):
        raise BadBrand(f"{file.name} must hold keys such as name, primary and logo.")
    return {str(key): value for key, value in keys.items()}


def _beside(file: Path, key: str, name: object) -> bytes:
    """An image, font or presentation, which stands in the folder of the file."""
    if not isinstance(name, str) or Path(name).name != name:
        raise BadBrand(f"{file.name}: {key}: name a file in the same folder.")
    try:
        content = _bytes(file.parent / name)
    except (OSError, ValueError):
        raise BadBrand(f"{file.name}: {key}: {name} cannot be read.") from None
    starts, kind = FILES[key]
    if not any(content.startswith(start) for start in starts):
        raise BadBrand(f"{file.name}: {key}: {name} is no {kind}.")
    if key == "logo":
        check_logo(content, f"{file.name}: {key}: {name}")
    return content


def _bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadBrand(f"{file.name} is larger than {MOST_BYTES // 1_000_000} MB.")
    return content
