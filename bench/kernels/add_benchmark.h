// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <utility>

namespace edgewise::kernels {

enum class BenchmarkSize { kSmallest, kLarger };

/// Registers body(state) as a benchmark of wall-clock time. Appends "/smallest" to the name of the smallest size, by
/// which CI selects it.
template <class Body>
benchmark::internal::Benchmark* add_benchmark(std::string name, BenchmarkSize size, Body body) {
  if (size == BenchmarkSize::kSmallest) name += "/smallest";
  return benchmark::RegisterBenchmark(name.c_str(), std::move(body))->UseRealTime();
}

}  // namespace edgewise::kernels
