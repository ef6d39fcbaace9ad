"""Who may do what: roles, the file of rules, what a login provider says, and that nothing is written past them."""

import ast
import inspect
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from sharing.access import Actor, Right, Role, may
from sharing.access.identity import claim_values, ends_at, name_of, verified_email
from sharing.access.roles import LEAST
from sharing.access.rules import Rules, read_rules
from sharing.author import owner
from sharing.errors import InvalidRules, NotAllowed
from sharing.library import Library
from sharing.library.records import ScenarioDraft, ScenarioQuery, Version
from tests.sharing.test_library import draft
from tests.tools.source_files import sources

ROLES = (None, *Role)
WRITES = {
    "add": (Right.SAVE, lambda library, by: library.add(draft(), by=by)),
    "save": (Right.SAVE, lambda library, by: library.save(1, 1, draft("changed"), by=by)),
    "duplicate": (Right.SAVE, lambda library, by: library.duplicate(1, name="copy", by=by)),
    "delete": (Right.DELETE, lambda library, by: library.delete(1, 1, by=by)),
    "restore": (Right.RESTORE, lambda library, by: library.restore(2, 2, by=by)),
    "purge": (Right.PURGE, lambda library, by: library.purge(2, by=by)),
}
"""Every method of the library that writes, the right it needs, and a call of it."""
ALLOWED = {
    None: set(),
    Role.VIEWER: {Right.READ},
    Role.EDITOR: {Right.READ, Right.SAVE, Right.DELETE, Right.SHARE, Right.REVOKE, Right.CONNECT},
    Role.ADMIN: set(Right),
}
CLAIMS = {"email": "Ann@Acme.com", "email_verified": True, "sub": "17"}


@pytest.mark.parametrize(("role", "right"), list(product(ROLES, Right)))
def test_what_each_role_may(role: Role | None, right: Right) -> None:
    assert may(role, right) == (right in ALLOWED[role])


def test_every_write_of_the_library_is_in_the_table() -> None:
    methods = inspect.getmembers(Library, inspect.isfunction)
    writes = {name for name, method in methods if "by" in inspect.signature(method).parameters and name != "writing"}
    assert writes == WRITES.keys()


@pytest.mark.parametrize(("write", "role"), list(product(WRITES, ROLES)))
def test_the_library_refuses_what_a_role_may_not(library: Library, write: str, role: Role | None) -> None:
    library.add(draft(), by=owner())
    library.add(draft(), by=owner())
    library.delete(2, 1, by=owner())
    right, call = WRITES[write]
    before = kept(library)
    if may(role, right):
        call(library, Actor(name="bob", role=role))
        assert kept(library) != before
        return
    with pytest.raises(NotAllowed, match=f"may {right.value}"):
        call(library, Actor(name="bob", role=role))
    assert kept(library) == before


def kept(library: Library) -> list[tuple[Version, ...]]:
    """The histories of all scenarios, deleted ones included."""
    entries = (entry for deleted in (False, True) for entry in library.search(ScenarioQuery(deleted=deleted)).entries)
    return [library.history(entry.id) for entry in entries]


def test_nothing_is_written_past_the_check() -> None:
    """Only ``Library.writing`` does; a migration is of no user, whoever holds a link has no role, all may log out."""
    assert {source.path for source in sources() if source.package == "sharing" and writes(source.tree)} == {
        "sharing/library/database.py",
        "sharing/links/holder.py",
        "sharing/library/logins.py",
        "sharing/library/store.py",
    }
    store = next(source for source in sources() if source.path == "sharing/library/store.py")
    assert writes(store.tree) == 1


def writes(tree: ast.Module) -> int:
    """How often a module opens a writing transaction of a database itself."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return sum(call.func.attr == "writing" and not (call.args or call.keywords) for call in calls)


def test_every_write_asks_for_the_right_of_its_kind() -> None:
    """All of the package: what is new here has to be added, with a test of who may."""
    asked = {
        (source.path, function.name): right
        for source in sources()
        if source.package == "sharing"
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef)
        for right in rights_asked(function)
    }
    assert asked == {
        **{
            ("sharing/library/store.py", name): right.name for name, (right, _) in WRITES.items() if name != "duplicate"
        },
        ("sharing/bonds/store.py", "bind"): "SAVE",
        ("sharing/bonds/store.py", "keep"): "SAVE",
        ("sharing/bonds/store.py", "accept"): "SAVE",
        ("sharing/bonds/store.py", "undo"): "SAVE",
        ("sharing/links/store.py", "make"): "SHARE",
        ("sharing/links/store.py", "revoke"): "REVOKE",
    }


def rights_asked(function: ast.FunctionDef) -> list[str]:
    """The rights of the writing transactions that a function opens: ``writing(by, Right.SAVE)``."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    opened = [call for call in calls if call.func.attr == "writing" and len(call.args) == 2]
    return [call.args[1].attr for call in opened]


def test_a_write_past_the_check_would_be_seen() -> None:
    assert writes(ast.parse("def f(self):\n    with self.database.writing() as connection:\n        pass"))
    assert not writes(ast.parse("with self.writing(by, Right.SAVE) as (connection, signed):\n    pass"))


