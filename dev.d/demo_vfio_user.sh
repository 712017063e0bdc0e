#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# demo_vfio_user.sh: builds freehca-device, which is the modelled adapter in a process of its own,
# and hcactl-vfio-user, which is our driver in another process. hcactl-vfio-user drives the adapter.
# The script compares the counters of both. It needs a compiler and Debian's -dev packages. It needs
# no guest and no rights of root.
# FREEHCA_DEMO_BUILD=FOLDER: a build folder that has both programs. Nothing is built.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"
# shellcheck source=dev.d/stages.sh
. "$FREEHCA_ROOT/dev.d/stages.sh"
# shellcheck source=dev.d/few_files.sh
. "$FREEHCA_ROOT/dev.d/few_files.sh"
cd "$FREEHCA_ROOT"
stages_begin demo-vfio-user

timed "packages" need demo
build=${FREEHCA_DEMO_BUILD:-build/demo}
[[ -n ${FREEHCA_DEMO_BUILD:-} ]] || build_few_files freehca-device hcactl-vfio-user
device=$build/vfio_user/freehca-device hcactl=$build/vfio_host/hcactl-vfio-user
for program in "$device" "$hcactl"; do
  [[ -x $program ]] || die "$program is not there; build it (cmake --build ${build@Q})"
done

folder=$(mktemp -d)
server=
end() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap end EXIT
"$device" --socket "$folder/adapter" --control "$folder/control" 2>"$folder/said" &
server=$!
for ((i = 0; i < 100; i++)); do
  grep -qs '^freehca-device: ready' "$folder/said" && break
  kill -0 "$server" 2>/dev/null || die "the server ended: $(cat "$folder/said")"
  sleep 0.1
done

say "demo: running"
timed "traffic" "$hcactl" --vfio-user "$folder/adapter" ping --messages "${MESSAGES:-300}" | tee "$folder/report" ||
  die "hcactl: $(cat "$folder/said")"

# "... packets at MTU 4096: 1405 send, 1405 write, 50 read requests, 1405 read responses"
read -r -a driver < <(sed -n \
  's/.*packets at MTU [0-9]*: \([0-9]*\) send, \([0-9]*\) write, \([0-9]*\) read requests, \([0-9]*\) .*/\1 \2 \3 \4/p' \
  "$folder/report")
[[ ${#driver[@]} -eq 4 ]] || die "the report names no packets"
names=(rc_send_packets rc_write_packets rc_read_requests rc_read_responses complaints)
counters=$("$device" --control "$folder/control" \
  --ask "{\"request\":\"counters\",\"names\":[$(printf '"%s",' "${names[@]}" | sed 's/,$//')]}") ||
  die "the server's counters: $counters"
model() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" <<<"$counters"; }
echo counts
for i in 0 1 2 3; do
  printf '           %s: driver %s, model %s\n' "${names[i]}" "${driver[i]}" "$(model "${names[i]}")"
  [[ ${driver[i]} == "$(model "${names[i]}")" ]] || die "${names[i]} differ"
done
messages=$(awk '$1 == "traffic" { on = 1; next } /bytes in all/ { on = 0 } on { sum += $NF } END { print sum }' \
  "$folder/report")
[[ $(model complaints) == 0 ]] || die "the model complained: $(cat "$folder/said")"
kill "$server"
wait "$server" || die "the server ended with $?: $(cat "$folder/said")"
server=
echo "           $messages messages verified; complaints of the model: 0"
say "demo: all well"
stages_end
