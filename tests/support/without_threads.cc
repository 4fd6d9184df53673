// SPDX-License-Identifier: Apache-2.0
// Runs a program in a process that cannot start threads: without_threads PROGRAM ARGUMENTS…
#include <unistd.h>

#include <cstdio>

#include "tests/support/forbid_threads.h"

int main(int /*argc*/, char** argv) {
  if (!edgewise::forbid_threads()) return 77;
  ::execv(argv[1], argv + 1);
  std::perror(argv[1]);
  return 1;
}
