// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "edgewise/search/edgewise_rules.h"
#include "edgewise/search/hugging_face_rules.h"

namespace edgewise {

SearchRules::SearchRules(const SearchOptions& options, const SearchConventions& conventions,
                         std::int64_t vocabulary_size)
    : options_(options),
      conventions_(conventions),
      allowed_(static_cast<std::size_t>(vocabulary_size), options.only.empty() ? 1 : 0) {
  for (const std::int64_t token : options.only) allowed_[token] = 1;
  for (const std::int64_t token : options.never) allowed_[token] = 0;
  for (const std::int64_t token : options.once) {
    if (std::exchange(allowed_[token], 0) != 0) once_.push_back(token);
  }
  allowed_[options.end_token] = 1;
  for (std::int64_t token = 0; token < vocabulary_size; ++token) {
    if (allowed_[token] == 0) forbidden_.push_back(token);
  }
}

double SearchRules::coverage_penalty(std::span<const double> weights) const {
  if (conventions_.coverage_penalty == 0) return 0;
  // A sum of attention weights in fp32 may underflow to 0, whose logarithm would make all hypotheses equal.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  double sum = 0;
  for (const double weight : weights) sum += std::log(std::clamp(weight, kSmallest, 1.0));
  return conventions_.coverage_penalty * sum;
}

std::unique_ptr<const SearchRules> make_search_rules(const SearchOptions& options, std::int64_t vocabulary_size) {
  if (follows_hugging_face(options)) return std::make_unique<HuggingFaceRules>(options, vocabulary_size);
  return std::make_unique<EdgewiseRules>(options, vocabulary_size);
}

}  // namespace edgewise
