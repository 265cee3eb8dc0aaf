#!/bin/sh
# Make .venv ready, or do nothing when it is. With --missing: print the Debian packages that the
# chosen Python lacks, one a line, and change nothing.
#
# PYTHON names the Python to use. Without it: the first of the names below that is 3.10 to 3.13.
set -eu
cd "$(dirname "$0")/.."

names='python3 python3.12 python3.11 python3.13 python3.10'
inputs='requirements.lock requirements-triton.txt pyproject.toml tools/setup.sh tools/environment.py'

fits() {
    "$1" -I -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

identity() {
    "$1" -I -c 'import sys; print(sys.base_prefix, sys.version)'
}

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

choose() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "expected a Python 3.10 to 3.13, got PYTHON=$PYTHON" \
            "($("$PYTHON" --version 2>&1 || true))"
        chosen=$PYTHON
        return
    fi
    for chosen in $names; do
        if fits "$chosen"; then return; fi
    done
    fail "expected a Python 3.10 to 3.13 on the PATH, got none (tried $names);" \
        "install one, or name it: make setup PYTHON=/path/to/python3.12"
}

ready() {
    [ -x .venv/bin/python ] && [ -f .venv/ready ] && [ "$(cat .venv/ready)" = "$state" ] || return 1
    [ -z "${PYTHON:-}" ] || [ "$(identity "$PYTHON")" = "$(identity .venv/bin/python)" ]
}

# shellcheck disable=SC2086 # a list of words
state="$(cat $inputs | cksum) $(pwd -P)"
if [ "${1:-}" != --missing ] && ready; then exit 0; fi
choose
exec "$chosen" -I tools/environment.py --state "$state" "$@"
