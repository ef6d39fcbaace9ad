#!/usr/bin/env bash
# Installs the real programs that some tests talk to, where this may be done: Debian or Ubuntu, as root. Elsewhere it says
# what to install. It never fails: a test that misses its program is skipped and listed, and with CI=true a skip fails.
set -uo pipefail

have_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable ||
        [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]
}
have_prometheus() { command -v prometheus; }
# Debian keeps the server's programs out of PATH, one folder a version.
have_postgresql() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }
# The part that computes workbooks, without windows: 90 MB, half a minute.
have_libreoffice-calc-nogui() { command -v soffice || [ -x /Applications/LibreOffice.app/Contents/MacOS/soffice ]; }
# The part that draws slides: 15 MB. What draws pages of a PDF: 2 MB.
have_libreoffice-impress-nogui() {
    ls /usr/lib*/libreoffice/program/libsdlo.so || [ -x /Applications/LibreOffice.app/Contents/MacOS/soffice ]
}
have_poppler-utils() { command -v pdftoppm; }
# Two replicas behind the proxy that is deployed; the chart is rendered by the engine of its templates.
have_nginx-light() { command -v nginx || [ -x /usr/sbin/nginx ]; }
have_golang-go() { command -v go; }
have_golang-github-masterminds-sprig-dev() { [ -d /usr/share/gocode/src/github.com/Masterminds/sprig ]; }

missing=()
for program in chromium prometheus postgresql libreoffice-calc-nogui libreoffice-impress-nogui poppler-utils nginx-light golang-go \
    golang-github-masterminds-sprig-dev; do
    "have_$program" >/dev/null 2>&1 || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "Some tests need programs that are not installed: ${missing[*]}. They will be skipped. To install:"
    echo "  Debian, Ubuntu:  sudo apt-get install --no-install-recommends ${missing[*]}"
    echo "  macOS:           brew install prometheus postgresql@17 poppler; brew install --cask google-chrome libreoffice"
    exit 0
fi

# The tests start their own servers on free ports. Debian would start one of each at installation; this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi

install() {
    # Waits for another apt; recommended packages would bring a node exporter and a desktop's portal.
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$1" </dev/null >/dev/null
}

updated=
echo "Installing ${missing[*]} for the tests."
for program in "${missing[@]}"; do
    # A fresh container has no package lists, and old lists name versions that are gone.
    if ! install "$program" 2>/dev/null; then
        [ -n "$updated" ] || apt-get update -qq -o DPkg::Lock::Timeout=300 </dev/null
        updated=yes
        install "$program"
    fi
    if ! "have_$program" >/dev/null 2>&1; then
        echo "Could not install $program: its tests will be skipped."
        [ "$program" != chromium ] || echo "Ubuntu has Chromium only as a snap: install google-chrome from its .deb instead."
    elif command -v systemctl >/dev/null; then
        # Nor may they start with the machine.
        systemctl disable "$program" >/dev/null 2>&1 || true
    fi
done
exit 0
