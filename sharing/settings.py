"""What whoever runs the product can set: environment variables, and the folder of files such as access.yaml.

One type holds every variable with its default, unit and meaning; :func:`read_settings` refuses one that is misspelt.
"""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

_ROOT = Path(__file__).parents[1]

IS_INSTALLED = (_ROOT / "ui" / "dashboard").is_dir()
"""Whether this is the installed package: only the wheel has this folder (pyproject.toml)."""

SETTINGS = Path() if IS_INSTALLED else _ROOT
"""Their folder: that of app.py in a checkout; of the installed package, which an update replaces, the folder that it is
started in."""

PREFIXES = ("SIZING_", "SHARING_", "LIVE_")
"""How the names of our variables begin: one that begins so and is not known is a mistake."""

_OF_KUBERNETES = re.compile(r"_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)")
"""What Kubernetes sets for every service, one that is called sizing, too."""


def _listed(value: object) -> object:
    return [part for part in re.split(r"[\s,]+", value) if part] if isinstance(value, str) else value


def _is_name(name: str) -> str:
    if not re.fullmatch(r"(?=.{1,253}$)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name):
        raise ValueError(f"{name[:80]} is no name of a server: write it without a scheme and a port")
    return name.lower()


def _is_network(text: object) -> object:
    if isinstance(text, str):
        try:
            return ip_network(text)
        except ValueError:
            raise ValueError(f"{text[:80]} is no network such as 10.0.0.0/8") from None
    return text


def _if_any(value: object) -> object:
    return None if value == "" else value


Name = Annotated[str, BeforeValidator(_is_name)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_is_network)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(_listed)]
Number = Annotated[int | None, BeforeValidator(_if_any)]


def _variable(name: str, default: Any, meaning: str, *, unit: str = "", **limits: Any) -> Any:
    return Field(default=default, alias=name, description=meaning, json_schema_extra={"unit": unit}, **limits)


class Settings(BaseModel):
    """Every environment variable of the product (docs/CONFIGURATION.md is written from here)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hosts: Names = _variable(
        "SIZING_HOSTS",
        (),
        "Names by which others call the dashboard, with commas between them. Requests to any other name than these, "
        "that of `redirect_uri` and `localhost` are refused.",
    )
    without_login: Literal["yes", "no"] = _variable(
        "SIZING_WITHOUT_LOGIN",
        "no",
        "`yes` lets the dashboard start where others reach it and nobody has to log in: whoever reaches it sees, "
        "changes and deletes everything.",
    )
    probes: Networks = _variable(
        "SIZING_PROBES",
        (),
        "Networks beside this machine that may ask `/metrics`, `/_stcore/metrics` and `/_stcore/script-health-check`, "
        "such as `10.0.0.0/8`; never through a proxy.",
    )
    log: Literal["text", "json"] = _variable(
        "SIZING_LOG",
        "text",
        "Form of the log on standard error: `text` tells warnings and errors; `json` a line for each record, runs of "
        "pages and the audit log among them, with the request and a digest of the session.",
    )
    upload_mb: int = _variable(
        "SIZING_UPLOAD_MB", 192, "What the files of one session may have together.", unit="MB", ge=1, le=10_000
    )
    uploads_mb: int = _variable(
        "SIZING_UPLOADS_MB", 1024, "What the files of all sessions may have together.", unit="MB", ge=1, le=1_000_000
    )
    workers: Number = _variable(
        "SIZING_WORKERS",
        None,
        "Processes that compute plans and simulations beside the one that serves pages, each of some 250 MB. Empty: "
        "one for each core that this process may use, at most 8, and none where that is one. `0`: pages and plans "
        "share one core. Simulations have one less, so that plans go on, and with one or none run beside the pages.",
        unit="processes",
        ge=0,
        le=256,
    )
    plan_seconds: int = _variable(
        "SIZING_PLAN_SECONDS",
        60,
        "How long a worker may take for one plan; then it is ended, and the page says so.",
        unit="s",
        ge=1,
        le=3600,
    )
    simulation_seconds: int = _variable(
        "SIZING_SIMULATION_SECONDS",
        300,
        "How long one simulation on Size may take; then it is ended, and the page says so.",
        unit="s",
        ge=1,
        le=3600,
    )
    plans_per_minute: int = _variable(
        "SIZING_PLANS_PER_MINUTE",
        300,
        "Plans that may be computed for one session within a minute, those beside its scenario (Compare, Cost, What "
        "if), simulations and what Explore works out included; answers that are known already do not count.",
        unit="plans",
        ge=1,
        le=100_000,
    )
    sessions: int = _variable(
        "SIZING_SESSIONS",
        200,
        "Browsers that may be connected at a time; who comes then is told to try again later.",
        unit="sessions",
        ge=1,
        le=100_000,
    )
    sessions_per_address: int = _variable(
        "SIZING_SESSIONS_PER_ADDRESS",
        100,
        "The same of one address (of IPv6: a /64). Behind a proxy that is the address it names.",
        unit="sessions",
        ge=1,
        le=100_000,
    )
    database: str = _variable(
        "SHARING_DATABASE",
        "",
        "The library: path of an SQLite file, or `postgresql://user:password@host/database`. Empty: a file of the user "
        "who runs the process.",
    )
    access: str = _variable(
        "SHARING_ACCESS",
        "",
        "Path of the file of rules ([ACCESS.md](ACCESS.md)). Empty: `access.yaml` beside `app.py`.",
    )
    audit: str = _variable(
        "SHARING_AUDIT",
        "",
        "Path of the file to whose end every act is written as a line of JSON: logins, reads of frozen links, exports, "
        "writes, changes of a role. What cannot be written down is not done.",
    )
    brand: str = _variable("SHARING_BRAND", "", "Path of the file with the look of reports ([REPORTS.md](REPORTS.md)).")
    sources: str = _variable(
        "LIVE_SOURCES", "", "Folder of source files ([LIVE.md](LIVE.md)). Empty: `sources` beside `app.py`."
    )
    typed_sources: str = _variable(
        "LIVE_TYPED_SOURCES",
        "",
        "Who may type addresses that this server reads: `off` nobody, `viewers` everybody who may see Live. Empty: "
        "with a login editors and admins, without one whoever uses it.",
    )


class InvalidSettings(ValueError):
    """Environment variables that cannot be used; one sentence per problem, each on a line."""


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings as the environment has them. Raises InvalidSettings, for a variable that is misspelt as well."""
    known = variables()
    ours = [name for name in environ if name.startswith(PREFIXES) and not _OF_KUBERNETES.search(name)]
    problems = [_unknown(name, known) for name in sorted(ours) if name not in known]
    try:
        settings = Settings.model_validate({name: environ[name].strip() for name in known if name in environ})
    except ValidationError as invalid:
        problems += [f"{one['loc'][0]}: {one['msg'].removeprefix('Value error, ')}." for one in invalid.errors()]
        raise InvalidSettings("\n".join(dict.fromkeys(problems))) from None
    if problems:
        raise InvalidSettings("\n".join(problems))
    return settings


def variables() -> Mapping[str, str]:
    """The field of every variable by the variable's name."""
    return {field.alias: name for name, field in Settings.model_fields.items() if field.alias}


def _unknown(name: str, known: Mapping[str, str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"{name} is no setting of this product" + (f": did you mean {near[0]}?" if near else ".")
