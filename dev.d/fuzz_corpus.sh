#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz_corpus.sh: of all inputs that the fuzzers have learned and that the tree has, the few that
# cover as much: they become tests/fuzz/driver_corpus and tests/fuzz/model_corpus, which ./dev fuzz
# begins with.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
cd "$FREEHCA_ROOT"
most_kib=300
need script build clang
step "fuzz: configure" cmake --preset fuzz || die "CMake fails"
for target in driver model; do
  fuzzer=build/fuzz/tests/fuzz/freehca_${target}_fuzz scratch=build/fuzz/${target}_corpus kept=tests/fuzz/${target}_corpus
  step "fuzz: build" nice cmake --build --preset fuzz --target "freehca_${target}_fuzz" || die "it does not build"
  rm -rf "$scratch"
  mkdir -p "$scratch" "$kept" "$FREEHCA_CACHE/fuzz/$target-2"
  # By edges alone: how often each was taken makes a corpus ten times as large.
  step "fuzz: corpus of the $target" "$fuzzer" -set_cover_merge=1 -max_len=512 -detect_leaks=0 -rss_limit_mb=4096 \
    -use_counters=0 "$scratch" "tests/fuzz/${target}_inputs" "$kept" "$FREEHCA_CACHE/fuzz/$target-2" ||
    die "fuzz: the inputs of the $target cannot be merged"
  # What is there by a name of its own need not be there twice.
  for input in "tests/fuzz/${target}_inputs"/*; do rm -f "$scratch/$(sha1sum <"$input" | cut -d' ' -f1)"; done
  kib=$(find "$scratch" -type f -printf '%s\n' | awk '{ bytes += $1 } END { printf "%d", bytes / 1024 }')
  [[ $kib -le $most_kib ]] || die "fuzz: the corpus of the $target would have $kib KiB, more than $most_kib"
  rm -rf "$kept"
  mv "$scratch" "$kept"
  say "fuzz: corpus of the $target: $(find "$kept" -type f | wc -l) inputs, $kib KiB"
done
