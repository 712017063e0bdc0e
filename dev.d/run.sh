#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# run.sh [OPTION...] -- PROGRAM [ARGUMENT...]: builds the launcher and the preloaded library, and
# becomes the RDMA program on freehca's driver. OPTION: as freehca-run's (freehca-run --help).
#   --fabric NAME           processes of one fabric reach each other
#   --capture FILE          packets of the process's port, as pcap
#   --counters FILE         the adapter's counters when the process ends
#   --list                  shows this user's fabrics, their processes and addresses; no program
#   --json                  the list, and errors of the launcher, as JSON on stdout
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"

[[ " $* " == *" -- "* || " $* " == *" --list "* || " $* " == *" --version "* ]] || {
  printf 'run: no program is named: ./dev run [OPTION...] -- PROGRAM [ARGUMENT...]\n' >&2
  exit 2
}
need script build
# The program starts in the folder that ./dev was called from, so only these two change it.
(cd "$FREEHCA_ROOT" && step "run: configure" cmake --preset host) || die "CMake fails"
(cd "$FREEHCA_ROOT" &&
  step "run: build" nice cmake --build --preset host --target freehca-run freehca-verbs) ||
  die "the launcher and its library do not build"
exec "$FREEHCA_ROOT/build/host/ibverbs/run/freehca-run" "$@"
