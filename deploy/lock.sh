#!/usr/bin/env bash
# Usage: deploy/lock.sh
#
# Writes what a deployment installs, with the hashes of every platform (requirements.lock), the bill of materials of it
# (sbom.cdx.json, CycloneDX 1.6), and under which licences it comes (LICENSES.md).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
tools=$work/tools/bin
"$tools/python" -m pip install --quiet --disable-pip-version-check -r deploy/tools.txt

"$tools/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    requirements.txt requirements-postgres.txt requirements-login.txt requirements-api.txt requirements-mcp.txt \
    -o "$work/requirements.lock"
{
    echo "# Written by make lock from requirements.txt and its groups postgres, login, api and mcp; do not edit."
    cat "$work/requirements.lock"
} >deploy/requirements.lock

python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --require-hashes -r deploy/requirements.lock
"$tools/cyclonedx-py" environment --output-reproducible --sv 1.6 -o deploy/sbom.cdx.json "$work/venv"
{
    echo "# Licences of what a deployment installs"
    echo
    echo "Written by \`make lock\` from what the packages state; the product's own is in [LICENSE](../LICENSE)."
    echo
    "$tools/pip-licenses" --python "$work/venv/bin/python" --from=mixed --order=name --format=markdown --with-urls
} >deploy/LICENSES.md
