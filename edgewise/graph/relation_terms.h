// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation.h"

// Attention patterns of texts as data: a list of terms, each of which permits some edges. The list permits the edges of
// all its terms, each edge once.
namespace edgewise {

/// Kinds of terms. A formula says when token i of a document attends to token j of the same document, both counted
/// from 0. With Direction::kCausal, j <= i must hold, too.
enum class TermKind {
  kCausal,    // j <= i
  kComplete,  // always; refused with Direction::kCausal
  kDocument,  // always
  kWindow,    // |i - j| <= size; with kCausal i - j < size: the last `size` tokens, i included
  kDilated,   // a window in steps: i - j is a multiple of `step`, and |i - j| / step <= size; with kCausal < size
  kSinks,     // j < size
  kGlobal,    // j + 1 is a multiple of size: the last token of each block of `size` tokens
  kBlocks,    // i and j are in one block of `size` tokens: j / size == i / size, rounded down
  kRandom,    // j is one of `size` tokens that are drawn for i among those that the direction permits, or of all these
};

inline constexpr auto enum_names(TermKind) {
  return names_in_order<TermKind>("causal", "complete", "document", "window", "dilated", "sinks", "global", "blocks",
                                  "random");
}

/// One term. A field that the formula of the kind does not name is ignored.
struct RelationTerm {
  TermKind kind = TermKind::kCausal;
  std::int64_t size = 1;   // at least 1
  std::int64_t step = 1;   // at least 1
  std::uint64_t seed = 1;  // kRandom draws the same numbers for token i of every document

  friend bool operator==(const RelationTerm&, const RelationTerm&) = default;
};

using RelationTerms = std::vector<RelationTerm>;

/// Throws Error, which begins with `caller`, for the first term that is out of range, and for kComplete with
/// Direction::kCausal.
void check_terms(std::span<const RelationTerm> terms, Direction direction, const char* caller);

/// A token of a document whose token 0 is node `first`.
struct DocumentToken {
  std::int64_t token = 0;   // in [0, length)
  std::int64_t length = 1;  // tokens of the document; without effect with Direction::kCausal
  std::int64_t first = 0;
};

/// Appends the nodes that a token attends to, ascending, each once. The terms must be valid. O(sources · terms).
void append_sources(std::span<const RelationTerm> terms, Direction direction, const DocumentToken& token,
                    std::vector<NodeIndex>& sources);

/// Makes the relation of the tokens of all documents, which follow one another; no edge joins two documents. The result
/// has the interval form if possible, in O(tokens · terms) time and O(tokens) memory if each term permits consecutive
/// tokens only; otherwise both are O(tokens + edges) for a fixed number of terms. Throws Error for terms that
/// check_terms refuses and for a negative length.
Relation make_relation(std::span<const RelationTerm> terms, Direction direction, std::span<const std::int64_t> lengths);

/// Counts the edges of a document of `length` tokens as make_relation does, but in constant memory for terms that
/// permit consecutive tokens only.
EdgeIndex count_edges(std::span<const RelationTerm> terms, Direction direction, std::int64_t length);

}  // namespace edgewise
