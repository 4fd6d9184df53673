// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/range.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace edgewise {

bool Range::contains(double value) const {
  if (std::isnan(value) || (std::isinf(value) && !has_infinities_)) return false;
  const bool is_high_enough = !lower_ || value > lower_->value || (lower_->inclusive && value == lower_->value);
  const bool is_low_enough = !upper_ || value < upper_->value || (upper_->inclusive && value == upper_->value);
  return is_high_enough && is_low_enough;
}

std::optional<double> Range::smallest() const {
  if (!lower_) return std::nullopt;
  return lower_->inclusive ? lower_->value : std::nextafter(lower_->value, std::numeric_limits<double>::infinity());
}

std::optional<double> Range::largest() const {
  if (!upper_) return std::nullopt;
  return upper_->inclusive ? upper_->value : std::nextafter(upper_->value, -std::numeric_limits<double>::infinity());
}

std::string Range::text() const {
  if (lower_ && upper_) {
    if (lower_->inclusive)
      return fmt::format(" from {} to {}{}", lower_->value, upper_->inclusive ? "" : "below ", upper_->value);
    return fmt::format(" above {} and {} {}", lower_->value, upper_->inclusive ? "at most" : "below", upper_->value);
  }
  if (lower_) return fmt::format(" {} {}", lower_->inclusive ? "of at least" : "above", lower_->value);
  if (upper_) return fmt::format(" {} {}", upper_->inclusive ? "of at most" : "below", upper_->value);
  return "";
}

}  // namespace edgewise
