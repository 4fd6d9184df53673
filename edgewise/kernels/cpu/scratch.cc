// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/cpu/scratch.h"

#include <algorithm>
#include <new>

namespace edgewise::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kAlignedFloats = kAlignment / sizeof(float);
constexpr std::size_t kSmallestBlock = std::size_t{1} << 16;

}  // namespace

void Scratch::Free::operator()(float* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }

Scratch::Block Scratch::allocate(std::size_t size) {
  return {.memory = std::unique_ptr<float[], Free>(
              static_cast<float*>(::operator new[](size * sizeof(float), std::align_val_t{kAlignment}))),
          .size = size};
}

Scratch& Scratch::of_this_thread() {
  thread_local Scratch scratch;
  return scratch;
}

void Scratch::reset() {
  used_ = 0;
  if (blocks_.size() <= 1) return;
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  blocks_.clear();
  blocks_.push_back(allocate(total));
}

float* Scratch::take(std::size_t count) {
  const std::size_t rounded = (count + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
  if (blocks_.empty() || blocks_.back().size - used_ < rounded) {
    blocks_.push_back(allocate(std::max(rounded, kSmallestBlock)));
    used_ = 0;
  }
  float* memory = blocks_.back().memory.get() + used_;
  used_ += rounded;
  return memory;
}

}  // namespace edgewise::kernels
