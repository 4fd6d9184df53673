# SPDX-License-Identifier: Apache-2.0
# Functions for scripts that try Edgewise in a clean Debian 12. A script sources this file, makes a system in the folder
# $root, and runs commands there. It needs root, debootstrap, systemd-nspawn (the Debian package systemd-container) and
# a mirror of Debian.

say() { echo "$(basename "$0"): $*"; }
fail() {
  say "$*" >&2
  exit 1
}

require_tools() {
  local tool
  for tool in debootstrap systemd-nspawn "$@"; do
    command -v "$tool" >/dev/null || fail "$tool is not installed, needs it"
  done
}

# Installs a clean system into a folder that does not exist yet, from the mirror of this machine if it has one of Debian
# 12: make_base FOLDER PACKAGE,…
make_base() {
  local log mirror
  say "installs a clean system"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' |
    head -n 1) || true
  log=$(debootstrap --variant=minbase "--include=$2" bookworm "$1" ${mirror:+"$mirror"}) || {
    tail <<<"$log" >&2
    rm -rf "$1"
    fail "debootstrap ended with an error"
  }
}

# Runs a command in the system while it is not booted.
inside() {
  systemd-nspawn --quiet --register=no --keep-unit --directory="$root" --resolv-conf=copy-host --pipe \
    --setenv=DEBIAN_FRONTEND=noninteractive "$@" 2> >(grep --line-buffered -v '^Attempted to remove disk file system' >&2)
}

# Installs packages, or files of packages, in the system.
install_packages() {
  local log
  log=$(inside /bin/sh -ec "apt-get -q update && apt-get -q -y --no-install-recommends install $*" 2>&1) || {
    tail -n 30 <<<"$log" >&2
    fail "apt-get cannot install $*"
  }
}
