// SPDX-License-Identifier: Apache-2.0
#include "tests/experiment/combination_cover.h"

#include <array>
#include <map>
#include <optional>
#include <set>

#include "edgewise/base/random.h"

namespace edgewise {
namespace {

using Choice = std::pair<std::size_t, std::size_t>;  // factor and value

class CoverBuilder {
 public:
  CoverBuilder(const std::vector<Factor>& factors, const IsAllowed& is_allowed)
      : factors_(factors), is_allowed_(is_allowed) {}

  Cover build() {
    add(Combination(factors_.size(), 0));
    for (int i = 0; i < kRandomCombinations; ++i) add(randomise({}).value());
    find_impossible_pairs();
    for_each_choice(0, [&](const Choice& a) {
      for_each_choice(a.first + 1, [&](const Choice& b) {
        for_each_choice(b.first + 1, [&](const Choice& c) { cover({a, b, c}); });
      });
    });
    return std::move(cover_);
  }

 private:
  static constexpr int kRandomCombinations = 20;
  static constexpr int kAttempts = 6;

  template <class Visit>
  void for_each_choice(std::size_t first_factor, Visit visit) const {
    for (std::size_t factor = first_factor; factor < factors_.size(); ++factor) {
      for (std::size_t value = 0; value < factors_[factor].values.size(); ++value) visit(Choice{factor, value});
    }
  }

  bool is_allowed(const Combination& combination) {
    const auto [known, is_new] = allowed_.try_emplace(combination, false);
    if (is_new) known->second = is_allowed_(combination);
    return known->second;
  }

  /// Returns a random allowed combination with the given choices, or nothing if none was found.
  std::optional<Combination> randomise(const std::vector<Choice>& fixed) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Combination combination(factors_.size(), 0);
      // Options that others depend on are tried first in some attempts, last in others.
      change_at_random(combination, {});
      for (const auto& [factor, value] : fixed) combination[factor] = value;
      if (!is_allowed(combination)) {
        repair(combination, fixed);
        if (!is_allowed(combination)) continue;
      }
      change_at_random(combination, fixed);
      return combination;
    }
    return std::nullopt;
  }

  /// Changes factors in random order, as long as the combination stays allowed.
  void change_at_random(Combination& combination, const std::vector<Choice>& fixed) {
    std::vector<std::size_t> order;
    for (std::size_t factor = 0; factor < factors_.size(); ++factor) order.push_back(factor);
    random_.shuffle(order);
    for (const std::size_t factor : order) {
      if (is_fixed(factor, fixed)) continue;
      const std::size_t before = combination[factor];
      combination[factor] = random_.next_below(factors_[factor].values.size());
      if (!is_allowed(combination)) combination[factor] = before;
    }
  }

  /// Looks for one other value that makes the combination allowed; else sets all other factors to 0 and looks again.
  void repair(Combination& combination, const std::vector<Choice>& fixed) {
    if (change_one(combination, fixed)) return;
    for (std::size_t factor = 0; factor < factors_.size(); ++factor) {
      if (!is_fixed(factor, fixed)) combination[factor] = 0;
    }
    if (!is_allowed(combination)) change_one(combination, fixed);
  }

  bool change_one(Combination& combination, const std::vector<Choice>& fixed) {
    for (std::size_t factor = 0; factor < factors_.size(); ++factor) {
      if (is_fixed(factor, fixed)) continue;
      const std::size_t before = combination[factor];
      for (std::size_t value = 0; value < factors_[factor].values.size(); ++value) {
        combination[factor] = value;
        if (is_allowed(combination)) return true;
      }
      combination[factor] = before;
    }
    return false;
  }

  static bool is_fixed(std::size_t factor, const std::vector<Choice>& fixed) {
    for (const Choice& choice : fixed) {
      if (choice.first == factor) return true;
    }
    return false;
  }

  void find_impossible_pairs() {
    for_each_choice(0, [&](const Choice& a) {
      for_each_choice(a.first + 1, [&](const Choice& b) {
        if (pairs_.contains({a, b})) return;
        if (const auto combination = randomise({a, b})) return add(*combination);
        cover_.impossible_pairs.push_back({a, b});
        impossible_.insert({a, b});
      });
    });
  }

  void cover(const std::array<Choice, 3>& triple) {
    const auto& [a, b, c] = triple;
    if (triples_.contains(triple)) return;
    if (impossible_.contains({a, b}) || impossible_.contains({a, c}) || impossible_.contains({b, c})) return;
    if (const auto combination = randomise({a, b, c})) add(*combination);
  }

  void add(const Combination& combination) {
    cover_.combinations.push_back(combination);
    for (std::size_t i = 0; i < combination.size(); ++i) {
      for (std::size_t j = i + 1; j < combination.size(); ++j) {
        const Choice a = {i, combination[i]};
        const Choice b = {j, combination[j]};
        pairs_.insert({a, b});
        for (std::size_t k = j + 1; k < combination.size(); ++k) triples_.insert({a, b, Choice{k, combination[k]}});
      }
    }
  }

  const std::vector<Factor>& factors_;
  const IsAllowed& is_allowed_;
  RandomStream random_{1};
  std::map<Combination, bool> allowed_;
  std::set<std::pair<Choice, Choice>> pairs_;
  std::set<std::pair<Choice, Choice>> impossible_;
  std::set<std::array<Choice, 3>> triples_;
  Cover cover_;
};

}  // namespace

Cover cover_triples(const std::vector<Factor>& factors, const IsAllowed& is_allowed) {
  return CoverBuilder(factors, is_allowed).build();
}

}  // namespace edgewise
