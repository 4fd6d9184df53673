// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/runtime/weights.h"

namespace edgewise {

/// First states: word vectors with the vectors of their positions added.
class WordVectors {
 public:
  explicit WordVectors(const TransformerOptions& options);

  /// Writes [tokens, M]. Throws Error, for `caller`, for a token that is no word of the table.
  void write(const WordTable& table, std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
             const char* caller, float* to);

  /// The same without positions.
  void write(const WordTable& table, std::span<const std::int64_t> tokens, const char* caller, float* to);

  /// The vector of a position, [M], until the next call.
  const float* position(std::int64_t position);

 private:
  void write(const WordTable& table, std::span<const std::int64_t> tokens, const float* vectors,
             const std::int64_t* positions, const char* caller, float* to) const;
  void make_room_for(std::int64_t position);

  std::int64_t size_;
  float scale_;
  std::vector<double> frequencies_;
  std::vector<float> positions_;  // [positions so far, M]
};

}  // namespace edgewise
