#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# size.sh: how many lines the core has, and how many bytes of code at -Os on x86-64: of each module,
# of all, and of a program that links only bring-up and reliable connections.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
[[ $# == 0 ]] || die "size: no argument is known; it measures the core"
need script build
exec /usr/bin/python3 -B "$FREEHCA_ROOT/bench/size/size.py" "$FREEHCA_ROOT/build/size"
