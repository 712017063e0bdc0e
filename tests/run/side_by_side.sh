# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=bash
# Commands that each keep one processor busy run side by side, as many as there are processors; or
# as many as SIDE_BY_SIDE says, where they wait for part of their time. Sourced, never run.

SIDE_BY_SIDE=$(nproc)
side_by_side_status=0
end_jobs() {
  local job
  for job in $(jobs -p); do kill -TERM -- "-$job"; done
  exit 130
}
trap end_jobs INT TERM HUP

# side_by_side COMMAND...: starts it once there is room for it.
side_by_side() {
  while [[ $(jobs -rp | wc -l) -ge $SIDE_BY_SIDE ]]; do wait -n || side_by_side_status=1; done
  # In a process group of its own, which ends when the script does. Only here: what else the script
  # starts in the background is no group's leader.
  set -m
  "$@" &
  set +m
}

# all_done: waits for them; status 1 when one of them failed.
all_done() {
  local job
  for job in $(jobs -p); do wait "$job" || side_by_side_status=1; done
  return "$side_by_side_status"
}
