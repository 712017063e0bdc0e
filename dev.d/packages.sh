# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# Installs Debian packages, only when some are missing. Sourced, never run.

# packages_of GROUP...: the packages of the groups in packages.txt.
packages_of() {
  local group
  for group in "$@"; do
    sed -n "s/^$group: *//p" "$FREEHCA_ROOT/dev.d/packages.txt"
  done | tr ' ' '\n' | sort -u
}

packages_missing() {
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || printf '%s\n' "$package"
  done
}

# apt_get LABEL COMMAND...: a step that is a run of apt-get. While another process holds one of
# apt's locks (of the packages, of the lists, of the archive files), it waits, says so, and tries
# again; for half an hour at most.
apt_get() {
  local label=$1 log until held pause=${FREEHCA_LOCK_PAUSE:-5}
  shift
  log=$FREEHCA_LOGS/$(printf '%s' "$label" | tr -cs 'A-Za-z0-9._+-' '-').log
  until=$(($(date +%s) + 1800))
  until step "$label" "$@"; do
    held=$(grep -m 1 -E '^E: (Could not get lock|.*is another process using it)' "$log") || return 1
    if [[ $(date +%s) -ge $until ]]; then
      say "$label: the lock is still held after half an hour; end what holds it, then run this again: $held"
      return 1
    fi
    say "$label: waiting for another process that installs packages: ${held#E: }"
    sleep "$pause"
  done
}

# need GROUP...: makes sure that the packages of the groups are installed.
need() {
  local missing=() run=()
  command -v dpkg-query >/dev/null || die "this needs a Debian machine (dpkg is not here)"
  # shellcheck disable=SC2046
  mapfile -t missing < <(packages_missing $(packages_of "$@"))
  [[ ${#missing[@]} -eq 0 ]] && return 0
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "packages are missing and this is neither root nor is sudo here; as root: apt-get install ${missing[*]}"
    run=(sudo)
  fi
  run+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)
  say "installing ${#missing[@]} packages: ${missing[*]}"
  # An index that is missing or old names files that the archive no longer has: refresh and try
  # again.
  if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
    apt_get "apt-get update" "${run[@]}" apt-get update || true
  fi
  # The lock that dpkg and apt-get share, apt-get can wait for by itself: nobody comes between.
  local install=("${run[@]}" apt-get -o DPkg::Lock::Timeout=60 install -y --no-install-recommends "${missing[@]}")
  if ! apt_get "apt-get install" "${install[@]}"; then
    apt_get "apt-get update" "${run[@]}" apt-get update || true
    apt_get "apt-get install (second try)" "${install[@]}" ||
      die "the packages cannot be installed; by hand: apt-get install ${missing[*]}"
  fi
}
