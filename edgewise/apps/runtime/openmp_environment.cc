// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/openmp_environment.h"

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/utf8.h"

// Runs before the libraries are initialised: the code uses no function of a library, and no sanitizer is ready.
#ifdef __clang__
#define EDGEWISE_BEFORE_LIBRARIES [[clang::no_sanitize("address", "thread", "undefined")]]
#else
#define EDGEWISE_BEFORE_LIBRARIES [[gnu::no_sanitize("address", "thread", "undefined")]]
#endif

namespace edgewise {
namespace {

constexpr long kMostThreads = 1024;

const char* refused_threads = nullptr;  // the value of OMP_NUM_THREADS that was taken out

/// Returns the rest of a text behind `beginning`, or null if it has another beginning.
EDGEWISE_BEFORE_LIBRARIES const char* skip(const char* text, const char* beginning) {
  while (*beginning != '\0') {
    if (*text++ != *beginning++) return nullptr;
  }
  return text;
}

EDGEWISE_BEFORE_LIBRARIES bool is_number_of_threads(long number) { return number >= 1 && number <= kMostThreads; }

/// Whether a text has numbers of threads, with commas between them and spaces around them.
EDGEWISE_BEFORE_LIBRARIES bool is_list_of_threads(const char* text) {
  while (true) {
    while (*text == ' ') ++text;
    long number = 0;
    while (*text >= '0' && *text <= '9' && number <= kMostThreads) number = 10 * number + (*text++ - '0');
    while (*text == ' ') ++text;
    if (!is_number_of_threads(number) || (*text != ',' && *text != '\0')) return false;
    if (*text++ == '\0') return true;
  }
}

EDGEWISE_BEFORE_LIBRARIES bool is_kept(const char* variable) {
  if (const char* threads = skip(variable, "OMP_NUM_THREADS=")) {
    if (is_list_of_threads(threads)) return true;
    refused_threads = threads;
    return false;
  }
  return skip(variable, "OMP_") == nullptr && skip(variable, "GOMP_") == nullptr;
}

EDGEWISE_BEFORE_LIBRARIES void take_out_variables(int /*argc*/, char** /*argv*/, char** environment) {
  char** kept = environment;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (is_kept(*variable)) *kept++ = *variable;
  }
  *kept = nullptr;
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = take_out_variables;

}  // namespace

void report_openmp_environment(const std::string& program) {
  if (refused_threads == nullptr) return;
  print_error("{}: warning: OMP_NUM_THREADS is {}, needs a number from 1 to {}; it has no effect\n", program,
              quote(printable(refused_threads)), kMostThreads);
}

}  // namespace edgewise
