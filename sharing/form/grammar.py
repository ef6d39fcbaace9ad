"""``python -m sharing.form.grammar``: writes docs/LINKS.md, what a link may say, from the fields themselves."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sharing.form.choices import label, labels
from sharing.form.fields import FIELDS, Field
from sharing.form.link import VERSION, link_to
from sharing.form.link_versions import LINK_VERSION
from sharing.form.presets import defaults

DOCUMENT = Path(__file__).parents[2] / "docs" / "LINKS.md"
BASE = "http://localhost:8501/size"
LONG = 16
"""Options from which a list of its own is kept, below the table."""

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "A model in a catalogue, 20 requests a second at peak, first token within 1.5 s, on H100 or H200": {
        "model": "llama 3.3 70b",
        "isl": "3.5k",
        "osl": "500",
        "rps": "20",
        "ttft": "1.5s",
        "gpu": "h100,h200",
    },
    "50,000 people a day who read the whole answer, in pages, rented": {
        "name": "Contract summaries",
        "model": "Qwen/Qwen3-32B",
        "unit": "pages",
        "isl": "12",
        "osl": "1",
        "load": "users",
        "users": "50k",
        "per_user": "4",
        "mode": "whole",
        "ttft": "",
        "itl": "",
        "e2e": "30s",
        "where": "cloud",
    },
    "A model of which only the size is known, with a benchmark of one system, growth and a spare": {
        "model_by": "size",
        "size_name": "NeMo 43B GPT",
        "size_b": "43",
        "isl": "3500",
        "osl": "500",
        "rps": "31",
        "ttft": "3s",
        "itl": "",
        "pct": "95",
        "growth": "20",
        "spare": "1",
        "gpu": "h100",
        "meas": "yes",
        "m_sys": "DGX H100",
        "m_rps": "2.4",
        "m_source": "Benchmark of 12 March",
    },
}
"""Worked examples by what each means."""

INTRODUCTION = f"""# Links

<!-- Written by `python -m sharing.form.grammar` from sharing/form/fields.yaml: change it there. -->

A live link carries the inputs of a scenario, and whoever opens it gets the answer of today. A person or a program can
write one: an address of the Size page (or `/explore`, `/compare`, `/cost`, `/benchmarks`, `/live`, `/reality`) and any
of the parameters below.

```
{BASE}?model=llama+3.3+70b&isl=3.5k&osl=500&rps=20&ttft=1.5s&gpu=h100,h200
```

- What a link does not say is as in an untouched form (the column "Default"). `{VERSION}={LINK_VERSION}` names the
  version of these defaults, and a link of an older one goes on to mean what it meant; without it, today's count. Of a
  version that is not known the page says which inputs to check, and `open` refuses it. The
  defaults are those of a scenario file, but for model, lengths and rate, which a file has to say.
- Numbers: `3500`, `3,500`, `3.5k`, `1e6`; in ms also `2s`, in percent also `80%` (`80%25` where a program encodes it).
  An empty value empties the field.
- Choices by their words or ids: case, blanks, hyphens and what stands in brackets do not matter (`on-prem`,
  `On-premises`). Where several may be chosen: commas, or the parameter again; empty: all.
- `yes`, `true`, `on`, `1` and their opposites.
- With `isl95` or `osl95`, which are tokens whatever `unit` says, a length is lognormal and `isl` or `osl` its median.
  `trace` names the trace that filled them in, which is not carried.
- `given` says that a benchmark (`benchmark`), a list of prices (`price_list`) or prices of its own (`prices`) stood
  behind the answer. They are not carried, and the page says that they are missing.
- A model by its Hugging Face id or as people write it; `python -m sizing catalog models` lists the catalogue.
- A parameter may also be named as in a scenario file (`limits.ttft_ms=2000`, `peak_rps=20`), if the unit is the same.
- What the form cannot take is left out, and the page says so, parameter by parameter.
- Blanks are `+` or `%20`, as in every address.

Prices and discounts of your own are never in a link, and never taken from one. Nor are a `config.json`, a benchmark or
a trace: save the scenario and make a frozen link, or send the file ([SHARING.md](SHARING.md)).

`python -m sharing link SCENARIO` prints the link of a file, or of a scenario in the library; `python -m sharing open
LINK --to FILE.yaml` writes the scenario that a link means.
"""


def document() -> str:
    """The text of ``docs/LINKS.md``."""
    parts = [INTRODUCTION, "## Examples\n", *_examples(), "## Parameters\n", *_table(), *_lists()]
    return "\n".join(parts)


def _examples() -> Iterator[str]:
    for meaning, parameters in EXAMPLES.items():
        address = link_to(BASE, {key: [value] for key, value in parameters.items()})
        yield f"{meaning}:\n\n```\n{address}\n```\n"


def _table() -> Iterator[str]:
    yield "| Parameter | Means | Value | Default | Counts with |\n|---|---|---|---|---|"
    for field in FIELDS.values():
        if not field.private:
            yield f"| `{field.key}` | {field.label} | {_values(field)} | {_default(field)} | {_needs(field)} |"
    private = ", ".join(f"`{field.key}`" for field in FIELDS.values() if field.private)
    yield f"\nNever taken from a link: {private}.\n"


def _values(field: Field) -> str:
    match field.kind:
        case "number":
            return f"number, {field.unit}" if field.unit else "number, in the unit of `unit`"
        case "switch":
            return "`true` or `false`"
        case "text":
            return f"text of at most {field.longest} characters" + (
                f", such as `{field.example}`" if field.example else ""
            )
    if field.key == "model":
        return "name of a model"
    several = "any of " if field.kind == "many" else ""
    if len(labels(field.key)) > LONG:
        return f"{several or 'one of '}[the list below](#{field.key})"
    return several + ", ".join(f"`{words}`" for words in labels(field.key).values())


def _default(field: Field) -> str:
    value = defaults()[field.key]
    match field.kind:
        case "many":
            return ", ".join(f"`{label(field.key, option)}`" for option in value) or "all"
        case "switch":
            return f"`{str(value).lower()}`"
    return f"`{label(field.key, value) if field.kind == 'choice' else value}`" if value else ""


def _needs(field: Field) -> str:
    key, _, value = field.needs.partition("=")
    if not key:
        return ""
    return f"`{key}={value if FIELDS[key].kind == 'switch' else label(key, value)}`"


def _lists() -> Iterator[str]:
    for field in FIELDS.values():
        if not field.private and field.key != "model" and field.kind in ("choice", "many"):
            options = labels(field.key)
            if len(options) > LONG:
                listed = "\n".join(f"- `{option}`: {words}" for option, words in options.items())
                yield f"## {field.key}\n\n{field.label}, id and words:\n\n{listed}\n"


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
