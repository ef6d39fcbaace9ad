"""Links that are made to cost: they are read before anybody has logged in, so what they may hold is bounded."""

import random
import string
import time

import pytest

from sharing.form.choices import labels
from sharing.form.fields import FIELDS
from sharing.form.link import MOST_CHARACTERS, from_parameters, link_to, to_parameters, too_much
from sharing.form.presets import defaults

WORDS = random.Random(1)
MOST_CPU_S = 0.5


def word(length: int = 20) -> str:
    return "".join(WORDS.choice(string.ascii_lowercase) for _ in range(length))


LONG = {
    "88 KB of names": {word(30): ["1"] for _ in range(2900)},
    "88 KB of accelerators": {"gpu": [word() for _ in range(4000)]},
    "accelerators between commas": {"gpu": [",".join(f"h100x{n}" for n in range(9000))]},
    "one long name": {"model": ["llama " * 14_000]},
    "a name of a parameter": {"x" * 90_000: ["1"]},
}


@pytest.mark.parametrize("kind", LONG)
def test_a_link_that_is_longer_than_any_of_ours_is_left_aside(kind: str) -> None:
    begun = time.process_time()
    opened = from_parameters(LONG[kind])
    assert time.process_time() - begun < MOST_CPU_S
    assert opened.problems == ("The link is longer than any that this form writes, so nothing was taken from it.",)
    assert opened.values == from_parameters({}).values


@pytest.mark.parametrize(
    "parameters",
    [
        {"gpu": [",".join(f"h100x{n}" for n in range(990))]},
        {"gpu": [word(10)] * 990},
        {"gpu": [word(15) for _ in range(990)]},
        {f"limitz{word(60)}": ["1"] for _ in range(190)},
        {"model": [word(15_000)]},
    ],
)
def test_the_longest_that_is_read_costs_little(parameters: dict[str, list[str]]) -> None:
    from_parameters({})  # the catalogue
    begun = time.process_time()
    opened = from_parameters(parameters)
    assert time.process_time() - begun < MOST_CPU_S
    assert all(len(sentence) < 1000 for sentence in opened.problems)


def test_the_longest_link_that_the_form_writes_is_read() -> None:
    values = dict(defaults())
    for key, field in FIELDS.items():
        if field.kind == "many":
            values[key] = list(labels(key))
        elif field.kind == "text":
            values[key] = "x" * field.longest
    parameters = to_parameters(values)
    assert not too_much(parameters)
    assert len(link_to("", parameters)) < MOST_CHARACTERS / 2
