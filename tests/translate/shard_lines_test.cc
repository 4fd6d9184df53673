// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/shard_lines.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "tests/support/error_of.h"
#include "tests/translate/parts.h"

namespace edgewise {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(ShardLines lines) {
  Lines all;
  while (auto line = lines.next()) all.push_back(*line);
  EXPECT_EQ(lines.num_lines(), static_cast<std::int64_t>(all.size()));
  return all;
}

class ShardLinesTest : public PartsTest {
 protected:
  Lines lines_of_shards(const ShardedText& text, std::int64_t shards) const {
    Lines all;
    for (std::int64_t i = 0; i < shards; ++i) {
      const Lines lines = lines_of({text, text.shard(i, shards), {.caller = "test"}});
      EXPECT_EQ(text.read(text.shard(i, shards)).lines, static_cast<std::int64_t>(lines.size()));
      all.insert(all.end(), lines.begin(), lines.end());
    }
    return all;
  }
};

TEST_F(ShardLinesTest, AreTheLinesOfTheFileInAnyNumberOfShards) {
  EXPECT_TRUE(rc::check([&] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab\r\n\n")));
    const bool has_mark = *rc::gen::arbitrary<bool>();
    write("in", (has_mark ? "\xEF\xBB\xBF" : "") + bytes);
    Lines expected;
    TextLines whole({.path = path("in"), .caller = "test"});
    while (auto line = whole.next()) expected.push_back(*line);
    const ShardedText text({path("in")}, "test");
    RC_ASSERT(lines_of_shards(text, *rc::gen::inRange<std::int64_t>(1, 9)) == expected);
  }));
}

TEST_F(ShardLinesTest, AreTheLinesOfEachFile) {
  write("second", "\xEF\xBB\xBFlast\r\n");
  write("empty", "");
  const ShardedText text({path("in"), path("empty"), path("second")}, "test");
  for (const std::int64_t shards : {1, 2, 7}) {
    const Lines lines = lines_of_shards(text, shards);
    ASSERT_EQ(lines.size(), 61U);
    EXPECT_EQ(lines[0], "line 0");
    EXPECT_EQ(lines[60], "last");
  }
}

TEST_F(ShardLinesTest, AreLeftOutOnRequest) {
  const ShardedText text({path("in")}, "test");
  ShardLines lines(text, text.shard(0, 1), {.caller = "test"});
  lines.skip(59);
  EXPECT_EQ(lines.next(), "line 59...");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_EQ(error_of([&] { lines.skip(1); }), "test: the shard has 60 lines, needs the 61 that are translated");
}

TEST_F(ShardLinesTest, AreNamedByTheirShardsFirstByte) {
  write("in", "a\nb\n\xFF\n");
  const ShardedText text({path("in")}, "test");
  ShardLines last(text, text.shard(2, 3), {.caller = "test"});
  EXPECT_EQ(error_of([&] { last.next(); }),
            "test: " + path("in") + " (from byte 4):1 has a byte that is not UTF-8 at 0, UTF-8 is needed");
}

}  // namespace
}  // namespace edgewise
