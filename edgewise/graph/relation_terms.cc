// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/relation_terms.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/graph/draw_distinct.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {
namespace {

/// The tokens begin, begin + step, begin + 2 · step and so on below `end`, of a document.
struct Progression {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t step = 1;

  bool is_interval() const { return step == 1 || end - begin <= step; }
};

/// Returns the tokens that a term permits for a token that may attend to the first `permitted` tokens of its document;
/// nothing for random tokens. No sum overflows, however large the term's numbers are.
std::optional<Progression> progression_of(const RelationTerm& term, Direction direction, std::int64_t token,
                                          std::int64_t permitted) {
  const bool is_causal = direction == Direction::kCausal;
  const std::int64_t size = term.size;
  switch (term.kind) {
    case TermKind::kCausal:
      return Progression{0, token + 1};
    case TermKind::kComplete:
    case TermKind::kDocument:
      return Progression{0, permitted};
    case TermKind::kWindow:
    case TermKind::kDilated: {
      const std::int64_t step = term.kind == TermKind::kWindow ? 1 : term.step;
      const std::int64_t back = std::min(is_causal ? size - 1 : size, token / step);
      const std::int64_t ahead = std::min(size, (permitted - 1 - token) / step);
      return Progression{token - back * step, token + ahead * step + 1, step};
    }
    case TermKind::kSinks:
      return Progression{0, std::min(size, permitted)};
    case TermKind::kGlobal:
      return Progression{std::min(size - 1, permitted), permitted, size};
    case TermKind::kBlocks: {
      const std::int64_t begin = token - token % size;
      return Progression{begin, begin + std::min(size, permitted - begin)};
    }
    case TermKind::kRandom:
      if (size >= permitted) return Progression{0, permitted};
      return std::nullopt;
  }
  fail("append_sources: kind of a term is {}, needs one of enum_names", static_cast<int>(term.kind));
}

/// The tokens that a list of terms permits for one token: disjoint ascending intervals that do not touch, and lists of
/// other tokens. An object is used for many tokens, because it keeps its memory.
class TokenSources {
 public:
  TokenSources(std::span<const RelationTerm> terms, Direction direction) : terms_(terms), direction_(direction) {}

  void set_token(std::int64_t token, std::int64_t length) {
    intervals_.clear();
    others_.clear();
    const std::int64_t permitted = direction_ == Direction::kCausal ? token + 1 : length;
    for (const RelationTerm& term : terms_) {
      const std::optional<Progression> tokens = progression_of(term, direction_, token, permitted);
      if (!tokens) {
        const auto stream = static_cast<std::uint64_t>(token);
        append_others(draw_distinct(RandomStream(term.seed, stream), term.size, permitted));
      } else if (tokens->begin >= tokens->end) {
        continue;
      } else if (tokens->is_interval()) {
        intervals_.push_back({tokens->begin, tokens->step == 1 ? tokens->end : tokens->begin + 1});
      } else {
        append_others(*tokens);
      }
    }
    join_intervals();
  }

  /// Returns the permitted tokens if they are consecutive and no list was needed to find them.
  std::optional<Progression> interval() const {
    if (!others_.empty() || intervals_.size() > 1) return std::nullopt;
    return intervals_.empty() ? Progression{0, 0} : intervals_.front();
  }

  void append_to(std::vector<NodeIndex>& sources, std::int64_t first) {
    if (others_.empty()) {
      for (const auto& [begin, end, step] : intervals_) {
        const std::size_t before = sources.size();
        sources.resize(before + static_cast<std::size_t>(end - begin));
        std::iota(sources.begin() + static_cast<std::ptrdiff_t>(before), sources.end(),
                  static_cast<NodeIndex>(first + begin));
      }
      return;
    }
    for (const auto& [begin, end, step] : intervals_) append_others(Progression{begin, end});
    for (const std::int64_t token : others_) sources.push_back(static_cast<NodeIndex>(first + token));
  }

  EdgeIndex count() {
    if (!others_.empty()) {
      for (const auto& [begin, end, step] : intervals_) append_others(Progression{begin, end});
      return std::ssize(others_);
    }
    return std::accumulate(intervals_.begin(), intervals_.end(), EdgeIndex{0},
                           [](EdgeIndex sum, const Progression& tokens) { return sum + (tokens.end - tokens.begin); });
  }

