// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/process_limits.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <new>

#include "edgewise/apps/runtime/openmp_environment.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"

namespace edgewise {
namespace {

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
