// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/text/vocabulary/sentencepiece_check.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using namespace std::string_literals;

/// Builds a character map from units, which the test sets by index, and replacements.
std::string map_of(const std::vector<std::pair<std::size_t, std::uint32_t>>& units, std::size_t size,
                   const std::string& replacements) {
  std::vector<std::uint32_t> trie(size);
  for (const auto& [index, bits] : units) trie[index] = bits;
  std::string map(sizeof(std::uint32_t) * (size + 1), '\0');
  const auto bytes = static_cast<std::uint32_t>(size * sizeof(std::uint32_t));
  std::memcpy(map.data(), &bytes, sizeof(bytes));
  std::memcpy(map.data() + sizeof(bytes), trie.data(), bytes);
  return map + replacements;
}

std::string error_of_map(const std::string& map) {
  return error_of([&] { check_character_map(map, "map"); });
}

constexpr std::uint32_t leads_to(std::uint32_t offset) { return offset << 10; }
constexpr std::uint32_t kHasLeaf = 0x100;
constexpr std::uint32_t kLeaf = 0x80000000;

TEST(CharacterMapCheck, AcceptsARule) {
  // The root leads to state 256; from there 'a' leads to unit 256 ^ 'a' and to state 512, which has the leaf.
  const std::uint32_t a = 256 ^ 'a';
  const std::string map =
      map_of({{0, leads_to(256)}, {a, 'a' | kHasLeaf | leads_to(a ^ 512)}, {512, kLeaf | 0}}, 768, "b\0"s);

  EXPECT_EQ(error_of_map(map), "no error");
  EXPECT_EQ(error_of_map(""), "no error");
}

TEST(CharacterMapCheck, RejectsUnitsOutsideTheTrie) {
  const std::uint32_t a = 256 ^ 'a';

  EXPECT_EQ(error_of_map(map_of({{0, leads_to(1024)}}, 768, "\0"s)),
            "map has a trie of 768 units in which unit 0 leads to 1024, needs a block inside the trie");
  EXPECT_EQ(error_of_map(map_of({{0, leads_to(256)}, {a, 'a' | leads_to(a ^ 4096)}}, 768, "\0"s)),
            "map has a trie of 768 units in which unit 353 leads to 4096, needs a block inside the trie");
  EXPECT_EQ(error_of_map(
                map_of({{0, leads_to(256)}, {a, 'a' | kHasLeaf | leads_to(a ^ 512)}, {512, kLeaf | 2}}, 768, "b\0"s)),
            "map has a rule whose replacement is at byte 2, needs one of the 2 bytes of replacements");
  EXPECT_EQ(error_of_map(map_of({{0, leads_to(256)}}, 700, "\0"s)), "no error");
  EXPECT_EQ(error_of_map(map_of({{0, leads_to(256)}}, 500, "\0"s)),
            "map has a trie of 500 units in which unit 0 leads to 256, needs a block inside the trie");
}

TEST(CharacterMapCheck, RejectsLoopsWithEndlessMatches) {
  const std::uint32_t a = 256 ^ 'a';

  EXPECT_EQ(
      error_of_map(map_of({{0, leads_to(256)}, {a, 'a' | kHasLeaf | leads_to(a ^ 256)}, {256, kLeaf}}, 512, "b\0"s)),
      "map has a trie with a loop at unit 353, needs none");
}

TEST(CharacterMapCheck, RejectsMoreMatchesThanTheLibrarySupports) {
  // A chain of n rules, "a", "aa", "aaa", …, where state i is 256 * (i + 1).
  auto chain = [](std::uint32_t rules) {
    std::vector<std::pair<std::size_t, std::uint32_t>> units = {{0, leads_to(256)}};
    for (std::uint32_t i = 1; i <= rules; ++i) {
      const std::uint32_t unit = (256 * i) ^ 'a';
      units.emplace_back(unit, 'a' | kHasLeaf | leads_to(unit ^ (256 * (i + 1))));
      units.emplace_back(256 * (i + 1), kLeaf);
    }
    return map_of(units, 256 * (rules + 2), "b\0"s);
  };

  EXPECT_EQ(error_of_map(chain(32)), "no error");
  EXPECT_EQ(error_of_map(chain(33)), "map has a text with more than 32 rules for its beginning, needs at most 32");
}

TEST(CharacterMapCheck, RejectsInvalidReplacements) {
  const std::uint32_t a = 256 ^ 'a';
  auto with = [&](const std::string& replacements) {
    return error_of_map(
        map_of({{0, leads_to(256)}, {a, 'a' | kHasLeaf | leads_to(a ^ 512)}, {512, kLeaf}}, 768, replacements));
  };

  EXPECT_EQ(with("b"), "map has a last replacement without end, needs NUL after it");
  EXPECT_EQ(with("\xFF\0"s), "map has the replacement \"\\xff\", needs UTF-8");
  EXPECT_EQ(with(std::string(2000, 'b') + '\0'), "map has a replacement of 2000 bytes, needs at most 1024");
  EXPECT_EQ(with(""), "map has a trie of 3072 bytes, needs a multiple of 4 from 1024 to 3071");
  EXPECT_EQ(error_of_map(map_of({{0, leads_to(256) | kHasLeaf}}, 768, "\0"s)),
            "map has a rule for the empty text, needs rules for characters");
}

}  // namespace
}  // namespace edgewise
