#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# fuzz_corpus.sh [NAME...]: of all inputs that the fuzzers have learned and that the tree has, the
# few that cover as much: they become driver.corpus, model.corpus, vfio_user/server.corpus,
# vfio_user/client.corpus, fabric/fabric.corpus and face/face.corpus of tests/fuzz (fuzz_pack.py),
# which ./dev fuzz begins with and ./dev test replays.
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
[[ $# -gt 0 ]] || set -- driver model vfio_user/server vfio_user/client fabric/fabric face/face
for named in "$@"; do
  target=${named##*/} kept=tests/fuzz/$named.corpus scratch=build/fuzz/${named##*/}_merged
  fuzzer=build/fuzz/$(dirname "tests/fuzz/$named")/freehca_${target}_fuzz
  inputs=()
  [[ ! -d tests/fuzz/${named}_inputs ]] || inputs=("tests/fuzz/${named}_inputs")
  step "fuzz: build" nice cmake --build --preset fuzz --target "freehca_${target}_fuzz" || die "it does not build"
  rm -rf "$scratch"
  before=build/fuzz/${target}_corpus
  rm -rf "$before"
  [[ ! -e $kept ]] || dev.d/fuzz_pack.py unpack "$kept" "$before"
  mkdir -p "$scratch" "$before" "$FREEHCA_CACHE/fuzz/$target-2"
  # By edges alone: how often each was taken makes a corpus ten times as large.
  step "fuzz: corpus of the $target" "$fuzzer" -set_cover_merge=1 -max_len=512 -detect_leaks=0 -rss_limit_mb=4096 \
    -use_counters=0 "$scratch" "${inputs[@]}" "$before" "$FREEHCA_CACHE/fuzz/$target-2" ||
    die "fuzz: the inputs of the $target cannot be merged"
  # What is there by a name of its own need not be there twice.
  for input in "${inputs[@]}"; do
    for file in "$input"/*; do rm -f "$scratch/$(sha1sum <"$file" | cut -d' ' -f1)"; done
  done
  kib=$(find "$scratch" -type f -printf '%s\n' | awk '{ bytes += $1 } END { printf "%d", bytes / 1024 }')
  [[ $kib -le $most_kib ]] || die "fuzz: the corpus of the $target would have $kib KiB, more than $most_kib"
  dev.d/fuzz_pack.py pack "$kept" "$scratch"
  say "fuzz: corpus of the $target: $(dev.d/fuzz_pack.py count "$kept") inputs, $kib KiB"
done
