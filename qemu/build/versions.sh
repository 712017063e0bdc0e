# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# Which version of QEMU is installed, and of which version there are both a package and its source.
# Sourced, never run. Needs cache.sh.

# source_version VERSION: the version of the source that a package of this version was built from.
# A package that Debian only compiled again, from the same source, has +bN at its end.
source_version() { sed -E 's/\+b[0-9]+$//' <<<"$1"; }

# installed_version PACKAGE: nothing and status 1 where it is not installed.
installed_version() {
  local status version
  read -r status version < <(dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null) || return 1
  [[ $status == installed ]] || return 1
  printf '%s\n' "$version"
}

# qemu_packages_installed: the packages of QEMU's source that have to be of one version.
qemu_packages_installed() {
  local package
  for package in $(dpkg-query -W -f '${Package} ${db:Status-Status} ${source:Package}\n' 'qemu-*' 2>/dev/null |
    sed -n 's/ installed qemu$//p'); do
    printf '%s\n' "$package"
  done
}

# matching_version INSTALLED: from the standard input, a line each: "package VERSION" for a package
# that can be installed, "source VERSION" for a source that can be had. Prints the newest package
# whose source is among them and that is not older than the one which is installed. A system's QEMU
# is never replaced by an older one.
matching_version() {
  local installed=$1 kind version packages=() best='' sources=' '
  while read -r kind version; do
    case $kind in
      package) packages+=("$version") ;;
      source) sources+="$version " ;;
    esac
  done
  for version in "${packages[@]}"; do
    [[ $sources == *" $(source_version "$version") "* ]] || continue
    dpkg --compare-versions "$version" ge "$installed" || continue
    [[ -z $best ]] || dpkg --compare-versions "$version" gt "$best" || continue
    best=$version
  done
  [[ -n $best ]] && printf '%s\n' "$best"
}

# objects_key GLUE ARCHIVE PROGRAM...: the key of the shared objects that are linked of the glue
# with the key GLUE and of ARCHIVE, for the QEMUs PROGRAM.... It depends on every byte of these, so
# no object that was linked for one QEMU is taken for another.
objects_key() {
  local glue=$1 archive=$2
  shift 2
  {
    printf '%s\n' "$glue"
    sha256sum <"$archive"
    sha256sum "$@"
  } | key_of
}
