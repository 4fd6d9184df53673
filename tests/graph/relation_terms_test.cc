// SPDX-License-Identifier: Apache-2.0
// Terms of relations beside their formulas, for documents of random lengths.
#include "edgewise/graph/relation_terms.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>

#include "edgewise/graph/relation_ops.h"
#include "tests/graph/relations.h"

namespace edgewise {

void showValue(const RelationTerm& term, std::ostream& out) {
  out << enum_name(term.kind) << " " << term.size << " by " << term.step << " seed " << term.seed;
}

namespace {

using DocumentLengths = std::vector<std::int64_t>;

constexpr std::int64_t kHugeNumber = std::numeric_limits<std::int64_t>::max();

rc::Gen<Direction> arbitrary_direction() { return rc::gen::element(Direction::kBoth, Direction::kCausal); }

rc::Gen<RelationTerm> arbitrary_term(Direction direction) {
  const auto number = rc::gen::weightedOneOf<std::int64_t>(
      {{8, in_range<std::int64_t>(1, 9)}, {1, in_range<std::int64_t>(9, 40)}, {1, rc::gen::just(kHugeNumber)}});
  const auto kind =
      rc::gen::suchThat(rc::gen::map(in_range(0, static_cast<int>(enum_names(TermKind()).size())),
                                     [](int value) { return static_cast<TermKind>(value); }),
                        [=](TermKind of) { return direction == Direction::kBoth || of != TermKind::kComplete; });
  return rc::gen::build<RelationTerm>(
      rc::gen::set(&RelationTerm::kind, kind), rc::gen::set(&RelationTerm::size, number),
      rc::gen::set(&RelationTerm::step, number), rc::gen::set(&RelationTerm::seed, in_range<std::uint64_t>(0, 4)));
}

rc::Gen<DocumentLengths> arbitrary_document_lengths() { return arbitrary_list(0, 5, in_range<std::int64_t>(0, 24)); }

/// Returns whether token i of a document attends to token j, by the formula of a term that draws nothing.
bool is_permitted(const RelationTerm& term, Direction direction, std::int64_t i, std::int64_t j) {
  const bool is_causal = direction == Direction::kCausal;
  if (is_causal && j > i) return false;
  const std::int64_t distance = std::abs(i - j);
  switch (term.kind) {
    case TermKind::kCausal:
      return j <= i;
    case TermKind::kComplete:
    case TermKind::kDocument:
      return true;
    case TermKind::kWindow:
      return is_causal ? distance < term.size : distance <= term.size;
    case TermKind::kDilated:
      if (distance % term.step != 0) return false;
      return is_causal ? distance / term.step < term.size : distance / term.step <= term.size;
    case TermKind::kSinks:
      return j < term.size;
    case TermKind::kGlobal:
      return (j + 1) % term.size == 0;
    case TermKind::kBlocks:
      return i / term.size == j / term.size;
    case TermKind::kRandom:
      break;
  }
  fail("is_permitted: kind is random, needs another");
}

Relation relation_of_documents(const DocumentLengths& lengths,
                               const std::function<bool(std::int64_t, std::int64_t)>& permits) {
  std::vector<Edge> ends;
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) {
        if (permits(i, j)) ends.emplace_back(static_cast<NodeIndex>(first + j), static_cast<NodeIndex>(first + i));
      }
    }
    first += length;
  }
  return relation_of(first, first, ends);
}

RC_GTEST_PROP(RelationTerms, PermitTheEdgesOfTheirFormulas, ()) {
  const auto direction = *arbitrary_direction();
  const auto term = *rc::gen::suchThat(arbitrary_term(direction),
                                       [](const RelationTerm& drawn) { return drawn.kind != TermKind::kRandom; });
  const auto lengths = *arbitrary_document_lengths();

  RC_ASSERT(make_relation({&term, 1}, direction, lengths) ==
            relation_of_documents(lengths,
                                  [&](std::int64_t i, std::int64_t j) { return is_permitted(term, direction, i, j); }));
}

RC_GTEST_PROP(RelationTerms, DrawDifferentTokensAmongThoseThatTheDirectionPermits, ()) {
  const auto direction = *arbitrary_direction();
  const RelationTerm term = {
      .kind = TermKind::kRandom, .size = *in_range<std::int64_t>(1, 9), .seed = *rc::gen::arbitrary<std::uint64_t>()};
  const auto length = *in_range<std::int64_t>(1, 24);

  const Relation relation = make_relation({&term, 1}, direction, DocumentLengths{length, length});

  const RelationView rows = relation.view();
  for (std::int64_t token = 0; token < length; ++token) {
    const std::int64_t permitted = direction == Direction::kCausal ? token + 1 : length;
    RC_ASSERT(relation.row_size(token) == std::min(term.size, permitted));
    RC_ASSERT(relation.row_size(length + token) == relation.row_size(token));
    for (EdgeIndex edge = 0; edge < relation.row_size(token); ++edge) {
      const NodeIndex source = rows.source(token, rows.row_begin[token] + edge);
      RC_ASSERT(source >= 0 && source < permitted);
      // Not in one assertion: RC_ASSERT evaluates both sides of ||.
      if (edge > 0) RC_ASSERT(source > rows.source(token, rows.row_begin[token] + edge - 1));
      RC_ASSERT(rows.source(length + token, rows.row_begin[length + token] + edge) == length + source);
    }
  }
}

