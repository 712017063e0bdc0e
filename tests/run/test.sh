#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# test.sh [TIER...]: runs the tiers, and sums everything up in one last line, "N passed, N failed, N
# skipped". Exit status: 0 when nothing failed, 1 when something did, 2 for a tier that does not
# exist. Tiers: unit model layering lint host cross fuzz trixie qom bare guest long; without one:
# lint host qom bare guest.
set -euo pipefail
here=$FREEHCA_ROOT/tests/run
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
show_help_if_asked "$@"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=tests/run/results.sh
. "$here/results.sh"

known="unit model layering lint host cross fuzz trixie qom bare guest long"
tiers=("$@")
[[ ${#tiers[@]} -gt 0 ]] || tiers=(lint host qom bare guest)
for tier in "${tiers[@]}"; do
  [[ " $known " == *" $tier "* ]] || { say "test: no tier '$tier'; there are: $known"; exit 2; }
done

need script
rm -rf "$FREEHCA_RESULTS"
find "$FREEHCA_ROOT/build/results" -maxdepth 1 -mtime +1 -name 'run-*' -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$FREEHCA_RESULTS"
: >"$FREEHCA_RESULTS/own.tsv"
: >"$FREEHCA_RESULTS/stages.tsv"

stage() {
  local name=$1 began status=0
  shift
  began=$(date +%s)
  "$@" || status=$?
  [[ $status -eq 0 ]] || record failed 0 "stage $name" "(its script ended with status $status)"
  printf '%s\t%s\n' "$(($(date +%s) - began))" "$name" >>"$FREEHCA_RESULTS/stages.tsv"
}

for tier in "${tiers[@]}"; do
  case $tier in
    # All that ctest knows: with sanitizers by clang, but for what the build as shipped by g++ alone
    # can tell.
    host)
      stage "install" "$here/install.sh" script build clang cross capture demo package lintian
      stage host "$here/preset.sh" host release all release_tests
      stage host-asan "$here/preset.sh" host-asan
      ;;
    unit | model | layering)
      stage "install" "$here/install.sh" script build clang cross capture
      stage "$tier" "$here/preset.sh" host "$tier"
      ;;
    lint)
      stage "install" "$here/install.sh" script build clang lint
      stage "lint" "$here/lint.sh"
      ;;
    cross)
      stage "install" "$here/install.sh" script build cross
      stage "cross" "$here/cross.sh"
      ;;
    fuzz)
      stage "install" "$here/install.sh" script build clang
      stage "fuzz" "$here/fuzz.sh"
      ;;
    trixie)
      stage "trixie" "$here/trixie.sh"
      ;;
    qom)
      stage "qom" "$here/qom.sh"
      ;;
    bare)
      stage "bare" "$here/bare.sh"
      ;;
    guest | long)
      if [[ $tier == long ]]; then
        stage "install" "$here/install.sh" script build clang cross capture
        stage host "$here/preset.sh" host
        check "release: -O3 compiles without warnings" "$here/release.sh"
        check "package: contents, programs, lintian" "$FREEHCA_ROOT/tests/run/package.py"
        check "demo: vfio-user" env MESSAGES=10 "$FREEHCA_ROOT/dev" demo --vfio-user
        stage host-tsan "$here/preset.sh" host-tsan threads
        stage cross "$here/cross.sh"
        # Builds of their own, for what rarely breaks: what fuzzers have found is done again by the
        # tier host.
        stage fuzz "$here/fuzz.sh"
        check "vfio-user: both ends are killed often" \
          "$FREEHCA_ROOT/tests/vfio_user/killed_often.py" \
          "$FREEHCA_ROOT/build/host/vfio_user/freehca-device" \
          "$FREEHCA_ROOT/build/host/vfio_host/hcactl-vfio-user"
        stage trixie "$here/trixie.sh"
        # Another build of what the tier bare boots, for caches that a device does not see.
        stage bare "$here/bare.sh" aarch64-incoherent
      fi
      stage "guest preparation" "$here/prepare_guest.sh"
      stage "$tier" "$FREEHCA_ROOT/tests/guest/run_cases.py" "$tier"
      [[ $tier == guest ]] || check "model page: whole" "$FREEHCA_ROOT/tests/model/model_page.py" \
        "$FREEHCA_ROOT/build/host/tests/model/freehca_model_tests" --whole
      ;;
  esac
done
exec "$here/summary.py" "$FREEHCA_RESULTS"
