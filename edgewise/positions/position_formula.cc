// SPDX-License-Identifier: Apache-2.0
#include "edgewise/positions/position_formula.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Returns a frequency of rotary positions after scaling. With llama3, a frequency of at most low_frequency turns in
/// trained_length positions is divided by the factor, one of at least high_frequency turns stays, and those between are
/// interpolated (Llama 3.1; `rope_type` llama3 of Hugging Face's transformers).
double scale_frequency(double frequency, const RotaryOptions& options) {
  switch (options.scaling) {
    case RotaryScaling::kNone:
      return frequency;
    case RotaryScaling::kLinear:
      return frequency / options.factor;
    case RotaryScaling::kLlama3:
      break;
  }
  const double turns = static_cast<double>(options.trained_length) * frequency / (2 * std::numbers::pi);
  const double kept =
      std::clamp((turns - options.low_frequency) / (options.high_frequency - options.low_frequency), 0.0, 1.0);
  return kept * frequency + (1 - kept) * frequency / options.factor;
}

}  // namespace

double PositionFormula::frequency(std::int64_t numerator, std::int64_t denominator) const {
  return std::pow(base_, -static_cast<double>(numerator) / static_cast<double>(denominator));
}

PositionFormula::PositionFormula(std::int64_t size, PositionKind kind, double base)
    : base_(base), shift_(kind == PositionKind::kFairseq ? 2 : 0) {
  check(size >= smallest_position_size(kind), "PositionFormula: size is {}, needs at least {} for {}", size,
        smallest_position_size(kind), enum_name(kind));
  add_waves(size, kind);
}

PositionFormula PositionFormula::of_model(const TransformerOptions& options) {
  const std::int64_t num_parts = options.mirror_positions ? 2 : 1;
  PositionFormula formula(options.size / num_parts, options.positions);
  if (options.mirror_positions) formula.add_waves(options.size / num_parts, options.positions);
  return formula;
}

void PositionFormula::add_waves(std::int64_t size, PositionKind kind) {
  switch (kind) {
    case PositionKind::kSinusoidal:
    case PositionKind::kFromScratch:
      add_alternating_waves(size, kind);
      break;
    case PositionKind::kHalves:
      add_halves(size);
      break;
    case PositionKind::kMarian:
    case PositionKind::kFairseq:
      add_marian_waves(size);
      break;
    case PositionKind::kLearned:
    case PositionKind::kNone:
    case PositionKind::kRotary:
    case PositionKind::kAlibi:
    case PositionKind::kT5:
      fail("PositionFormula: kind is {}, needs one with a formula", enum_name(kind));
  }
}

PositionFormula PositionFormula::rotation(std::int64_t head_size, const RotaryOptions& options) {
  PositionFormula formula(head_size, PositionKind::kHalves, options.base);
  for (Wave& wave : formula.waves_) wave.frequency = scale_frequency(wave.frequency, options);
  return formula;
}

void PositionFormula::add_alternating_waves(std::int64_t size, PositionKind kind) {
  for (std::int64_t j = 0; j < size; ++j) {
    waves_.push_back({frequency(kind == PositionKind::kSinusoidal ? j - j % 2 : 2 * j, size), j % 2 == 0});
  }
}

void PositionFormula::add_halves(std::int64_t size) {
  const std::int64_t sines = size - size / 2;
  for (std::int64_t k = 0; k < sines; ++k) waves_.push_back({frequency(2 * k, size), true});
  for (std::int64_t k = 0; k < size - sines; ++k) waves_.push_back({frequency(2 * k, size), false});
}

void PositionFormula::add_marian_waves(std::int64_t size) {
  const std::int64_t half = size / 2;
  for (const bool is_sine : {true, false}) {
    for (std::int64_t k = 0; k < half; ++k) waves_.push_back({frequency(k, half - 1), is_sine});
  }
  if (size % 2 == 1) waves_.push_back({.frequency = 0, .is_sine = true});  // sin(0) = 0
}

void check_learned_position(std::int64_t position, std::int64_t count, std::string_view caller) {
  check(position < count,
        "{}: a sentence has position {}, needs positions below model.max_positions, which is {}; shorten the sentence, "
        "for training by data.max_length",
        caller, position, count);
}

}  // namespace edgewise
