// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/processor_set.h"

#include <cstddef>

namespace edgewise {
namespace {

std::size_t bytes_of(const std::vector<cpu_set_t>& masks) { return masks.size() * sizeof(cpu_set_t); }

}  // namespace

ProcessorSet ProcessorSet::of_this_thread() {
  ProcessorSet set;
  // sched_getaffinity fails if the buffer is smaller than the kernel's own; 2^20 processors are enough for every
  // kernel.
  for (std::size_t masks = 1; masks <= 1024; masks *= 2) {
    set.masks_.resize(masks);
    if (sched_getaffinity(0, bytes_of(set.masks_), set.masks_.data()) == 0) return set;
  }
  return {};
}

ProcessorSet ProcessorSet::of(int processor) {
  ProcessorSet set;
  if (processor < 0) return set;
  set.masks_.resize(static_cast<std::size_t>(processor) / CPU_SETSIZE + 1);
  CPU_SET_S(static_cast<std::size_t>(processor), bytes_of(set.masks_), set.masks_.data());
  return set;
}

int ProcessorSet::size() const { return CPU_COUNT_S(bytes_of(masks_), masks_.data()); }

void ProcessorSet::remove(int processor) {
  if (processor < 0) return;
  CPU_CLR_S(static_cast<std::size_t>(processor), bytes_of(masks_), masks_.data());
}

void ProcessorSet::bind(pthread_t thread) const {
  static_cast<void>(pthread_setaffinity_np(thread, bytes_of(masks_), masks_.data()));
}

}  // namespace edgewise
