#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# replay_recording.sh FILE: on the host, behind a case: replays the recording in FILE, which gzip
# has packed, by the program of the host build. There is to be no difference and no remark; and each
# of ten, when answers in it are changed.
set -euo pipefail
root=$(dirname "$0")/../..
program=$(find "$root/build/host" -type f -name freehca_replay -perm -u+x -print -quit)
[[ -n $program ]] || { echo "replay_recording: there is no freehca_replay in build/host" >&2; exit 1; }
status=0
told=$(gzip -dc "$1" | "$program" --name "the guest's recording" -) || status=$?
printf '%s\n' "$told"
if grep -q '^remark:' <<<"$told"; then
  echo "replay_recording: the model did not find all that it read, or complained" >&2
  status=1
fi
[[ $status -eq 0 ]] || exit "$status"
"$root/tests/recordings/planted_answers.py" "$1"
