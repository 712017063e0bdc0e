// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ranks exchange data that each of them can compute: a ping-pong in a ring, all to all, and
// one-sided puts and accumulates. Ends with status 1 if a value is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void expect(int right, const char* what) {
  if (right) return;
  printf("rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(int from, int to, int at) {
  return (from * 131 + to * 31 + at) ^ 0x5a5a5a;
}

static void ring(int words) {
  int* out = malloc(sizeof(int) * (size_t)words);
  int* in = malloc(sizeof(int) * (size_t)words);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int i = 0; i < words; ++i) out[i] = value(rank, next, i);
  MPI_Sendrecv(out, words, MPI_INT, next, 7, in, words, MPI_INT, before, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < words; ++i) expect(in[i] == value(before, rank, i), "ring");
  free(out);
  free(in);
}

static void all_to_all(int words) {
  const size_t all = (size_t)words * (size_t)ranks;
  int* out = malloc(sizeof(int) * all);
  int* in = malloc(sizeof(int) * all);
  for (int to = 0; to < ranks; ++to)
    for (int i = 0; i < words; ++i) out[to * words + i] = value(rank, to, i);
  MPI_Alltoall(out, words, MPI_INT, in, words, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < words; ++i)
      expect(in[from * words + i] == value(from, rank, i), "all to all");
  free(out);
  free(in);
}

static void one_sided(void) {
  int* window;
  const int one = 1;
  // An origin may be read until the fence.
  int* words = malloc(sizeof(int) * (size_t)ranks);
  MPI_Win shared;
  MPI_Win_allocate((MPI_Aint)(sizeof(int) * (size_t)(ranks + 1)), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window, &shared);
  for (int i = 0; i <= ranks; ++i) window[i] = 0;
  MPI_Win_fence(0, shared);
  for (int to = 0; to < ranks; ++to) {
    words[to] = value(rank, to, 0);
    MPI_Put(&words[to], 1, MPI_INT, to, rank, 1, MPI_INT, shared);
  }
  MPI_Win_fence(0, shared);
  for (int to = 0; to < ranks; ++to)
    MPI_Accumulate(&one, 1, MPI_INT, to, ranks, 1, MPI_INT, MPI_SUM, shared);
  MPI_Win_fence(0, shared);
  for (int from = 0; from < ranks; ++from) expect(window[from] == value(from, rank, 0), "put");
  expect(window[ranks] == ranks, "accumulate");
  MPI_Win_free(&shared);
  free(words);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int sizes[] = {1, 1000, 100000};
  for (int i = 0; i < 3; ++i) {
    ring(sizes[i]);
    all_to_all(sizes[i]);
  }
  one_sided();
  printf("rank %d of %d: all right\n", rank, ranks);
  MPI_Finalize();
  return 0;
}
