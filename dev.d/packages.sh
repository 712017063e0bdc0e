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
  # An index that is missing or old names files that the archive no longer has: refresh and try again.
  if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
    step "apt-get update" "${run[@]}" apt-get update || true
  fi
  local install=("${run[@]}" apt-get install -y --no-install-recommends "${missing[@]}")
  if ! step "apt-get install" "${install[@]}"; then
    step "apt-get update" "${run[@]}" apt-get update || true
    step "apt-get install (second try)" "${install[@]}" ||
      die "the packages cannot be installed; by hand: apt-get install ${missing[*]}"
  fi
}