TEST(RelationTerms, DrawOtherTokensForEachTokenAndSeed) {
  const auto sources_of = [](std::int64_t token, std::uint64_t seed) {
    std::vector<NodeIndex> sources;
    const RelationTerm term = {.kind = TermKind::kRandom, .size = 20, .seed = seed};
    append_sources({&term, 1}, Direction::kBoth, {.token = token, .length = 1'000}, sources);
    return sources;
  };

  const std::set<std::vector<NodeIndex>> draws = {sources_of(0, 1), sources_of(1, 1), sources_of(0, 2),
                                                  sources_of(1, 2)};
  EXPECT_EQ(draws.size(), 4u);
}

RC_GTEST_PROP(RelationTerms, PermitTogetherTheEdgesOfEachTerm, ()) {
  const auto direction = *arbitrary_direction();
  const auto terms = *arbitrary_list(0, 6, arbitrary_term(direction));
  const auto lengths = *arbitrary_document_lengths();

  Relation united = relation_of_documents(lengths, [](std::int64_t, std::int64_t) { return false; });
  for (const RelationTerm& term : terms) united = unite(united, make_relation({&term, 1}, direction, lengths));

  const Relation relation = make_relation(terms, direction, lengths);
  RC_ASSERT(relation == united);
  RC_ASSERT(has_intervals(relation) == has_intervals(united.prefer_intervals()));
}

RC_GTEST_PROP(RelationTerms, MakeOneRelationOfTheRelationsOfDocuments, ()) {
  const auto direction = *arbitrary_direction();
  const auto terms = *arbitrary_list(1, 5, arbitrary_term(direction));
  const auto lengths = *arbitrary_document_lengths();

  std::vector<Relation> documents;
  EdgeIndex edges = 0;
  for (const std::int64_t length : lengths) {
    documents.push_back(make_relation(terms, direction, DocumentLengths{length}));
    RC_ASSERT(count_edges(terms, direction, length) == documents.back().num_edges());
    edges += documents.back().num_edges();
  }

  RC_ASSERT(make_relation(terms, direction, lengths) == join(documents));
  RC_ASSERT(make_relation(terms, direction, lengths).num_edges() == edges);
}

RC_GTEST_PROP(RelationTerms, AppendTheSourcesOfOneRow, ()) {
  const auto direction = *arbitrary_direction();
  const auto terms = *arbitrary_list(1, 5, arbitrary_term(direction));
  const auto length = *in_range<std::int64_t>(1, 24);
  const auto token = *in_range<std::int64_t>(0, length);
  const auto first = *in_range<std::int64_t>(0, 9);

  const Relation relation = make_relation(terms, direction, DocumentLengths{first, length});
  std::vector<NodeIndex> expected = {7};
  for (EdgeIndex edge = 0; edge < relation.row_size(first + token); ++edge) {
    expected.push_back(relation.view().source(first + token, relation.row_begin()[first + token] + edge));
  }

  std::vector<NodeIndex> sources = {7};
  append_sources(terms, direction, {.token = token, .length = length, .first = first}, sources);
  RC_ASSERT(sources == expected);
  std::vector<NodeIndex> without_later_tokens = {7};
  append_sources(terms, direction, {.token = token, .length = token + 1, .first = first}, without_later_tokens);
  RC_ASSERT(direction == Direction::kBoth || without_later_tokens == expected);
}

TEST(RelationTerms, KeepALongWindowInMemoryOfItsTokens) {
  const RelationTerm window_term = {.kind = TermKind::kWindow, .size = 1'000'000};
  const Relation relation = make_relation({&window_term, 1}, Direction::kCausal, DocumentLengths{3'000'000, 2'000'000});

  EXPECT_TRUE(has_intervals(relation));  // 3 · 10¹² edges would need 12 terabytes
  EXPECT_EQ(relation.row_size(2'999'999), 1'000'000);
  EXPECT_EQ(relation.row_size(3'000'000), 1);
}

TEST(RelationTerms, MakeIntervalsOfShortDocumentsWithWindowsAndSinks) {
  const RelationTerms terms = {{.kind = TermKind::kWindow, .size = 8}, {.kind = TermKind::kSinks, .size = 2}};

  EXPECT_TRUE(has_intervals(make_relation(terms, Direction::kCausal, DocumentLengths{10, 10})));
  EXPECT_FALSE(has_intervals(make_relation(terms, Direction::kCausal, DocumentLengths{10, 11})));
}

TEST(RelationTerms, HaveErrorsThatNameTheTerm) {
  const auto error_with = [](const RelationTerm& term, Direction direction = Direction::kBoth) {
    return error_of([&] { make_relation(RelationTerms{{}, term}, direction, DocumentLengths{3}); });
  };
  EXPECT_EQ(error_with({.kind = TermKind::kWindow, .size = 0}),
            "make_relation: size of terms[1] is 0, needs 1 or more");
  EXPECT_EQ(error_with({.kind = TermKind::kDilated, .step = -1}),
            "make_relation: step of terms[1] is -1, needs 1 or more");
  EXPECT_EQ(error_with({.kind = TermKind::kComplete}), "no error");
  EXPECT_EQ(error_with({.kind = TermKind::kComplete}, Direction::kCausal),
            "make_relation: terms[1] is complete, needs a term without later tokens with Direction::kCausal; use "
            "document");
  EXPECT_EQ(error_of([] {
              make_relation({}, Direction::kBoth, DocumentLengths{2, -1});
            }),
            "make_relation: length of a document is -1, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] {
              make_relation({}, Direction::kBoth, DocumentLengths{2'000'000'000, 2'000'000'000});
            }),
            "make_relation: the number of tokens of all documents is 4000000000, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] { count_edges({}, Direction::kBoth, -1); }),
            "count_edges: length is -1, needs a number from 0 to 2147483647");
}

}  // namespace
}  // namespace edgewise
