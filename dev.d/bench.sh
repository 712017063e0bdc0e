#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# bench.sh WHAT [OPTION...]: builds and runs a measurement; the options are its own.
#   commands: what many firmware commands in flight bring, in process, in virtual time
#   context_memory: how closely lent memory follows the queue pairs that are alive, in process
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
cd "$FREEHCA_ROOT"
case ${1:-} in
  commands | context_memory) program=freehca_bench_$1 ;;
  '') die "bench: say which one: commands, context_memory" ;;
  *) die "bench: there is no measurement '$1'; there are: commands, context_memory" ;;
esac
what=$1
shift
need script build
step "bench: configure" cmake --preset host || die "CMake fails"
step "bench: build $program" nice cmake --build --preset host --target "$program" ||
  die "the program does not build"
exec "build/host/bench/$what/$program" "$@"
