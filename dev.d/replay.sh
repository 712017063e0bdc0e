#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# replay.sh [--answers] [--limit N] [--variant NAME] FILE: feeds a recording (docs/recording.md) to
# the model and prints where the answers differ. --answers: only what a driver is told.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"

[[ $# -gt 0 ]] || die "replay wants a recording: ./dev replay [--answers] [--limit N] [--variant NAME] FILE"
file=${!#}
if [[ $file != -* ]]; then
  [[ -r $file && ! -d $file ]] || { printf 'replay: %s: cannot be read\n' "$file" >&2; exit 2; }
  file=$(readlink -f "$file")
  set -- "${@:1:$#-1}" "$file"
fi
need script build
(cd "$FREEHCA_ROOT" && step "replay: configure" cmake --preset host) || die "CMake fails"
(cd "$FREEHCA_ROOT" && step "replay: build" nice cmake --build --preset host --target freehca_replay) ||
  die "the program does not build"
program=$(find "$FREEHCA_ROOT/build/host" -type f -name freehca_replay -perm -u+x -print -quit)
case $file in
  *.xz) xz -dc "$file" | "$program" "${@:1:$#-1}" --name "$file" - ;;
  *) exec "$program" "$@" ;;
esac
