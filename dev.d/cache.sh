# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# The cache outside the checkout. Sourced, never run.
# Rules: a finished thing appears under its final name by one rename; whatever is being made lies
# under a name that nobody looks up; only the holder of a lock makes things.

FREEHCA_CACHE=${FREEHCA_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/freehca}
export FREEHCA_CACHE

# cache_lock NAME: waits for, then holds, the lock until this process ends.
cache_lock() {
  mkdir -p "$FREEHCA_CACHE/locks"
  local fd
  exec {fd}>"$FREEHCA_CACHE/locks/$1"
  if ! flock -n "$fd"; then
    say "waiting for another run that works on '$1' in $FREEHCA_CACHE"
    flock "$fd"
  fi
}

# key_of: sixteen hex digits for what stands on standard input.
key_of() { sha256sum | cut -c 1-16; }

# files_key PATH...: a key over names and contents of files, and of all files below folders.
files_key() {
  find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum | key_of
}

# prune_old KEEP GLOB...: removes all but the KEEP most recently used of the paths.
prune_old() {
  local keep=$1
  shift
  # The names are made by us (no white space), so parsing ls is safe here.
  # shellcheck disable=SC2012
  ls -1dt "$@" 2>/dev/null | tail -n "+$((keep + 1))" | while IFS= read -r path; do rm -rf "$path"; done
}
