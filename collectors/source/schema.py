"""The keys of SOURCE.yaml: where live data comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    field_validator,
    model_validator,
)

from collectors.errors import SourceError
from collectors.names import nearest
from collectors.prometheus.access import Access, Secret, Tls
from collectors.prometheus.address import check_url
from collectors.prometheus.promql import LABEL_NAME, LabelValue
from collectors.units import S_PER_DAY
from collectors.vocabulary import MetricCandidate, engine_vocabularies, engine_vocabulary
from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS
from commandline.foreign_text import shown

LONGEST_NAME = 200
"""Characters of a name that are compared with those that are known."""
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")


def _text(value: object) -> object:
    """Label values are text; YAML reads 0 and 1.5 as numbers."""
    if isinstance(value, bool):
        raise ValueError("write true and false in quotes")
    return str(value) if isinstance(value, int | float) else value


def _label_form(value: object) -> str:
    return "[values]" if isinstance(value, list) else "[value]"


def _secret_form(value: object) -> str:
    return "[elsewhere]" if isinstance(value, Mapping | SecretFrom) else "[secret]"


# A tag per form, chosen by looking at the value: an error then speaks of the form that was meant, and only of that.
Text = Annotated[str, Field(max_length=2000), BeforeValidator(_text)]
LabelValues = Annotated[
    Annotated[Text, Tag("[value]")] | Annotated[list[Text], Tag("[values]")], Discriminator(_label_form)
]
Labels = dict[str, LabelValues]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class SecretFrom(_Strict):
    """A secret that stands elsewhere: in an environment variable or in a file."""

    env: str | None = None
    file: Path | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SecretFrom:
        if (self.env is None) == (self.file is None):
            raise ValueError("give exactly one of env or file")
        return self


Header = Annotated[
    Annotated[SecretStr, Tag("[secret]")] | Annotated[SecretFrom, Tag("[elsewhere]")], Discriminator(_secret_form)
]


class Auth(_Strict):
    """Basic (``username`` and a password) or bearer (a token); secrets best from the environment or a file."""

    username: str | None = None
    password: SecretStr | None = None
    password_env: str | None = None
    password_file: Path | None = None
    token: SecretStr | None = None
    token_env: str | None = None
    token_file: Path | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Auth:
        password = [self.password, self.password_env, self.password_file]
        token = [self.token, self.token_env, self.token_file]
        if sum(x is not None for x in password) > 1 or sum(x is not None for x in token) > 1:
            raise ValueError("give the password or token once: as text, _env or _file")
        if any(token) and (self.username or any(password)):
            raise ValueError("give either username and password, or a token")
        if any(password) and not self.username:
            raise ValueError("a password needs a username")
        return self


class TlsFiles(_Strict):
    """Certificates, as files."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None


class _Endpoint(_Strict):
    auth: Auth = Auth()
    tls: TlsFiles = TlsFiles()
    headers: dict[str, Header] = {}
    timeout_s: float = Field(default=10.0, gt=0, le=300)
    allow_link_local: bool = False
    use_environment_proxy: bool = False

    @field_validator("headers")
    @classmethod
    def _header_names(cls, headers: dict[str, Any]) -> dict[str, Any]:
        for name in headers:
            if not HEADER_NAME.fullmatch(name):
                raise ValueError(f"“{shown(name)}” is not a header name")
        return headers

    def access(self, folder: Path) -> Access:
        """Credentials with files relative to ``folder``."""
        auth, tls = self.auth, self.tls
        headers = {}
        for name, given in self.headers.items():
            if isinstance(given, SecretStr):
                headers[name] = Secret(value=given.get_secret_value())
            else:
                headers[name] = Secret(env=given.env, file=_beside(folder, given.file))
        return Access(
            username=auth.username,
            password=_secret(auth.password, auth.password_env, _beside(folder, auth.password_file)),
            token=_secret(auth.token, auth.token_env, _beside(folder, auth.token_file)),
            headers=headers,
            tls=Tls(
                ca_file=_beside(folder, tls.ca_file),
                cert_file=_beside(folder, tls.cert_file),
                key_file=_beside(folder, tls.key_file),
            ),
        )


