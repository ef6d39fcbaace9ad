"""Deployment manifests of the plan on the page, as one zip."""

from sharing.document import file_stem
from ui.library.exported import exported
from ui.shell import draw_download
from ui.state import FormAnswer


def draw_manifests(answer: FormAnswer, *, key: str = "get_manifests") -> None:
    """A button that makes and downloads them; none where the plan deploys nothing."""
    if answer.plan.deployment is None:
        return
    draw_download(
        "Manifests (zip)",
        exported("manifests", lambda: manifests_zip(answer)),
        f"{file_stem(answer.scenario.name)}-manifests.zip",
        "application/zip",
        key=key,
        icon="deployed_code",
        help="Kubernetes, Helm, KServe, llm-d, Dynamo, Compose, alerts, dashboard, benchmarks: with the arguments that "
        "the plan assumed; README.md in it says what was left out and why. No prices are in it.",
    )


def manifests_zip(answer: FormAnswer) -> bytes:
    """All files of the plan; the same answer makes the same bytes."""
    from sharing.manifests import manifests, zipped

    return zipped(manifests(answer))
