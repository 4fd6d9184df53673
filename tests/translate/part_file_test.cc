// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/part_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cerrno>
#include <functional>

#include "edgewise/base/file_system.h"
#include "edgewise/base/sha256.h"
#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/translate/parts.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Claim = PartFile::Claim;

using PartFiles = PartsTest;

TEST_F(PartFiles, ArePartsAndRecords) {
  EXPECT_EQ(translate_shard(0, 1), Claim::kWritable);
  EXPECT_THAT(names(), ElementsAre("in", "out.part-00000-of-00001", "out.part-00000-of-00001.json"));
  EXPECT_EQ(read("out.part-00000-of-00001"), translated());

  const PartRecord record = read_complete_record(part_paths(out(), 0, 1), 0, "test");
  EXPECT_EQ(record.lines, 60);
  EXPECT_EQ(record.sha256, sha256(translated()));
  EXPECT_EQ(record.input_sha256, sha256(read("in")));
}

TEST_F(PartFiles, StayWhenTheirCommandIsRepeated) {
  translate_shard(1, 3);
  const auto written = std::filesystem::last_write_time(path("out.part-00001-of-00003.json"));
  EXPECT_EQ(translate_shard(1, 3), Claim::kComplete);
  EXPECT_EQ(std::filesystem::last_write_time(path("out.part-00001-of-00003.json")), written);
}

TEST_F(PartFiles, AreContinuedBehindTheLastSave) {
  const ShardedText text({path("in")}, "test");
  {
    PartFile killed = part(record(text, 0, 2));
    killed.claim();
    translate_some(killed, text, /*most=*/11);  // the eleventh line is written, but not saved
  }
  PartFile next = part(record(text, 0, 2));
  ASSERT_EQ(next.claim(), Claim::kWritable);
  next.begin(text.read(text.shard(0, 2)));
  EXPECT_EQ(next.record().lines, 10);
  EXPECT_EQ(read("out.part-00000-of-00002.unfinished").size(), next.record().bytes);
  EXPECT_EQ(reports, "");

  translate_some(next, text, /*most=*/1000);
  next.complete();
  translate_shard(1, 2);
  EXPECT_EQ(read("out.part-00000-of-00002") + read("out.part-00001-of-00002"), translated());
}

TEST_F(PartFiles, AreBegunAgainIfTheSavedLinesWereAltered) {
  const ShardedText text({path("in")}, "test");
  for (const std::string_view altered : {"", "[line 9]\n[line 1.]\n[line 2..]\n[line 3...]\n"}) {
    {
      PartFile killed = part(record(text, 0, 1));
      killed.claim();
      translate_some(killed, text, /*most=*/4);
    }
    write("out.part-00000-of-00001.unfinished", altered);
    reports.clear();
    translate_shard(0, 1);
    EXPECT_EQ(reports, "test: " + path("out.part-00000-of-00001.unfinished") +
                           " has other bytes than its record says; it is begun again");
    EXPECT_EQ(read("out.part-00000-of-00001"), translated());
    std::filesystem::remove(path("out.part-00000-of-00001"));
    std::filesystem::remove(path("out.part-00000-of-00001.json"));
  }
}

TEST_F(PartFiles, HaveLinesOfOneInstructionSet) {
  const ShardedText text({path("in")}, "test");
  PartRecord needed = record(text, 0, 1);
  {
    PartFile killed = part(needed);
    killed.claim();
    translate_some(killed, text, /*most=*/4);
  }
  needed.kernels = "avx512";
  PartFile other = part(needed);
  other.claim();
  other.begin(text.read(text.shard(0, 1)));
  EXPECT_EQ(other.record().lines, 0);
  EXPECT_EQ(reports, "test: " + path("out.part-00000-of-00001.unfinished") +
                         " was computed with avx2, and this machine computes with avx512; it is begun again");
}

TEST_F(PartFiles, HaveOneWriterAtATime) {
  const ShardedText text({path("in")}, "test");
  {
    PartFile first = part(record(text, 0, 1));
    EXPECT_EQ(first.claim(), Claim::kWritable);
    EXPECT_EQ(part(record(text, 0, 1)).claim(), Claim::kLocked);
  }
  EXPECT_EQ(part(record(text, 0, 1)).claim(), Claim::kWritable);
}

