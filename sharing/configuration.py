"""``python -m sharing.configuration``: writes docs/CONFIGURATION.md, every environment variable."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sharing.settings import PREFIXES, Settings

DOCUMENT = Path(__file__).parents[1] / "docs" / "CONFIGURATION.md"

INTRODUCTION = f"""# Configuration

<!-- Written by `python -m sharing.configuration` from sharing/settings.py: change it there. -->

Environment variables of the dashboard and of what reads its library. One that begins with
{", ".join(f"`{prefix}`" for prefix in PREFIXES)} and is not listed here is a mistake: the dashboard does not start.
Address, port and certificate of the server itself are options of Streamlit (`python -m ui --server.port 8502`), rules
about people are in `access.yaml` ([ACCESS.md](ACCESS.md)).

| Variable | Default | Unit | Means |
|---|---|---|---|
"""

FOREIGN = """
Variables of others that count here, too:

| Variable | Means |
|---|---|
| `HF_ENDPOINT` | Hub that `config.json` is fetched from; `https://huggingface.co` without it. |
| `HF_TOKEN` | Token that the server shows the hub, whoever presses the button: with it everybody who may see Size can \
read the `config.json` of gated models that this token opens. It is sent to `HF_ENDPOINT` alone, \
not where that redirects to. |
| `XDG_DATA_HOME`, `XDG_CACHE_HOME` | Where the library of a user and the rings of scraped sources lie without a \
setting. |
| `REQUESTS_CA_BUNDLE` | Certificates that sources are checked by, in place of those of the system. |
| `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` | For the model hub and webhooks. For a source only where its file says \
`use_environment_proxy: true`: through a proxy nobody can see to which address it leads. |
| `FORWARDED_ALLOW_IPS` | Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed; \
`127.0.0.1` without it. |
"""


def document() -> str:
    """The text of ``docs/CONFIGURATION.md``."""
    return INTRODUCTION + "".join(_rows()) + FOREIGN


def _rows() -> Iterator[str]:
    for field in Settings.model_fields.values():
        extra: Any = field.json_schema_extra
        unit, default = str(extra["unit"]), _written(field.default)
        yield f"| `{field.alias}` | {default} | {unit} | {field.description} |\n"


def _written(default: object) -> str:
    return f"`{default}`" if default not in ("", (), None) else ""


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
