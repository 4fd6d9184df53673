// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/options/transformer_options.h"

// Position vectors (positional encodings) of `size` dimensions j, each of which has the sine or the cosine of an angle:
//
//     sinusoidal:    position / 10000^((j - j mod 2) / size); sines in even dimensions, cosines in odd ones
//                    (Vaswani et al. 2017)
//     from_scratch:  position / 10000^(2 j / size), likewise (the from-scratch note, docs/sources.md)
//     halves:        position / 10000^(2 k / size); first the sines of k = 0, 1, ..., ceil(size / 2) - 1, then the
//                    cosines of k = 0, 1, ... (MarianMT in Hugging Face's transformers)
//     marian:        position / 10000^(k / (half - 1)) with half = floor(size / 2); first the sines, then the cosines
//                    of k = 0, 1, ..., half - 1, then a 0 if size is odd (Marian)
//     fairseq:       (position + 2) / 10000^(k / (half - 1)), likewise (M2M-100 and NLLB)
//
// With mirrored positions, a vector consists of two vectors of half the size: that of the token's position, and that of
// its position in the mirrored input. They are equal for an output, and for a step of a Universal Transformer.
//
// `learned` has no formula: a position's vector is a row of a trained table. The other kinds have no position vectors.

namespace edgewise {

/// A formula of position vectors. Angles are computed in double, because a large angle in float has few exact digits
/// after the decimal point.
class PositionFormula {
 public:
  /// `base` takes the place of 10000. Throws Error for a kind without a formula and for a size below
  /// smallest_position_size(kind).
  PositionFormula(std::int64_t size, PositionKind kind, double base = kPositionBase);

  /// Returns the formula of a model whose kind of positions has one.
  static PositionFormula of_model(const TransformerOptions& options);

  /// Returns the formula of the tables that ops/rotate.h describes, for heads of an even size.
  static PositionFormula rotation(std::int64_t head_size, const RotaryOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(waves_.size()); }

  /// Writes the vector of a position, [size].
  template <typename T>
  void write(std::int64_t position, T* to) const {
    const auto shifted = static_cast<double>(position + shift_);
    for (const Wave& wave : waves_) {
      const double angle = shifted * wave.frequency;
      *to++ = static_cast<T>(wave.is_sine ? std::sin(angle) : std::cos(angle));
    }
  }

 private:
  struct Wave {
    double frequency;  // angle per position
    bool is_sine;
  };

  void add_waves(std::int64_t size, PositionKind kind);
  void add_alternating_waves(std::int64_t size, PositionKind kind);
  void add_halves(std::int64_t size);
  void add_marian_waves(std::int64_t size);

  /// Returns base_^(-numerator / denominator).
  double frequency(std::int64_t numerator, std::int64_t denominator) const;

  double base_;
  std::vector<Wave> waves_;  // [size]
  std::int64_t shift_;       // added to each position
};

/// Throws Error for a position that a table of `count` learned positions does not have.
void check_learned_position(std::int64_t position, std::int64_t count, std::string_view caller);

}  // namespace edgewise
