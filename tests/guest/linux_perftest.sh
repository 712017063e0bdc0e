# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# shellcheck shell=dash
# For cases: rdma-core's pingpongs and perftest's programs in loopback. Needs linux_traffic.sh. Put
# into the guest with
#   # options: --file tests/guest/linux_perftest.sh:/guest/linux_perftest.sh
# A row of the matrix is: VERB SERVICE FIGURE BYTES QUEUE_PAIRS poll|events
#
# What does not apply, and why:
# - read and atomic over UC and UD, write over UD: the services do not have them (IBTA vol. 1, 9.4)
# - write with events: perftest refuses it, as nothing completes at the target
# - atomic in other sizes than 8: the operation has no other
# - latency over 64 queue pairs: perftest has several in bandwidth tests only
# - 64 queue pairs with events: perftest 4.5 takes 16 completions for each event at most, and waits
#   for ever when more had come with the last one (mended later, in its commit 14955fe82b71)
# - UD above 4 KiB: a datagram is one packet

# The most bytes that a run moves, where perftest lets it: 5 exchanges are its least, so that 8 MiB
# are 40 at least.
matrix_bytes=$((64 << 20))

matrix_services() {
  case $1 in
    send) echo RC UC UD XRC ;;
    write) echo RC UC XRC ;;
    *) echo RC XRC ;;
  esac
}

# matrix_sizes VERB SERVICE QUEUE_PAIRS
matrix_sizes() {
  case $1-$2-$3 in
    atomic-*) echo 8 ;;
    *-UD-*) echo 2 64 4096 ;;
    *-1) echo 2 64 4096 65536 1048576 8388608 ;;
    *) echo 2 64 4096 65536 ;;
  esac
}

# matrix_rows: all that applies.
matrix_rows() {
  for row_verb in send write read atomic; do
    row_modes="poll events"
    [ $row_verb != write ] || row_modes=poll
    for row_service in $(matrix_services $row_verb); do
      for row_figure in "lat 1" "bw 1" "bw 64"; do
        for row_size in $(matrix_sizes $row_verb "$row_service" "${row_figure#* }"); do
          for row_mode in $row_modes; do
            [ "${row_figure#* }-$row_mode" != 64-events ] || continue
            echo "$row_verb $row_service ${row_figure% *} $row_size ${row_figure#* } $row_mode"
          done
        done
      done
    done
  done
}

# matrix_exchanges ROW: by each queue pair, so that a run moves at most matrix_bytes, and no more
# than shows something.
matrix_exchanges() {
  most=256
  [ "$3" != lat ] || most=64
  exchanges=$((matrix_bytes / $4 / $5))
  [ $exchanges -le $((most / $5)) ] || exchanges=$((most / $5))
  [ $exchanges -ge 5 ] || exchanges=5 # perftest's least
  # Of a shared receive queue perftest 4.5 posts exchanges / queue pairs receives for each queue
  # pair: with fewer exchanges than queue pairs none, and the run ends after two minutes. At 64 KiB
  # these are 256 MiB.
  [ "$1-$2-$5" != send-XRC-64 ] || exchanges=64
  echo $exchanges
}

# What each run is given besides, as words.
matrix_options=

# matrix FILE: does every row of the file.
matrix() {
  matrix_runs=0
  while read -r verb service figure bytes queue_pairs mode; do
    set -- "ib_${verb}_$figure" -d mlx4_0 -F -m 4096 -c "$service" -n \
      "$(matrix_exchanges "$verb" "$service" "$figure" "$bytes" "$queue_pairs")"
    # shellcheck disable=SC2086 # words
    [ -z "$matrix_options" ] || set -- "$@" $matrix_options
    [ "$verb" = atomic ] || set -- "$@" -s "$bytes"
    [ "$queue_pairs" = 1 ] || set -- "$@" -q "$queue_pairs"
    [ "$mode" = poll ] || set -- "$@" -e
    pair "$@"
    # Both figures' lines begin with the size and the number of exchanges, those of all queue pairs
    # together.
    # shellcheck disable=SC2154 # from linux_traffic.sh
    [ "$pair_side" = server ] || grep -qE "^ *$bytes +[1-9]" /run/client || fail "$*: no figures: $(cat /run/client)"
    matrix_runs=$((matrix_runs + 1))
  done <"$1"
  say "$matrix_runs runs of perftest"
}

# pingpongs [OPTION...]: each of rdma-core's; they compare what they receive with what was sent (-c)
# where they can.
pingpongs() {
  for pingpong in rc uc ud srq; do
    pair ibv_${pingpong}_pingpong "$@" -c
  done
  pair ibv_xsrq_pingpong "$@"
}
