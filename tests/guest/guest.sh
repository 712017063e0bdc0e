#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# guest.sh: boots the test guest, which is made from Debian's packages; see usage below.
set -euo pipefail
here=$FREEHCA_ROOT/tests/guest
# shellcheck source=dev.d/console.sh
. "$FREEHCA_ROOT/dev.d/console.sh"
# shellcheck source=dev.d/cache.sh
. "$FREEHCA_ROOT/dev.d/cache.sh"
# shellcheck source=dev.d/packages.sh
. "$FREEHCA_ROOT/dev.d/packages.sh"

usage() { cat "$here/usage.txt"; }

# built NAME: the path of a program of the preset host (FREEHCA_PRESET: of another), wherever its
# target lies. A program that was never built is built first.
built() {
  local found='' preset=${FREEHCA_PRESET:-host}
  find_built() {
    found=$(find "$FREEHCA_ROOT/build/$preset" -type f -name "$1" -perm -u+x -print -quit 2>/dev/null ||
      true)
  }
  find_built "$1"
  if [[ -z $found ]]; then
    need script build
    (cd "$FREEHCA_ROOT" && step "guest: configure" cmake --preset "$preset") >&2 || die "CMake fails"
    (cd "$FREEHCA_ROOT" &&
      step "guest: build $1" nice cmake --build "build/$preset" --target "$1") >&2 ||
      die "the program $1 does not build"
    find_built "$1"
  fi
  [[ -n $found ]] || die "the preset $preset has no program $1"
  printf '%s\n' "$found"
}

kernel_version='' hosts=1 log='' prepare=no device=default qemu='' server=no switch=no adapters=1
clock=host lan=no
packages=("$here/packages.txt")
pass=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --kernel) kernel_version=${2:?--kernel wants a version}; shift 2 ;;
    --hosts) hosts=${2:?--hosts wants 1, 2 or more}; shift 2 ;;
    --log) log=${2:?--log wants a file}; shift 2 ;;
    --no-device) device=''; shift ;;
    --device) device=${2:?--device wants a -device argument}; shift 2 ;;
    --qemu) qemu=${2:?--qemu wants a binary}; shift 2 ;;
    --program)
      program=$(built "${2:?--program wants a name}")
      pass+=(--file "$program:/usr/bin/$2")
      shift 2
      ;;
    --more-packages)
      packages+=("$here/more_packages/${2:?--more-packages wants a name}.txt")
      [[ -r ${packages[-1]} ]] ||
        die "--more-packages knows no '$2'; it knows: $(basename -s .txt -a "$here"/more_packages/*.txt | xargs)"
      shift 2
      ;;
    --device-server) server=yes; shift ;;
    --adapters)
      adapters=${2:?--adapters wants 1 or 2}
      pass+=("$1" "$2")
      shift 2
      ;;
    --switch)
      kind=${2:?--switch wants ib or eth}
      [[ $kind =~ ^(ib|eth)(,names)?$ ]] || die "--switch is ib or eth, or with ',names' behind it"
      program=$(built freehca-switch)
      switch=yes
      pass+=(--switch "$program,--link,$kind")
      shift 2
      ;;
    --prepare) prepare=yes; shift ;;
    --driver | --script | --timeout | --memory | --cpu | --smp | --file | --append | --env | --bare)
      pass+=("$1" "${2:?$1 wants a value}"); shift 2 ;;
    --icount | --virtual-time) clock=guest pass+=("$1"); shift ;;
    --lan) lan=yes pass+=("$1"); shift ;;
    --verbose | --no-iommu) pass+=("$1"); shift ;;
    --) shift; break ;;
    -h | --help) usage; exit 0 ;;
    *) printf "guest: unknown option '%s'\n" "$1" >&2; usage >&2; exit 2 ;;
  esac