 private:
  void append_others(const Progression& tokens) {
    added_.clear();
    for (std::int64_t token = tokens.begin; token < tokens.end; token += tokens.step) {
      added_.push_back(token);
      if (tokens.end - token <= tokens.step) break;
    }
    merge(added_);
  }

  void append_others(const std::vector<std::int64_t>& tokens) { merge(tokens); }

  /// Adds ascending tokens to the others, which ascend.
  void merge(const std::vector<std::int64_t>& tokens) {
    merged_.clear();
    std::ranges::set_union(others_, tokens, std::back_inserter(merged_));
    std::swap(merged_, others_);
  }

  void join_intervals() {
    std::ranges::sort(intervals_, {}, &Progression::begin);
    std::size_t count = 0;
    for (const Progression& next : intervals_) {
      if (count > 0 && next.begin <= intervals_[count - 1].end) {
        intervals_[count - 1].end = std::max(intervals_[count - 1].end, next.end);
      } else {
        intervals_[count++] = next;
      }
    }
    intervals_.resize(count);
  }

  std::span<const RelationTerm> terms_;
  Direction direction_;
  std::vector<Progression> intervals_;
  std::vector<std::int64_t> others_, added_, merged_;
};

/// Returns the rows of all documents, or nothing if the sources of some row are not consecutive.
std::optional<std::vector<Interval>> make_intervals(TokenSources& token_sources, std::span<const std::int64_t> lengths,
                                                    std::int64_t num_nodes) {
  std::vector<Interval> rows;
  rows.reserve(static_cast<std::size_t>(num_nodes));
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t token = 0; token < length; ++token) {
      token_sources.set_token(token, length);
      const std::optional<Progression> row = token_sources.interval();
      if (!row) return std::nullopt;
      rows.push_back({static_cast<NodeIndex>(first + row->begin), static_cast<NodeIndex>(first + row->end)});
    }
    first += length;
  }
  return rows;
}

}  // namespace

void check_terms(std::span<const RelationTerm> terms, Direction direction, const char* caller) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const RelationTerm& term = terms[i];
    check(term.size >= 1, "{}: size of terms[{}] is {}, needs 1 or more", caller, i, term.size);
    check(term.step >= 1, "{}: step of terms[{}] is {}, needs 1 or more", caller, i, term.step);
    check(term.kind != TermKind::kComplete || direction != Direction::kCausal,
          "{}: terms[{}] is complete, needs a term without later tokens with Direction::kCausal; use document", caller,
          i);
  }
}

void append_sources(std::span<const RelationTerm> terms, Direction direction, const DocumentToken& token,
                    std::vector<NodeIndex>& sources) {
  TokenSources token_sources(terms, direction);
  token_sources.set_token(token.token, token.length);
  token_sources.append_to(sources, token.first);
}

Relation make_relation(std::span<const RelationTerm> terms, Direction direction,
                       std::span<const std::int64_t> lengths) {
  check_terms(terms, direction, "make_relation");
  std::int64_t num_nodes = 0;
  for (const std::int64_t length : lengths) {
    check_node_count(length, "make_relation: length of a document");
    num_nodes += length;
    check_node_count(num_nodes, "make_relation: the number of tokens of all documents");
  }
  TokenSources token_sources(terms, direction);
  if (auto rows = make_intervals(token_sources, lengths, num_nodes)) {
    return Relation::from_intervals(num_nodes, *std::move(rows));
  }
  std::size_t document = 0;
  DocumentToken next{.token = 0, .length = lengths[0], .first = 0};
  return Relation::from_rows(num_nodes, num_nodes, [&](std::int64_t row, std::vector<NodeIndex>& sources) {
    while (row == next.first + next.length) {
      next.first += next.length;
      next.length = lengths[++document];
    }
    token_sources.set_token(row - next.first, next.length);
    token_sources.append_to(sources, next.first);
  });
}

EdgeIndex count_edges(std::span<const RelationTerm> terms, Direction direction, std::int64_t length) {
  check_terms(terms, direction, "count_edges");
  check_node_count(length, "count_edges: length");
  TokenSources token_sources(terms, direction);
  EdgeIndex edges = 0;
  for (std::int64_t token = 0; token < length; ++token) {
    token_sources.set_token(token, length);
    edges += token_sources.count();
  }
  return edges;
}

}  // namespace edgewise
