// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/merge_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>

#include "edgewise/base/files.h"
#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/translate/parts.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MergeParts : public PartsTest {
 protected:
  void translate_all(std::int64_t shards) {
    for (std::int64_t i = 0; i < shards; ++i) translate_shard(i, shards);
  }

  MergedParts merge(std::int64_t shards, bool with_input = true) const {
    const ShardedText text({path("in")}, "test");
    return merge_parts(out(), shards, {.caller = "test", .input = with_input ? &text : nullptr});
  }

  /// Returns the error of merging, without the folder. No file may change.
  std::string error_of_merging(std::int64_t shards, bool with_input = true) const {
    write("out", "earlier\n");
    std::string error = error_of([&] { merge(shards, with_input); });
    EXPECT_EQ(read("out"), "earlier\n");
    const std::string prefix = path("");
    for (auto at = error.find(prefix); at != std::string::npos; at = error.find(prefix)) error.erase(at, prefix.size());
    return error;
  }
};

TEST_F(MergeParts, GivesTheTranslationOfTheWholeText) {
  for (const std::int64_t shards : {1, 3, 16, 200}) {  // with 200, most parts are empty
    translate_all(shards);
    const MergedParts merged = merge(shards, /*with_input=*/shards != 3);
    EXPECT_EQ(merged.lines, 60);
    EXPECT_THAT(merged.kernels, ElementsAre("avx2"));
    EXPECT_EQ(read("out"), translated());
  }
}

TEST_F(MergeParts, NamesMissingParts) {
  translate_all(16);
  for (const std::string number : {"03", "07", "08", "09"}) {
    std::filesystem::rename(path("out.part-000" + number + "-of-00016"),
                            path("out.part-000" + number + "-of-00016.unfinished"));
  }
  EXPECT_EQ(error_of_merging(16),
            "test: out lacks 4 of 16 parts, needs all; translate with --shard I/16 for each I of 3,7-9");
}

TEST_F(MergeParts, RefusesAPartThatWasAltered) {
  translate_all(2);
  const std::string part = read("out.part-00001-of-00002");
  std::string altered = part;
  altered[1] ^= 1;
  write("out.part-00001-of-00002", altered);
  EXPECT_EQ(error_of_merging(2),
            "test: out.part-00001-of-00002 has other bytes than its record says; remove both, and translate the shard "
            "again");
  write("out.part-00001-of-00002", part.substr(1));
  EXPECT_THAT(error_of_merging(2), HasSubstr("as in its record; remove the part and its record"));
  std::filesystem::remove(path("out.part-00001-of-00002.json"));
  EXPECT_THAT(error_of_merging(2), HasSubstr("out.part-00001-of-00002 has no record, needs "));
}

TEST_F(MergeParts, RefusesARecordOfAnotherShard) {
  translate_all(2);
  write("out.part-00001-of-00002.json", read("out.part-00000-of-00002.json"));
  EXPECT_EQ(error_of_merging(2), "test: out.part-00001-of-00002.json is the record of shard 0, needs 1");
}

TEST_F(MergeParts, RefusesPartsOfTwoTexts) {
  translate_shard(0, 2);
  const std::string text = read("in");
  write("in", "another\n" + text);
  translate_shard(1, 2);
  EXPECT_THAT(error_of_merging(2, /*with_input=*/false),
              HasSubstr("as in out.part-00000-of-00002.json; remove the parts of the other text"));
  write("in", text);
  EXPECT_THAT(error_of_merging(2), HasSubstr("out.part-00001-of-00002.json has an input "));
}

TEST_F(MergeParts, RefusesPartsWithAGap) {
  const ShardedText text({path("in")}, "test");
  translate_all(3);
  // The second part of two at the place of the third of three.
  PartRecord other = record(text, 2, 3);
  const TextShard shard = text.shard(1, 2);
  other.begin = shard.begin;
  const ShardContent content = text.read(shard);
  other.input_lines = other.lines = content.lines;
  other.input_sha256 = other.sha256 = content.sha256;
  other.bytes = std::filesystem::file_size(path("out.part-00002-of-00003"));
  other.is_complete = true;
  write("out.part-00002-of-00003.json", part_record_text(other));
  EXPECT_THAT(error_of_merging(3, /*with_input=*/false), HasSubstr("where the part before ends"));
}

TEST_F(MergeParts, ComparesThePartsWithEachLineOfTheInput) {
  std::string large;
  for (int i = 0; i < 400'000; ++i) large += "line\n";
  write("in", large);
  translate_all(3);
  large[5'001] = 'x';  // between the blocks of the sample
  write("in", large);
  EXPECT_EQ(error_of_merging(3),
            "test: out.part-00000-of-00003 is made from other lines than the input has; remove "
            "out.part-00000-of-00003*, and translate the shard again");
}

TEST_F(MergeParts, KeepsTheOldFileWhenTheDiskIsFull) {
  translate_all(4);
  write("out", "earlier\n");
  const std::vector<std::string> before = names();
  for (std::int64_t call = 1; call <= 4; ++call) {
    FaultyFileSystem full({.first = call, .are_lasting = true, .error = ENOSPC});
    {
      const ScopedFileSystem scope(full);
      EXPECT_THAT(error_of([&] { merge(4); }), HasSubstr("No space left on device"));
    }
    remove_leftover_files(out());
    EXPECT_EQ(read("out"), "earlier\n");
    EXPECT_EQ(names(), before);
  }
}

TEST(FormatRanges, WritesNumbersAsSlurmReadsThem) {
  EXPECT_EQ(format_ranges({}), "");
  EXPECT_EQ(format_ranges({3}), "3");
  EXPECT_EQ(format_ranges({3, 4}), "3-4");
  EXPECT_EQ(format_ranges({0, 3, 7, 8, 9, 11}), "0,3,7-9,11");
  EXPECT_EQ(format_ranges({1, 3, 5, 7, 9}, /*most=*/3), "1,3,5 and 2 more");
}

}  // namespace
}  // namespace edgewise
