"""A folder is written only where nobody's work is lost, and a zip is the same every time."""

import io
import zipfile

import pytest

from sharing.errors import ForeignFolder
from sharing.manifests import write_folder, zipped
from sharing.manifests.bundle import INDEX
from tests.sharing.manifests.cases import written


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_new_folder_and_an_empty_one_are_written(tmp_path):
    write_folder(written("vllm"), tmp_path / "new" / "k8s")
    (tmp_path / "empty").mkdir()
    write_folder(written("vllm"), tmp_path / "empty")
    assert held(tmp_path / "new" / "k8s") == held(tmp_path / "empty") == written("vllm")


def test_an_earlier_export_is_replaced(tmp_path):
    write_folder(written("vllm"), tmp_path)
    write_folder(written("nim"), tmp_path)
    assert held(tmp_path) == written("nim")


def test_a_file_that_cannot_be_written_leaves_the_earlier_export(tmp_path):
    write_folder(written("vllm"), tmp_path)
    with pytest.raises(UnicodeEncodeError):
        write_folder({**written("nim"), "last.txt": "\ud800"}, tmp_path)
    assert held(tmp_path) == written("vllm")
    write_folder(written("nim"), tmp_path)
    assert held(tmp_path) == written("nim")


@pytest.mark.parametrize("spoil", ["foreign", "changed", "link", "folder", "index"])
def test_what_somebody_else_wrote_is_kept(tmp_path, spoil):
    folder = tmp_path / "k8s"
    write_folder(written("vllm"), folder)
    if spoil == "foreign":
        (folder / "notes.txt").write_text("mine")
    elif spoil == "changed":
        (folder / "kubernetes.yaml").write_text("image tag filled in")
    elif spoil == "link":
        (folder / "kubernetes.yaml").unlink()
        (folder / "kubernetes.yaml").symlink_to(tmp_path / "elsewhere")
    elif spoil == "folder":
        (folder / "charts").mkdir()
    else:
        (folder / INDEX).write_text("[1, 2")
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(ForeignFolder, match="name another folder"):
        write_folder(written("nim"), folder)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_or_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("")
    for name, why in (("link", "is a link"), ("file", "is a file")):
        with pytest.raises(ForeignFolder, match=why):
            write_folder(written("vllm"), tmp_path / name)
    assert held(tmp_path / "real") == {}


def test_the_zip_is_the_same_every_time_and_holds_everything():
    made = zipped(written("vllm"))
    assert made == zipped(dict(reversed(written("vllm").items())))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == written("vllm")
