// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/graph/relation_terms.h"

// The texts of a config that say which tokens of a side attend to which: a pattern for each layer, each a list of terms
// (graph/relation_terms.h). The terms are causal, complete, document, `window N`, `dilated N by S`, `sinks N`,
// `global every N`, `blocks N`, `random N` and `random N seed S`.

namespace edgewise {

/// The patterns of a side's layers. Layer i has pattern i modulo the number of patterns.
class RelationPatterns {
 public:
  RelationPatterns(Direction direction, std::vector<RelationTerms> patterns)
      : direction_(direction), patterns_(std::move(patterns)) {}

  Direction direction() const { return direction_; }
  std::size_t size() const { return patterns_.size(); }
  const std::vector<RelationTerms>& patterns() const { return patterns_; }
  const RelationTerms& of_layer(std::size_t layer) const { return patterns_[layer % patterns_.size()]; }

  /// Returns whether a layer or every layer has the relation of a config without patterns: causal or, with kBoth,
  /// complete.
  bool is_default(std::size_t layer) const;
  bool is_default() const;

  friend bool operator==(const RelationPatterns&, const RelationPatterns&) = default;

 private:
  Direction direction_;
  std::vector<RelationTerms> patterns_;
};

/// Reads the patterns of a side. Throws Error, which begins with `option`, unless there are 1 to 1000 patterns of 1 to
/// 32 terms each: for an unknown term, one that lacks a number or has too many words, a number out of range, and
/// `complete` with Direction::kCausal.
RelationPatterns parse_patterns(const StringLists& texts, Direction direction, std::string_view option);

/// Returns the text of a term, from which parse_patterns reads an equal term if the kind ignores no field that differs
/// from its default.
std::string format_term(const RelationTerm& term);

/// Returns the texts of a layer's terms, with commas between them.
std::string format_terms(const RelationTerms& terms);

}  // namespace edgewise
