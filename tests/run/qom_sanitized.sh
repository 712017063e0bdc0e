#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# qom_sanitized.sh: tests the device in Debian's QEMU as qom.sh does, with glue and model compiled
# with the address and undefined-behaviour sanitizers. The tests record themselves. QEMU's own code
# has no sanitizers. Its leaks are not looked for.
set -euo pipefail
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=tests/run/results.sh
. "$FREEHCA_ROOT/tests/run/results.sh"
name="qom sanitized"
folder=$FREEHCA_ROOT/build/qom-sanitized
reports=$folder/reports
rm -rf "$folder"
mkdir -p "$reports"
qemu=$("$FREEHCA_ROOT/dev" qemu)
{ read -r headers && read -r _ && read -r _ && read -r version && read -r program; } <"${qemu%/*}/inputs"
archive=$(find "$FREEHCA_ROOT/build/host-clang-asan" -name libfreehca_model.a -print -quit)

objects=$FREEHCA_ROOT/qemu/build/preload_objects.py
what=(--sanitize "$headers" "$FREEHCA_ROOT" "$folder/glue")
if ! step "$name: the glue" nice "$objects" compile "${what[@]}" ||
  ! step "$name: shared objects" "$objects" link "${what[@]}" "$archive" "$version" "$folder/objects" "$program"; then
  record failed 0 "$name: build"
  exit 0
fi

wrapper=$folder/${program##*/}
cat >"$wrapper" <<END
#!/bin/sh
export LD_PRELOAD="$(clang -print-file-name=libclang_rt.asan-x86_64.so):$folder/objects/freehca-mlx4.so:$folder/objects/freehca-qtest.so"
export ASAN_OPTIONS="detect_leaks=0:log_path=$reports/report"
exec $program "\$@"
END
chmod +x "$wrapper"
step "$name" /usr/bin/python3 -B "$FREEHCA_ROOT/tests/qom/qom_test.py" --sanitized "$wrapper"

# A QEMU that is being ended anyway fails no test by its status. Warnings of sanitizers, about
# QEMU's coroutines, stand in the reports of all that ended well.
outcome=passed
if grep -rlE 'ERROR: |runtime error: ' "$reports" >"$folder/bad"; then outcome=failed; fi
record "$outcome" 0 "$name: no report" "$(head -n 1 "$folder/bad")"
