"""Faults that pydantic finds, in our words."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from commandline.faults import keys_at, path_of, tags_in, wrong_with


class _Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: float = Field(default=1, gt=0, le=9)
    word: Literal["a", "b"] = "a"


def _form(value: object) -> str:
    return "[inner]" if isinstance(value, dict) else "[word]"


class _Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    part: Annotated[Annotated[str, Tag("[word]")] | Annotated[_Inner, Tag("[inner]")], Discriminator(_form)] = ""
    parts: dict[str, _Inner] = {}
    words: list[str] = Field(default=[], max_length=1)
    yes: bool = True


def first_fault(given: Any) -> Any:
    with pytest.raises(ValidationError) as refused:
        _Outer.model_validate(given)
    return refused.value.errors(include_url=False)[0]


@pytest.mark.parametrize(
    ("given", "path", "wrong"),
    [
        ({"part": {"number": 0}}, ["part", "number"], "must be greater than 0"),
        ({"part": {"number": 10}}, ["part", "number"], "must be at most 9"),
        ({"part": {"number": "x"}}, ["part", "number"], "must be a number"),
        ({"part": {"word": 1}}, ["part", "word"], "must be 'a' or 'b'"),
        ({"part": 1}, ["part"], "must be text"),
        ({"parts": 1}, ["parts"], "must be a group of keys"),
        ({"parts": {"x": 1}}, ["parts", "x"], "must be a group of keys"),
        ({"parts": {2: {}}}, ["parts", "2"], "is a key that is not text: put it in quotes"),
        ({"words": 1}, ["words"], "must be a list, in brackets"),
        ({"words": ["a", "b"]}, ["words"], "must have at most 1 values, not 2"),
        ({"yes": []}, ["yes"], "must be true or false"),
    ],
)
def test_a_fault_is_told_without_pydantics_words(given: Any, path: list[str], wrong: str) -> None:
    fault = first_fault(given)
    assert path_of(fault, _Outer) == path
    assert wrong_with(fault) == wrong


@pytest.mark.parametrize("key", ["[word]", "[key]", "[", "function-x", "list[", ""])
def test_the_last_part_of_an_unknown_key_is_the_key(key: str) -> None:
    assert path_of(first_fault({key: 1}), _Outer) == [key or "“”"]
    assert path_of(first_fault({"part": {key: 1}}), _Outer) == ["part", key or "“”"]


def test_tags_and_keys_come_from_the_model() -> None:
    assert tags_in(_Outer) == {"[word]", "[inner]"}
    assert keys_at(_Outer, []) == ["part", "parts", "words", "yes"]
    assert keys_at(_Outer, ["part"]) == keys_at(_Outer, ["parts", "any"]) == ["number", "word"]