/// A record that differs from that of the part, and the difference.
struct OtherRecord {
  std::function<void(PartRecord&)> change;
  std::string difference;
};

TEST_F(PartFiles, RefuseAnotherTextModelOptionAndVersion) {
  const std::vector<OtherRecord> cases = {
      {[](PartRecord& needed) { needed.program = "edgewise 2"; }, "has program \"edgewise 1\", needs \"edgewise 2\""},
      {[](PartRecord& needed) { needed.inputs.push_back(needed.inputs[0]); }, "has 1 input files, needs 2"},
      {[](PartRecord& needed) { needed.inputs[0].size = 7; }, " bytes, needs 7 bytes"},
      {[](PartRecord& needed) { needed.inputs[0].sha256[0] = 'x'; }, "with other contents"},
      {[](PartRecord& needed) { needed.models[0][0] = 'b'; }, "has another model"},
      {[](PartRecord& needed) { needed.models.push_back(needed.models[0]); }, "has 1 models, needs 2"},
      {[](PartRecord& needed) { needed.options[0].second = "5"; }, "has beam 4, needs 5"},
      {[](PartRecord& needed) { needed.options.emplace_back("scores", "true"); }, "has scores none, needs true"},
      {[](PartRecord& needed) { needed.begin = 5; }, "has bytes 0 to "},
  };
  const ShardedText text({path("in")}, "test");
  for (const bool is_complete : {false, true}) {
    if (is_complete) {
      translate_shard(0, 2);
    } else {
      PartFile killed = part(record(text, 0, 2));
      killed.claim();
      translate_some(killed, text, /*most=*/4);
    }
    const std::vector<std::string> before = names();
    for (const OtherRecord& other : cases) {
      PartRecord needed = record(text, 0, 2);
      other.change(needed);
      const std::string error = error_of([&] {
        PartFile file = part(needed);
        if (file.claim() == Claim::kWritable) file.begin(text.read(text.shard(0, 2)));
      });
      const std::string where = path("out.part-00000-of-00002");
      EXPECT_TRUE(error.starts_with("test: " + where + ".json has ")) << error;
      EXPECT_THAT(error, HasSubstr(other.difference));
      EXPECT_TRUE(
          error.ends_with("; repeat the command that began it, or remove " + where + "* to translate the shard again"))
          << error;
    }
    EXPECT_EQ(names(), before);
  }
}

