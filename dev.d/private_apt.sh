# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# apt on lists of our own, below the cache: no root, no change to the system. Sourced, never run.
# Needs console.sh and cache.sh.

# private_apt_alone COMMAND...: while no other process changes these lists. The lock ends with the
# subshell.
private_apt_alone() { (cache_lock "apt-${PRIVATE_APT##*/}" && "$@"); }

# private_apt_use NAME [apt_sources.py options]: from here on, `private_apt` works on these sources.
private_apt_use() {
  PRIVATE_APT=$FREEHCA_CACHE/apt/$1
  shift
  mkdir -p "$PRIVATE_APT"/{lists/partial,archives/partial}
  private_apt_alone private_apt_sources "$@"
}

private_apt_sources() {
  : >"$PRIVATE_APT/empty"
  "$FREEHCA_ROOT/dev.d/apt_sources.py" "$@" >"$PRIVATE_APT/new.sources" || return 1
  if ! cmp -s "$PRIVATE_APT/new.sources" "$PRIVATE_APT/archive.sources"; then
    rm -f "$PRIVATE_APT/updated"
    mv "$PRIVATE_APT/new.sources" "$PRIVATE_APT/archive.sources"
  fi
}

# private_apt TOOL ARGUMENTS...: apt-get or apt-cache. The package status is an empty one, so that
# what is installed on this machine does not change what is chosen.
private_apt() {
  local tool=$1
  shift
  LC_ALL=C.UTF-8 "$tool" -q \
    -o Dir::Etc::SourceList="$PRIVATE_APT/archive.sources" \
    -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null \
    -o Dir::Etc::PreferencesParts=/dev/null \
    -o Dir::State::Lists="$PRIVATE_APT/lists" \
    -o Dir::State::Status="$PRIVATE_APT/empty" \
    -o Dir::State::Extended_States="$PRIVATE_APT/extended_states" \
    -o Dir::Cache="$PRIVATE_APT" \
    -o Dir::Cache::Archives="$PRIVATE_APT/archives" \
    -o Dir::Log=/dev/null \
    -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2 \
    -o APT::Install-Recommends=false -o APT::Get::List-Cleanup=true \
    "$@"
}

# private_apt_update [fresh]: gets the lists when they are missing or older than a day (always, with
# `fresh`). Of processes that want them at the same time, one gets them.
private_apt_update() { private_apt_alone private_apt_lists "$@"; }

private_apt_lists() {
  if [[ "${1-}" != fresh && -n "$(find "$PRIVATE_APT/updated" -mtime -1 2>/dev/null)" ]]; then
    return 0
  fi
  # apt-get update succeeds with a warning when an archive could not be reached: make that a
  # failure.
  private_apt apt-get update --error-on=any || return 1
  touch "$PRIVATE_APT/updated"
}