class PrometheusSource(_Endpoint):
    """Any Prometheus-compatible API. ``params`` go with every request (dedup, partial_response for Thanos)."""

    url: str
    params: dict[str, Text] = {}

    @model_validator(mode="after")
    def _usable(self) -> PrometheusSource:
        _check_address(self.url, self.allow_link_local)
        return self


class ScrapeSource(_Endpoint):
    """Metrics pages read directly. ``store`` is the file of the ring; it keeps ``keep_s`` and at most ``max_mb``."""

    targets: list[str] = Field(min_length=1, max_length=500)
    interval_s: float = Field(default=5.0, ge=0.2, le=600)
    store: Path | None = None
    keep_s: float = Field(default=S_PER_DAY, ge=60, le=90 * S_PER_DAY)
    max_mb: float = Field(default=256.0, ge=1, le=100_000)

    @model_validator(mode="after")
    def _usable(self) -> ScrapeSource:
        for target in self.targets:
            _check_address(target, self.allow_link_local)
        if len(set(self.targets)) < len(self.targets):
            raise ValueError("a target stands twice: it would be counted twice")
        return self


class Source(_Strict):
    """One source of live data and what of it belongs to one deployment."""

    schema_version: Literal[1]
    name: str = Field(default="live", min_length=1, max_length=200)
    prometheus: PrometheusSource | None = None
    scrape: ScrapeSource | None = None
    selector: Labels = {}
    engine: str | None = None
    gpu_selector: Labels | None = None
    window_s: float = Field(default=300.0, ge=5, le=30 * S_PER_DAY)
    metrics: dict[str, MetricCandidate] = {}
    folder: Path = Field(default=Path(), exclude=True, repr=False)

    @field_validator("selector", "gpu_selector")
    @classmethod
    def _labels(cls, labels: Labels | None) -> Labels | None:
        for name, value in (labels or {}).items():
            if not LABEL_NAME.fullmatch(name):
                raise ValueError(f"“{shown(name)}” is not a label name")
            if value == []:
                raise ValueError(f"{shown(name)} has an empty list of values")
        return labels

    @field_validator("engine")
    @classmethod
    def _engine(cls, name: str | None) -> str | None:
        if name is None:
            return None
        vocabulary = engine_vocabulary(name)
        if vocabulary is None:
            near = nearest(name[:LONGEST_NAME], engine_vocabularies())
            raise ValueError(f"unknown engine “{shown(name)}”" + (f": did you mean {near}?" if near else ""))
        return vocabulary.id

    @field_validator("metrics")
    @classmethod
    def _concepts(cls, metrics: dict[str, MetricCandidate]) -> dict[str, MetricCandidate]:
        for key, candidate in metrics.items():
            shape = candidate.kind in ("histogram", "mean")
            if (key in DISTRIBUTIONS and not shape) or (key in SCALARS and shape):
                wanted = "histogram or mean" if key in DISTRIBUTIONS else "gauge, counter, info or expr"
                raise ValueError(f"{key} needs {wanted}, not {candidate.kind}")
        every = (*DISTRIBUTIONS, *SCALARS)
        if unknown := [key for key in metrics if key not in every]:
            near = [nearest(key[:LONGEST_NAME], every) for key in unknown]
            hints = [
                f"“{shown(key)}”" + (f" (did you mean {one}?)" if one else "")
                for key, one in zip(unknown, near, strict=True)
            ]
            listed = "" if all(near) else f". There are {', '.join(every)}"
            raise ValueError(f"unknown quantity {', '.join(hints)}{listed}")
        return metrics

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if (self.prometheus is None) == (self.scrape is None):
            raise ValueError("give exactly one of prometheus or scrape")
        return self

    @property
    def labels(self) -> Mapping[str, LabelValue]:
        """The selector, as the query writer takes it."""
        return dict(self.selector)


def _secret(value: SecretStr | None, env: str | None, file: Path | None) -> Secret | None:
    if value is None and env is None and file is None:
        return None
    return Secret(value=value.get_secret_value() if value else None, env=env, file=file)


def _beside(folder: Path, file: Path | None) -> Path | None:
    return None if file is None else folder / file


def _check_address(url: str, allow_link_local: bool) -> None:
    try:
        check_url(url, allow_link_local=allow_link_local)
    except SourceError as error:
        raise ValueError(str(error)) from None