TEST_F(PartFiles, RefuseAnInputThatWasAlteredWhereNoSampleIs) {
  std::string large;
  for (int i = 0; i < 400'000; ++i) large += "line\n";
  write("in", large);
  {
    const ShardedText text({path("in")}, "test");
    PartFile killed = part(record(text, 0, 2));
    killed.claim();
    translate_some(killed, text, /*most=*/4);
  }
  translate_shard(1, 2);
  for (const std::size_t position : {std::size_t{5'001}, std::size_t{1'500'001}}) large[position] = 'x';
  write("in", large);

  const ShardedText text({path("in")}, "test");
  const std::string contents = " has an input with other contents between its begin and end; ";
  PartFile unfinished = part(record(text, 0, 2));
  ASSERT_EQ(unfinished.claim(), Claim::kWritable);
  EXPECT_THAT(error_of([&] { unfinished.begin(text.read(text.shard(0, 2))); }), HasSubstr(contents));
  PartFile complete = part(record(text, 1, 2));
  ASSERT_EQ(complete.claim(), Claim::kComplete);
  EXPECT_THAT(error_of([&] { complete.check_input(text.read(text.shard(1, 2))); }), HasSubstr(contents));
}

TEST_F(PartFiles, HaveAsManyLinesAsTheirShard) {
  const ShardedText text({path("in")}, "test");
  PartFile short_part = part(record(text, 0, 1));
  short_part.claim();
  translate_some(short_part, text, /*most=*/3);
  EXPECT_EQ(error_of([&] { short_part.complete(); }),
            "test: " + path("out.part-00000-of-00001.unfinished") + " has 3 lines, needs the 60 of the input");
}

struct FaultKind {
  std::string name;
  Faults faults;
  bool cuts_power = false;
};

class PartFaults : public PartsTest, public testing::WithParamInterface<FaultKind> {
 protected:
  PartFaults() { write("in", "a\nb\n\nc\nd\ne"); }  // few lines, because each save is synced several times

  std::string error_under(FileSystem& file_system) {
    const ScopedFileSystem scope(file_system);
    return error_of([&] { translate_shard(0, 1); });
  }
};

/// Fails each file system call in turn, and then repeats the command as a user does.
TEST_P(PartFaults, LoseNothing) {
  std::int64_t num_calls = 1;
  int errors = 0;
  for (std::int64_t call = 1; call <= num_calls; ++call) {
    std::filesystem::remove_all(path("removed"));
    for (const std::string& name : names()) {
      if (name.starts_with("out")) std::filesystem::remove(path(name));
    }
    std::filesystem::create_directory(path("removed"));
    Faults faults = GetParam().faults;
    faults.first = call;
    if (GetParam().cuts_power) faults.removed_files = path("removed");
    std::string what;
    {
      FaultyFileSystem faulty(faults);  // holds copies of descriptors, and thereby their locks
      what = error_under(faulty);
      num_calls = std::max(num_calls, faulty.num_calls());
      if (what != "no error") ++errors;
      if (GetParam().cuts_power) faulty.cut_power();
    }
    SCOPED_TRACE(std::to_string(call) + ": " + what);

    ASSERT_NO_THROW(translate_shard(0, 1));
    ASSERT_EQ(read("out.part-00000-of-00001"), translated());
    ASSERT_EQ(read_complete_record(part_paths(out(), 0, 1), 0, "test").sha256, sha256(translated()));
  }
  EXPECT_GT(num_calls, 8);
  EXPECT_EQ(errors > 20, !GetParam().faults.is_short_write) << errors;
}

INSTANTIATE_TEST_SUITE_P(, PartFaults,
                         testing::Values(FaultKind{.name = "NoSpace", .faults = {.are_lasting = true, .error = ENOSPC}},
                                         FaultKind{.name = "OneError", .faults = {.error = EIO}},
                                         FaultKind{.name = "ShortWrite", .faults = {.is_short_write = true}},
                                         FaultKind{
                                             .name = "PowerCut", .faults = {.are_lasting = true}, .cuts_power = true}),
                         [](const auto& kind) { return kind.param.name; });

TEST_F(PartFiles, SayHowManyLinesAreKeptWhenTheDiskIsFull) {
  const ShardedText text({path("in")}, "test");
  PartFile file = part(record(text, 0, 1));
  file.claim();
  translate_some(file, text, /*most=*/4);
  FaultyFileSystem full({.first = 1, .are_lasting = true, .error = ENOSPC});
  const ScopedFileSystem scope(full);
  EXPECT_EQ(error_of([&] { file.write("[x]\n"); }),
            "test: " + path("out.part-00000-of-00001.unfinished") +
                ": No space left on device; 4 lines are kept, and the same command continues after them");
  EXPECT_EQ(error_of([&] { file.save(); }), "no error");
}

TEST_F(PartFiles, SayHowManyLinesAreKeptWhenTheRecordFillsTheDisk) {
  const ShardedText text({path("in")}, "test");
  PartFile file = part(record(text, 0, 1));
  file.claim();
  translate_some(file, text, /*most=*/4);
  const std::string saved = read("out.part-00000-of-00001.json");
  FaultyFileSystem full({.first = 3, .are_lasting = true, .error = ENOSPC});  // the first calls write and sync the line
  const ScopedFileSystem scope(full);
  file.write("[x]\n");
  EXPECT_EQ(error_of([&] { file.save(); }), "test: " + path("out.part-00000-of-00001.json") +
                                                ": No space left on device; nothing was replaced; 4 lines are kept, "
                                                "and the same command continues after them");
  EXPECT_EQ(read("out.part-00000-of-00001.json"), saved);
}

}  // namespace
}  // namespace edgewise
