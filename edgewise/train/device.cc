// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/device.h"

#include <ATen/Context.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string_view>

namespace edgewise {
namespace {

/// Returns the words of a text between two others; "" if they are not there.
std::string_view words_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + before.size();
  const std::size_t end = text.find(after, begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

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

at::Device choose_device(const DeviceRequest& request) {
  const std::optional<std::int64_t> gpu = choose_gpu(request);
  return gpu ? at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(*gpu)) : at::Device(at::kCPU);
}

void prepare_device(at::Device device) {
  if (device.is_cpu()) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS reads the variable when it starts
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // the operations here write all that they read
  context.setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

std::optional<std::string> explain_gpu_memory(const std::exception& error) {
  const auto* memory = dynamic_cast<const c10::OutOfMemoryError*>(&error);
  if (memory == nullptr) return std::nullopt;
  const std::string_view text = memory->what_without_backtrace();
  const std::string_view needed = words_between(text, "Tried to allocate ", ". ");
  const std::string_view total = words_between(text, "total capacity of ", " of which ");
  const std::string_view free = words_between(text, " of which ", " is free");
  std::string sizes;
  if (!needed.empty()) sizes += fmt::format(": {} more were needed", needed);
  if (!needed.empty() && !free.empty()) sizes += fmt::format(", {} of {} are free", free, total);
  return fmt::format(
      "the memory of the GPU ran out{}; set a smaller batch.tokens, and a larger train.accumulate for as many tokens "
      "in a step, train.precision=bf16, or choose a smaller model",
      sizes);
}

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
