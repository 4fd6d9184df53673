// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace edgewise {

/// An option and the values that a test gives to it.
struct Factor {
  std::string option;
  std::vector<std::string> values;
};

/// The index of a value for each factor.
using Combination = std::vector<std::size_t>;

/// Returns whether a combination is allowed.
using IsAllowed = std::function<bool(const Combination&)>;

struct Cover {
  std::vector<Combination> combinations;
  // Pairs (factor, value) of which no allowed combination was found: each entry has two of them.
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, std::size_t>>> impossible_pairs;
};

/// Returns allowed combinations that contain each triple of values of three factors, except triples of which no allowed
/// combination was found in a few random attempts. The first combination, all values 0, must be allowed.
Cover cover_triples(const std::vector<Factor>& factors, const IsAllowed& is_allowed);

}  // namespace edgewise