def test_every_right_belongs_to_a_role() -> None:
    assert LEAST.keys() == set(Right)


def test_roles_by_address_domain_and_claim() -> None:
    rules = Rules.model_validate(
        {
            "claim": "groups",
            "viewer": {"domains": ["Acme.com"]},
            "editor": {"claims": ["sizing-editors"]},
            "admin": {"emails": ["ann@acme.com"]},
        }
    )
    assert rules.role_of(CLAIMS) is Role.ADMIN
    assert rules.role_of(CLAIMS | {"email": "bob@acme.com"}) is Role.VIEWER
    assert rules.role_of(CLAIMS | {"email": "bob@acme.com", "groups": ["sizing-editors", 7]}) is Role.EDITOR
    assert rules.role_of({"sub": "1", "groups": "sizing-editors"}) is Role.EDITOR
    for stranger in ("eve@notacme.com", "eve@acme.com.evil.org", "eve@sub.acme.com", "acme.com", ""):
        assert rules.role_of(CLAIMS | {"email": stranger}) is None
    assert rules.role_of({}) is None
    assert Rules(others="viewer").role_of({}) is Role.VIEWER


@pytest.mark.parametrize("verified", [False, None, "false", 0, "yes", 1.5])
def test_an_address_that_nobody_verified_gives_no_role(verified: object) -> None:
    rules = Rules.model_validate({"admin": {"emails": ["ann@acme.com"], "domains": ["acme.com"]}})
    assert rules.role_of(CLAIMS | {"email_verified": verified}) is None
    assert rules.role_of({"email": "ann@acme.com"}) is None
    assert verified_email(CLAIMS | {"email_verified": verified}) == ""
    assert name_of(CLAIMS | {"email_verified": verified}).startswith("#")


def test_nobody_can_take_the_name_of_another() -> None:
    ann = name_of(CLAIMS)
    assert ann == "Ann@Acme.com"
    posing = {"sub": "18", "iss": "https://login", "name": ann, "preferred_username": ann, "email": ann}
    assert name_of(posing).startswith("Ann@Acme.com #")
    assert name_of(posing) != name_of(posing | {"sub": "19"})
    assert len(name_of(posing | {"preferred_username": "x\n" * 500})) <= 120
    assert name_of(posing | {"preferred_username": "a\nb"}).isprintable()


def test_a_claim_by_its_path_or_by_a_name_with_dots() -> None:
    nested = {"realm_access": {"roles": ["editor"]}, "https://acme.com/roles": ["viewer"]}
    assert claim_values(nested, "realm_access.roles") == ("editor",)
    assert claim_values(nested, "https://acme.com/roles") == ("viewer",)
    for path in ("realm_access", "realm_access.roles.more", "nothing", "realm_access.nothing"):
        assert claim_values(nested, path) == ()


def test_a_login_ends_when_the_provider_says_or_so_long_after_it() -> None:
    claims = {"iat": 1_000_000, "exp": 1_000_600}
    assert ends_at(claims, None) == datetime.fromtimestamp(1_000_600, UTC)
    assert ends_at(claims, 60.0) == datetime.fromtimestamp(1_003_600, UTC)
    for unknown in ({}, {"exp": "soon"}, {"exp": True}, {"exp": float("nan")}, {"exp": -1}):
        assert ends_at(unknown, None).year == 1
    assert ends_at({"exp": 1_000_600}, 60.0).year == 1


def test_pages_of_a_role() -> None:
    rules = Rules.model_validate({"viewer": {"pages": ["home", "scenarios"]}})
    assert [rules.shows(Role.VIEWER, page) for page in ("home", "live")] == [True, False]
    assert rules.shows(Role.EDITOR, "live")
    assert not rules.shows(None, "home")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no keys"),
        ("[1]", "holds no keys"),
        ("a: [", "is not YAML"),
        ("a: !!python/object:os.system x", "is not YAML"),
        ("owner: {}", "owner: Extra inputs"),
        ("admin: {emails: [ann]}", "is no e-mail address"),
        ("admin: {emails: ['@acme.com']}", "is no e-mail address"),
        ("admin: {domains: ['']}", "admin.domains.0"),
        ("admin: {domains: ['ann@acme.com']}", "is no domain"),
        ("admin: {domains: [com]}", "is no domain"),
        ("others: editor", "others"),
        ("claim: ''", "claim"),
        ("session_minutes: 0", "session_minutes"),
    ],
)
def test_a_file_of_rules_that_cannot_be_used(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(content)
    with pytest.raises(InvalidRules, match=problem):
        read_rules(file)


def test_a_file_of_rules(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("admin: {emails: [' Ann@Acme.com ']}\nask: it@acme.com\n")
    assert read_rules(file).admin.emails == ("ann@acme.com",)
    with pytest.raises(InvalidRules, match="cannot be read"):
        read_rules(tmp_path / "none.yaml")


def test_who_acts_is_kept_in_the_history(library: Library) -> None:
    kept = library.add(ScenarioDraft(scenario=draft().scenario), by=Actor(name="bob@acme.com", role=Role.EDITOR))
    assert kept.author == "bob@acme.com"
