// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "tests/emulator/emulator.h"
#include "tests/emulator/lane.h"
#include "tests/emulator/memory_access.h"
#include "tests/emulator/sanitizers.h"

// Asynchronous copies. A device may write the bytes at any time between copy_async() and wait_for_copies(). The
// emulator writes NaN at the first of these moments and the bytes at the last one.
namespace edgewise::kernels::gpu::emulator {

void copy_async(void* to, const void* from, int bytes, const CallSite& site) {
  check_shared(to, bytes, "copy_async", site);
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    fail_in_kernel(fmt::format("copy_async: the address in global memory is no multiple of {} bytes", bytes), site);
  }
  Lane& lane = current_lane();
  auto* const target = static_cast<unsigned char*>(to);
  allow_access(target, static_cast<std::size_t>(bytes));
  fill_undefined(target, static_cast<std::size_t>(bytes));
  // AddressSanitizer knows addresses to 8 bytes.
  if (bytes >= 8) forbid_access(to, static_cast<std::size_t>(bytes));
  lane.copies.push_back({target, static_cast<const unsigned char*>(from), bytes, lane.open_group});
}

void expect_aligned(const void* address, int bytes, const CallSite& site) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fail_in_kernel(fmt::format("expect_aligned: the address is no multiple of {} bytes", bytes), site);
}

void commit_copies() { ++current_lane().open_group; }

void wait_for_copies(int pending) {
  Lane& lane = current_lane();
  const int end_group = lane.open_group - pending;
  const auto is_complete = [&](const Copy& copy) { return copy.group < end_group; };
  for (const Copy& copy : lane.copies) {
    if (!is_complete(copy)) continue;
    allow_access(copy.to, static_cast<std::size_t>(copy.bytes));
    copy_bytes(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
  }
  std::erase_if(lane.copies, is_complete);
}

}  // namespace edgewise::kernels::gpu::emulator
