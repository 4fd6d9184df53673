// SPDX-License-Identifier: Apache-2.0
// Vectors of numbers of heads. Highway includes this file once for each instruction set.
#if defined(EDGEWISE_KERNELS_MESSAGE_HEAD_NUMBERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_MESSAGE_HEAD_NUMBERS_INL_H
#undef EDGEWISE_KERNELS_MESSAGE_HEAD_NUMBERS_INL_H
#else
#define EDGEWISE_KERNELS_MESSAGE_HEAD_NUMBERS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

// One number for each head, repeated so that the vectors of a tensor [edges, H] find the numbers of their heads in
// order: vector i of the tensor belongs to vector i % num_vectors of the numbers.

/// The numbers of heads whose number divides that of the lanes: one vector.
class OneVectorOfHeads {
 public:
  explicit OneVectorOfHeads(std::int64_t num_heads) : num_heads_(num_heads), numbers_(hn::Zero(FloatTag())) {}

  HWY_INLINE void fill(float number) { numbers_ = hn::Set(FloatTag(), number); }
  HWY_INLINE void read(const float* numbers) {
    HWY_ALIGN float lanes[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) lanes[i] = numbers[i % num_heads_];
    numbers_ = hn::Load(FloatTag(), lanes);
  }
  HWY_INLINE void write(float* numbers) const {
    hn::BlendedStore(numbers_, hn::FirstN(FloatTag(), static_cast<std::size_t>(num_heads_)), FloatTag(), numbers);
  }

  HWY_INLINE Floats get(std::int64_t /*vector*/) const { return numbers_; }
  HWY_INLINE void set(std::int64_t /*vector*/, Floats numbers) { numbers_ = numbers; }

  /// Combines the numbers of each head, and repeats the result.
  template <class Combine>
  HWY_INLINE void fold(Combine combine) {
    const hn::RebindToSigned<FloatTag> d;
    const auto lane = hn::Iota(d, 0);
    for (std::int64_t distance = num_heads_; distance < kLanes; distance *= 2) {
      const auto other = hn::And(hn::Add(lane, hn::Set(d, static_cast<std::int32_t>(distance))),
                                 hn::Set(d, static_cast<std::int32_t>(kLanes - 1)));
      numbers_ = combine(numbers_, hn::TableLookupLanes(numbers_, hn::IndicesFromVec(FloatTag(), other)));
    }
  }

  template <class Change>
  HWY_INLINE void change(Change change) {
    numbers_ = change(numbers_);
  }

  /// Calls body(index, part of the vector, vector of the numbers) for each vector of `count` floats.
  template <class Body>
  HWY_INLINE void for_vectors(std::int64_t count, Body&& body) const {
    for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR { body(i, part, 0); });
  }

 private:
  std::int64_t num_heads_;
  Floats numbers_;
};

/// The numbers of any heads, with the functions of OneVectorOfHeads.
class VectorsOfHeads {
 public:
  explicit VectorsOfHeads(std::int64_t num_heads)
      : num_heads_(num_heads),
        size_(std::lcm(num_heads, kLanes)),
        numbers_(Scratch::of_this_thread().take(static_cast<std::size_t>(size_))) {}

  void fill(float number) { std::fill_n(numbers_, size_, number); }
  void read(const float* numbers) {
    std::copy_n(numbers, num_heads_, numbers_);
    repeat();
  }
  void write(float* numbers) const { std::copy_n(numbers_, num_heads_, numbers); }

  HWY_INLINE Floats get(std::int64_t vector) const { return hn::Load(FloatTag(), numbers_ + vector * kLanes); }
  HWY_INLINE void set(std::int64_t vector, Floats numbers) {
    hn::Store(numbers, FloatTag(), numbers_ + vector * kLanes);
  }

  template <class Combine>
  void fold(Combine combine) {
    for (std::int64_t i = num_heads_; i < size_; i += num_heads_) {
      for (std::int64_t head = 0; head < num_heads_; ++head) {
        numbers_[head] = combine(numbers_[head], numbers_[i + head]);
      }
    }
    repeat();
  }

  template <class Change>
  HWY_INLINE void change(Change change) {
    for (std::int64_t vector = 0; vector < size_ / kLanes; ++vector) set(vector, change(get(vector)));
  }

  template <class Body>
  HWY_INLINE void for_vectors(std::int64_t count, Body&& body) const {
    std::int64_t vector = 0;
    for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR {
      body(i, part, vector);
      if (++vector == size_ / kLanes) vector = 0;
    });
  }

 private:
  void repeat() {
    for (std::int64_t i = num_heads_; i < size_; ++i) numbers_[i] = numbers_[i - num_heads_];
  }

  std::int64_t num_heads_;
  std::int64_t size_;
  float* numbers_;
};

/// Calls body(numbers of heads, other numbers of heads) for the class that fits.
template <class Body>
HWY_INLINE void with_heads(std::int64_t num_heads, Body&& body) {
  if (num_heads <= kLanes && kLanes % num_heads == 0) {
    body(OneVectorOfHeads(num_heads), OneVectorOfHeads(num_heads));
  } else {
    Scratch::of_this_thread().reset();
    body(VectorsOfHeads(num_heads), VectorsOfHeads(num_heads));
  }
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_MESSAGE_HEAD_NUMBERS_INL_H