done
[[ $hosts =~ ^[1-8]$ ]] || die "--hosts is 1 to 8"
[[ $adapters =~ ^[12]$ ]] || die "--adapters is 1 or 2"
[[ $adapters == 1 || ($hosts == 1 && $switch == yes && $server == no) ]] ||
  die "--adapters 2 is for one host whose adapters a switch joins: --switch ib"
[[ $switch == no || $hosts -ge 2 || $adapters == 2 ]] ||
  die "--switch joins two hosts or more: --hosts 2, or two adapters of one: --adapters 2"
[[ $lan == no || ($hosts == 2 && $server == no) ]] || die "--lan joins two hosts: --hosts 2"
[[ $hosts -le 2 || $switch == yes ]] || die "more than two hosts are joined by a switch: --switch ib"
for ((i = 0; i < ${#pass[@]}; i++)); do
  case ${pass[i]} in
    --driver) [[ ${pass[i + 1]} =~ ^(none|linux|vfio)$ ]] || die "--driver is none, linux or vfio" ;;
    --script) [[ -r ${pass[i + 1]} ]] || die "the script ${pass[i + 1]} cannot be read" ;;
  esac
done

need script guest
if [[ $server == yes ]]; then
  [[ -n $qemu ]] || qemu=$("$FREEHCA_ROOT/qemu/build/stock.sh")
  program=$(built freehca-device)
  pass+=(--device-server "$program")
fi
# The clock of an adapter in a process of its own is always the host's.
[[ $clock == guest && $server == no ]] || pass+=(--allowed "$here/allowed-kernel-messages-real-time")
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
mkdir -p "$FREEHCA_CACHE/guest" "$FREEHCA_LOGS"

# What the two halves of the image depend on. The state of the archive is not among it: a cached
# image stays.
apt=("../../dev.d/apt_sources.py" "../../dev.d/private_apt.sh")
tools=() tools_made_of=()
for list in "${packages[@]}"; do
  key=$({ echo "$release"; cd "$here" && files_key "$list" tools.sh image_tools.py elf.py cpio.py "${apt[@]}"; } | key_of)
  tools+=("$FREEHCA_CACHE/guest/tools-$key")
  tools_made_of+=("${tools[-1]}" "$list")
done
kernel_made_of=(modules.txt kernel.sh image_modules.py vmlinux.py cpio.py "${apt[@]}")
if [[ -n $kernel_version && -r $here/kernels/$kernel_version.config ]]; then
  kernel_made_of+=(source_kernel.sh "kernels/$kernel_version.config")
  need guest_kernel
fi
kernel_key=$({ echo "$release $kernel_version"; cd "$here" && files_key "${kernel_made_of[@]}"; } | key_of)
kernel=$FREEHCA_CACHE/guest/kernel-$kernel_key
for part in "$kernel" "${tools[@]}"; do
  [[ ! -e $part ]] || continue
  # In a process of its own, so that the lock does not live as long as the guest.
  "$here/image.sh" "$kernel" "$release" "$kernel_version" "${tools_made_of[@]}"
done
touch "$kernel" "${tools[@]}"
[[ -z $kernel_version ]] || say "guest: kernel $(<"$kernel/release.txt")"
[[ $prepare == no ]] || exit 0
[[ -n $qemu ]] || qemu=$("$FREEHCA_ROOT/dev" qemu)

if [[ $device == default ]]; then
  device=mlx4
  [[ -e $FREEHCA_ROOT/qemu/qom/meson.build ]] || device=''
fi
log=${log:-$FREEHCA_LOGS/guest-kernel.log}
archives=()
for part in "${tools[@]}"; do archives+=(--tools "$part"); done
# The binary may be pruned from the cache by a later build; a run keeps going with the file it has
# opened.
exec "$here/run_guest.py" --qemu "$qemu" --kernel "$kernel/vmlinux" --modules "$kernel/modules.cpio" \
  "${archives[@]}" --allowed "$here/allowed-kernel-messages" \
  --hosts "$hosts" --log "$log" --device "$device" "${pass[@]}" -- "$@"
