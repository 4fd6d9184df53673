// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/simd/scratch.h"

#include <algorithm>

namespace edgewise::kernels {
namespace {

constexpr std::size_t kFloatsPerCacheLine = 64 / sizeof(float);
constexpr std::size_t kMinBlockSize = std::size_t{1} << 16;  // floats

}  // namespace

void Scratch::add_block(std::size_t size) {
  blocks_.push_back({.memory = {}, .size = size});
  blocks_.back().memory.reserve_bytes(size * sizeof(float));
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
  add_block(total);
}

float* Scratch::take(std::size_t count) {
  const std::size_t rounded = (count + kFloatsPerCacheLine - 1) / kFloatsPerCacheLine * kFloatsPerCacheLine;
  if (blocks_.empty() || blocks_.back().size - used_ < rounded) {
    add_block(std::max(rounded, kMinBlockSize));
    used_ = 0;
  }
  float* memory = blocks_.back().memory.elements<float>(0) + used_;
  used_ += rounded;
  return memory;
}

}  // namespace edgewise::kernels
