#!/usr/bin/env bash
# Usage: deploy/install.sh FOLDER [WHEELHOUSE]
#
# Installs the product into a virtual environment that is never written to again: packages by their hashes, bytecode and the
# compiled simulator included, so that the first answer is warm on any machine of this kind. With a wheelhouse (see
# deploy/wheelhouse.sh) nothing is fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
wheelhouse=${2:-}

"${PYTHON:-python3}" -m venv "$target"
pip=("$target/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
[ -z "$wheelhouse" ] || pip+=(--no-index --find-links "$wheelhouse")
"${pip[@]}" --require-hashes -r deploy/requirements.lock
if [ -n "$wheelhouse" ]; then
    "${pip[@]}" --no-deps inference-sizing
else
    "${pip[@]}" --no-deps .
fi

# A layer of an image keeps whole seconds of a file's time; numba takes its compiled code for old where they differ.
find "$target" -name '*.py' -exec touch -d '2026-01-01 00:00:00 UTC' {} +
"$target/bin/python" -m compileall -q --invalidation-mode unchecked-hash "$target/lib" || true

# For any processor of the architecture, not for the one that builds: answers are the same, and take 5 to 15 % longer.
cd /
NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= "$target/bin/python" -c 'from sizing.planning.plan import warm_up; warm_up()'
