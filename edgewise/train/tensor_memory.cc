// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <deque>
#include <memory>

namespace edgewise {
namespace {

class Counter {
 public:
  void add(std::int64_t size) {
    const std::int64_t now = bytes_.fetch_add(size) + size;
    std::int64_t peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }

  std::int64_t peak() const { return peak_.load(); }

 private:
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

struct Allocation {
  c10::DataPtr data;
  std::int64_t size;
  Counter* counter;
};

void free_allocation(void* context) {
  const std::unique_ptr<Allocation> allocation(static_cast<Allocation*>(context));
  allocation->counter->add(-allocation->size);
}

/// Allocates by libtorch's allocator, and counts. Exists until the process ends, like the counters, because tensors may
/// outlive a TensorMemory.
class CountingAllocator : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* allocator = new CountingAllocator();
    return *allocator;
  }

  void begin() {
    counter_ = &counters_.emplace_back();
    plain_ = c10::GetCPUAllocator();
    c10::SetCPUAllocator(this);
  }

  void end() const { c10::SetCPUAllocator(plain_); }

  c10::DataPtr allocate(std::size_t size) override {
    auto allocation =
        std::make_unique<Allocation>(Allocation{plain_->allocate(size), static_cast<std::int64_t>(size), counter_});
    counter_->add(allocation->size);
    void* begin = allocation->data.get();
    return {begin, allocation.release(), free_allocation, c10::Device(c10::kCPU)};
  }

  void copy_data(void* to, const void* from, std::size_t size) const override { default_copy_data(to, from, size); }

  std::int64_t peak() const { return counter_->peak(); }

 private:
  c10::Allocator* plain_ = nullptr;
  Counter* counter_ = nullptr;
  std::deque<Counter> counters_;
};

}  // namespace

TensorMemory::TensorMemory(c10::Device device) : device_(device) {
  if (device.is_cpu()) CountingAllocator::instance().begin();
}

TensorMemory::~TensorMemory() {
  if (device_.is_cpu()) CountingAllocator::instance().end();
}

std::int64_t TensorMemory::peak() const {
  if (device_.is_cpu()) return CountingAllocator::instance().peak();
  const auto stats = c10::getDeviceAllocator(device_.type())->getDeviceStats(device_.index());
  return stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

}  // namespace edgewise
