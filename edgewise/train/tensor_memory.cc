// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/tensor_memory.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>

namespace edgewise {

class TensorMemory::Counter : public c10::MemoryReportingInfoBase {
 public:
  explicit Counter(c10::DeviceType type) : type_(type) {}

  /// Called for each tensor that is allocated or freed; the size of a freed one is negative.
  void reportMemoryUsage(void* /*ptr*/, std::int64_t size, std::size_t /*total_allocated*/,
                         std::size_t /*total_reserved*/, c10::Device device) override {
    if (device.type() != type_) return;
    const std::int64_t now = bytes_.fetch_add(size) + size;
    std::int64_t peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }

  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t peak() const { return peak_.load(); }

 private:
  c10::DeviceType type_;
  std::atomic<std::int64_t> bytes_ = 0;  // a backward pass on a GPU has a thread of its own
  std::atomic<std::int64_t> peak_ = 0;
};

TensorMemory::TensorMemory(c10::Device device)
    : counter_(std::make_shared<Counter>(device.type())), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

std::int64_t TensorMemory::peak() const { return counter_->peak(); }

}  // namespace edgewise
