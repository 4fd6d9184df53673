// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <variant>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/rotary/rotate.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/rotary/rotate_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyRotate = std::variant<const Rotate<float>*, const Rotate<BFloat16>*>;

template <class Part, typename T>
HWY_INLINE void rotate_pair(Part part, Floats sine, Floats cosine, const T* first, const T* second, T* first_out,
                            T* second_out) {
  const Floats a = load(part, first);
  const Floats b = load(part, second);
  store(part, hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), first_out);
  store(part, hn::MulAdd(a, sine, hn::Mul(b, cosine)), second_out);
}

template <typename T>
void rotate_node(const Rotate<T>& p, std::int64_t node) {
  const std::int64_t half = p.head_size / 2;
  const float* sines = p.table + p.rows[node] * p.head_size;
  for (std::int64_t head = 0; head < p.num_heads; ++head) {
    const std::int64_t begin = (node * p.num_heads + head) * p.head_size;
    for_each_vector(half, [&](std::int64_t k, auto part) HWY_ATTR {
      const Floats sine = load(part, sines + k);
      rotate_pair(part, p.is_inverse ? hn::Neg(sine) : sine, load(part, sines + half + k), p.x + begin + k,
                  p.x + begin + half + k, p.out + begin + k, p.out + begin + half + k);
    });
  }
}

void rotate_nodes(const AnyRotate& any, std::int64_t begin, std::int64_t end) {
  std::visit(
      [=](const auto* p) HWY_ATTR {
        for (std::int64_t node = begin; node < end; ++node) rotate_node(*p, node);
      },
      any);
}

void rotate_lanes_of_rows(const RotateLanes& p, std::int64_t begin, std::int64_t end) {
  const std::int64_t half = p.head_size / 2;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* sines = p.table + row * p.head_size;
    for (std::int64_t i = 0; i < p.num_parts; ++i) {
      float* values = p.values + row * p.stride + i * p.part_size;
      for (std::int64_t k = 0; k < half; ++k) {
        const Floats sine = hn::Set(FloatTag(), sines[k]);
        const Floats cosine = hn::Set(FloatTag(), sines[half + k]);
        float* first = values + k * p.num_heads;
        float* second = values + (half + k) * p.num_heads;
        for_each_vector(p.num_heads, [&](std::int64_t h, auto part) HWY_ATTR {
          rotate_pair(part, sine, cosine, first + h, second + h, first + h, second + h);
        });
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {

template <typename T>
void rotate(const Rotate<T>& p) {
  using A = AccumulatorType<T>;
  const std::int64_t half = p.head_size / 2;
  for (std::int64_t node = 0; node < p.num_nodes; ++node) {
    const A* sines = p.table + p.rows[node] * p.head_size;
    for (std::int64_t head = 0; head < p.num_heads; ++head) {
      const std::int64_t begin = (node * p.num_heads + head) * p.head_size;
      for (std::int64_t k = begin; k < begin + half; ++k) {
        const A sine = p.is_inverse ? -sines[k - begin] : sines[k - begin];
        const A cosine = sines[half + k - begin];
        const A first = p.x[k];
        const A second = p.x[k + half];
        p.out[k] = static_cast<T>(first * cosine - second * sine);
        p.out[k + half] = static_cast<T>(first * sine + second * cosine);
      }
    }
  }
}

void rotate_lanes(const RotateLanes& p) {
  const std::int64_t half = p.head_size / 2;
  for (std::int64_t row = 0; row < p.num_rows; ++row) {
    const float* sines = p.table + row * p.head_size;
    for (std::int64_t i = 0; i < p.num_parts * half * p.num_heads; ++i) {
      const std::int64_t within = i % (half * p.num_heads);
      float* first = p.values + row * p.stride + i / (half * p.num_heads) * p.part_size + within;
      float* second = first + half * p.num_heads;
      const double sine = sines[within / p.num_heads];
      const double cosine = sines[half + within / p.num_heads];
      const double a = *first;
      const double b = *second;
      *first = static_cast<float>(a * cosine - b * sine);
      *second = static_cast<float>(a * sine + b * cosine);
    }
  }
}

template void rotate(const Rotate<float>&);
template void rotate(const Rotate<double>&);
template void rotate(const Rotate<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(rotate_nodes);
HWY_EXPORT(rotate_lanes_of_rows);

constexpr std::int64_t kRotateGrain = 8192;  // values per range, at least

template <typename T>
void rotate(const Rotate<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::rotate(p);
  parallel_for(p.num_nodes, kRotateGrain / (p.num_heads * p.head_size + 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 HWY_DYNAMIC_DISPATCH(rotate_nodes)
                 (&p, begin, end);
               });
}

/// There is no vector kernel for double: the reference computes it.
template <>
void rotate(const Rotate<double>& p) {
  reference::rotate(p);
}

void rotate_lanes(const RotateLanes& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::rotate_lanes(p);
  parallel_for(p.num_rows, kRotateGrain / (p.num_parts * p.num_heads * p.head_size + 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 HWY_DYNAMIC_DISPATCH(rotate_lanes_of_rows)(p, begin, end);
               });
}

template void rotate(const Rotate<float>&);
template void rotate(const Rotate<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
