"""Metadata that every public result field carries, and the estimate with an interval.

Tooltips, exports, the glossary and the methodology page are generated from :func:`quantity`; a test fails when a
public result field lacks it.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from commandline.percentiles import StatedBy, key_of, name_of, requests_below, stated_by


def quantity(
    label: str,
    unit: str = "",
    formula: str = "",
    help: str = "",
    source: str = "",
    *,
    alias: str | None = None,
    exclude: bool | None = None,
    exclude_if: Callable[[Any], bool] | None = None,
) -> FieldInfo:
    """The metadata of a field that pages and documents are generated from: ``p50: Annotated[float, quantity(...)]``.

    ``unit`` is the unit of the JSON value ("" for names and counts without unit); ``formula`` the equation or the
    place that decides the value; ``help`` one sentence for a tooltip and the glossary. ``alias`` is the name in JSON
    where it is another; a field to ``exclude`` stays out of JSON, always or
    where ``exclude_if`` says so of its value. A default stands behind the annotation, so that the
    type checker sees which fields are required.
    """
    extra: JsonDict = {"quantity": {"label": label, "unit": unit, "formula": formula, "source": source}}
    field: FieldInfo = Field(
        title=label, description=help, json_schema_extra=extra, alias=alias, exclude=exclude, exclude_if=exclude_if
    )
    return field


def is_empty(value: object) -> bool:
    """Whether a value is an empty tuple: what stays out of JSON then, as :func:`is_none`."""
    return value == ()


def is_none(value: object) -> bool:
    """Whether a value is none: what a field says of itself that stays out of JSON then."""
    return value is None


class Result(BaseModel):
    """Base of all results: frozen, keyword-only, no unknown fields. In JSON a field has its alias, where it has one."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), validate_by_name=True, serialize_by_alias=True
    )


class Estimate(Result):
    """A number with the ends of its interval. The field that holds it says which interval, and their unit."""

    value: Annotated[float, quantity("Value", formula="see the field that holds it", help="Central estimate.")]
    low: Annotated[float, quantity("Low", formula="see the field that holds it", help="Lower end.")]
    high: Annotated[
        float | None,
        quantity(
            "High", formula="see the field that holds it", help="Upper end; none where nothing bounds the number above."
        ),
    ]


PERCENTILES = "percentiles"
"""The field of :class:`WithPercentiles` that is one entry in JSON for each of them."""


class WithPercentiles(Result):
    """A result with a quantity at every percentile that ``stated`` says (:mod:`commandline.percentiles`).

    A subclass has a field ``percentiles``: a tuple of its values, in their order. In JSON each has a name of its own
    ("p95") in the place of the field.
    """

    stated: ClassVar[StatedBy]

    @classmethod
    def percents(cls) -> tuple[float, ...]:
        """The percentiles that are stated, rising."""
        return stated_by(cls.stated)

    @model_validator(mode="before")
    @classmethod
    def _together(cls, given: Any) -> Any:
        """What JSON has one by one, as the one field."""
        keys = [key_of(percent) for percent in cls.percents()]
        if not isinstance(given, dict) or PERCENTILES in given or not given.keys() >= set(keys):
            return given
        return {key: value for key, value in given.items() if key not in keys} | {
            PERCENTILES: tuple(given[key] for key in keys)
        }

    @model_serializer(mode="wrap")
    def _one_by_one(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return self._opened(write(self))

    @classmethod
    def _opened(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields with one entry for each percentile in place of all of them."""
        out: dict[str, Any] = {}
        for name, value in fields.items():
            out |= dict(zip(map(key_of, cls.percents()), value, strict=True)) if name == PERCENTILES else {name: value}
        return out

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        plain: Any = {name: part for name, part in core.items() if name != "serialization"}
        schema = handler.resolve_ref_schema(handler(plain))
        described = {key_of(percent): info for percent, info in cls.fields_of_percentiles()}
        each = {
            key: {**schema["properties"][PERCENTILES]["items"], "title": info.title, "description": info.description}
            | (info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {})
            for key, info in described.items()
        }
        schema["properties"] = cls._opened({**schema["properties"], PERCENTILES: each.values()})
        schema["required"] = list(cls._opened({**dict.fromkeys(schema["required"]), PERCENTILES: each}))
        return schema

    @classmethod
    def fields_of_percentiles(cls) -> Iterator[tuple[float, FieldInfo]]:
        """Each percentile with the field that JSON has for it: its label, and what it means."""
        whole = cls.model_fields[PERCENTILES]
        about: Any = whole.json_schema_extra
        meta = about["quantity"]
        for percent in cls.percents():
            help = f"{requests_below(percent)} of the requests are faster."
            info = quantity(name_of(percent), meta["unit"], meta["formula"], help)
            info.annotation = get_args(whole.annotation)[0]
            yield percent, info
