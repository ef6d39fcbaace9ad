#!/usr/bin/env bash
# Usage: deploy/wheelhouse.sh FOLDER
#
# Everything that a machine without a network installs: the wheels of the lock file for this machine's Python and platform,
# the product's own, and the scripts. There: tar xf, then deploy/install.sh /opt/inference-sizing wheels
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
python=${PYTHON:-python3}
"$python" -m pip download --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-binary font-source-sans-pro \
    -r deploy/requirements.lock -d "$folder/wheels"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps -w "$folder/wheels" .
mkdir -p "$folder/deploy"
cp deploy/install.sh deploy/requirements.lock deploy/sbom.cdx.json deploy/LICENSES.md "$folder/deploy/"
(cd "$folder" && sha256sum wheels/* deploy/* >SHA256SUMS)
