// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/search/rules.h"

namespace edgewise {

/// The rules of sampling, of scoring, and of beam search with BeamRules::kEdgewise.
class EdgewiseRules final : public SearchRules {
 public:
  EdgewiseRules(const SearchOptions& options, std::int64_t vocabulary_size);

  std::int64_t longest_output(std::int64_t input_length) const override;
  std::int64_t shortest_output(std::int64_t input_length) const override;
  std::int64_t num_candidates() const override;
  bool needs_all_continuations() const override;
  double score(double log_probability, std::int64_t length) const override;
  std::size_t num_ranked(std::size_t num_finished) const override;
  KeptExtensions keep(std::vector<Extension> best, bool is_at_limit) const override;
  bool is_done(const BeamState& state) const override;

 private:
  /// Returns the most tokens of an output, without its end token.
  std::int64_t length_limit(std::int64_t input_length) const;
};

}  // namespace edgewise
