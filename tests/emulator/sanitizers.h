// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// These functions tell the sanitizers about fibers and memory. The build defines EDGEWISE_ADDRESS_SANITIZER or
// EDGEWISE_THREAD_SANITIZER; the compiler's own macros are missing in the files that are not instrumented.
#ifdef EDGEWISE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EDGEWISE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace edgewise::kernels::gpu::emulator {

/// Orders memory for ThreadSanitizer: accesses before release_memory(at) happen before accesses after a later
/// acquire_memory(at). Fibers are threads for ThreadSanitizer, and switching between them orders nothing.
inline void release_memory([[maybe_unused]] void* at) {
#ifdef EDGEWISE_THREAD_SANITIZER
  __tsan_release(at);
#endif
}

inline void acquire_memory([[maybe_unused]] void* at) {
#ifdef EDGEWISE_THREAD_SANITIZER
  __tsan_acquire(at);
#endif
}

/// Lets AddressSanitizer report accesses to `bytes` bytes, a multiple of 8 at a multiple of 8.
inline void forbid_access([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#ifdef EDGEWISE_ADDRESS_SANITIZER
  __asan_poison_memory_region(at, bytes);
#endif
}

inline void allow_access([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#ifdef EDGEWISE_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(at, bytes);
#endif
}

}  // namespace edgewise::kernels::gpu::emulator
