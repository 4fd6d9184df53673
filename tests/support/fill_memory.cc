// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that fills new memory with bytes of 255: NaN as floating-point numbers, -1 as integers. A
// program that reads memory before it writes it then gives other results. tests/surroundings runs tests with it.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace {

// More is not filled, because some tests reserve address space that they never use.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

void* filled(void* memory, std::size_t size) {
  if (memory != nullptr) std::memset(memory, 0xFF, std::min(size, kMostBytes));
  return memory;
}

/// Returns the function that would be called without this library, such as that of tcmalloc.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  static auto* const next_malloc = next<void*(std::size_t)>("malloc");
  return filled(next_malloc(size), size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* const next_aligned_alloc = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  return filled(next_aligned_alloc(alignment, size), size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  static auto* const next_memalign = next<void*(std::size_t, std::size_t)>("memalign");
  return filled(next_memalign(alignment, size), size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  static auto* const next_posix_memalign = next<int(void**, std::size_t, std::size_t)>("posix_memalign");
  const int error = next_posix_memalign(memory, alignment, size);
  if (error == 0) filled(*memory, size);
  return error;
}
}

// The names of operator new as the linker knows them. A definition in C++ would need the whole family of operators.
#define EDGEWISE_FILL_NEW(SYMBOL)                                    \
  extern "C" void* SYMBOL(std::size_t size) {                        \
    static auto* const next_new = next<void*(std::size_t)>(#SYMBOL); \
    return filled(next_new(size), size);                             \
  }
#define EDGEWISE_FILL_ALIGNED_NEW(SYMBOL)                                         \
  extern "C" void* SYMBOL(std::size_t size, std::size_t alignment) {              \
    static auto* const next_new = next<void*(std::size_t, std::size_t)>(#SYMBOL); \
    return filled(next_new(size, alignment), size);                               \
  }

EDGEWISE_FILL_NEW(_Znwm)
EDGEWISE_FILL_NEW(_Znam)
EDGEWISE_FILL_ALIGNED_NEW(_ZnwmSt11align_val_t)
EDGEWISE_FILL_ALIGNED_NEW(_ZnamSt11align_val_t)
