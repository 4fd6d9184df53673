// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/process_limits.h"

#include <execinfo.h>
#include <malloc.h>
#include <sys/resource.h>

#include <new>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
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

/// Returns the rest of a text after `beginning`, or null if it has another beginning.
EDGEWISE_BEFORE_LIBRARIES const char* skip(const char* text, const char* beginning) {
  while (*beginning != '\0') {
    if (*text++ != *beginning++) return nullptr;
  }
  return text;
}

/// Whether a text has numbers of threads, with commas between them and spaces around them.
EDGEWISE_BEFORE_LIBRARIES bool is_list_of_threads(const char* text) {
  while (true) {
    while (*text == ' ') ++text;
    long number = 0;
    while (*text >= '0' && *text <= '9' && number <= kMostThreads) number = 10 * number + (*text++ - '0');
    while (*text == ' ') ++text;
    if (number < 1 || number > kMostThreads || (*text != ',' && *text != '\0')) return false;
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

/// Prints a warning if OMP_NUM_THREADS has no number of threads, and was therefore taken out of the environment.
///
/// A program that calls this function runs OpenMP in one thread (SerialOpenMpScope) and needs only OMP_NUM_THREADS, a
/// number from 1 to 1024, or several with commas between them, and then the first one counts. Before the libraries of
/// the program start, all other variables OMP_* and GOMP_* leave its environment: libgomp would print lines of its own
/// about values that it does not understand, and would bind the process to one core (OMP_PROC_BIND).
void report_openmp_environment(const std::string& program) {
  if (refused_threads == nullptr) return;
  print_error("{}: warning: OMP_NUM_THREADS is {}, needs a number from 1 to {}; it has no effect\n", program,
              quote(printable(refused_threads)), kMostThreads);
}

constexpr double kMinStack = 1 << 20;

void require_stack(const std::string& program) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto stack = static_cast<double>(limit.rlim_cur);
  check(stack >= kMinStack, "{}: the stack is limited to {}, needs at least {}; raise the limit (ulimit -s)", program,
        memory_text(stack), memory_text(kMinStack));
}

/// Lets glibc use less address space, and load before memory runs out what it needs afterwards.
void prepare_for_limit() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);  // the heap of each further thread would reserve 64 MB
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads the library that unwinds the stack through functions of glibc
#endif
}

}  // namespace

std::string address_space_text(std::int64_t left, std::int64_t needed) {
  return fmt::format("{} of address space are left, needs at least {}; raise the limit (ulimit -v)",
                     memory_text(static_cast<double>(left)), memory_text(static_cast<double>(needed)));
}

int run_within_limits(const std::string& program, std::int64_t bytes, const std::function<int()>& run) {
  try {
    report_openmp_environment(program);
    require_stack(program);
    if (has_address_space_limit()) {
      const std::int64_t left = address_space_left();
      check(left >= bytes, "{}: {}", program, address_space_text(left, bytes));
      prepare_for_limit();
    }
    return run();
  } catch (const Error& error) {
    write_error(std::string(error.what()) + "\n");
  } catch (const std::bad_alloc&) {
    write_error("memory ran out; raise the limit of address space (ulimit -v)\n");
  }
  return kUserErrorExitCode;
}

}  // namespace edgewise
