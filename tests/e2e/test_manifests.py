"""Manifests in a browser: the file that is downloaded holds what deploys the plan."""

import zipfile
from pathlib import Path

import yaml

from tests.e2e.conftest import OpenPage


def test_the_zip_deploys_the_plan_on_the_page(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("size?isl=3500&osl=500&rps=12&gpu=H100+SXM5+80GB&engine=vLLM&view=Export")
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Manifests (zip)").click()
    assert download.value.suggested_filename.endswith("-manifests.zip")
    path = tmp_path / "manifests.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        readme = archive.read("README.md").decode()
        (deployment,) = (
            one
            for one in yaml.safe_load_all(archive.read("kubernetes.yaml"))
            if one["kind"] in ("Deployment", "LeaderWorkerSet")
        )
    assert f"{deployment['spec']['replicas']} instance" in readme
