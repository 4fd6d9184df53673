// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <numeric>

#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/train/event_reader.h"
#include "tests/train/run_folder.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

TEST(Crc32c, HasTheTestValuesOfItsStandard) {
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');

  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43);
  EXPECT_EQ(crc32c(ascending), 0x46DD794E);
}

class EventFileTest : public RunFolder {
 protected:
  EventFileTest() { std::filesystem::create_directories(folder()); }

  std::filesystem::path file(const char* step) const {
    return folder() / (std::string("events.out.tfevents.00000000") + step);
  }

  /// Returns a state of which the log and the validation of the last step count.
  static StartReport after(std::int64_t step) { return {.step = step, .is_logged = true, .validated_step = step}; }

  static void append_scalar(EventFile& events, std::int64_t step, double value, const char* tag = "valid/bleu") {
    EventSummary summary;
    summary.add_scalar(tag, value);
    events.append(step, summary);
  }
};

TEST_F(EventFileTest, HoldsScalarsHistogramsAndTexts) {
  EventFile events(folder(), {});
  EventSummary summary;
  summary.add_scalar("valid/bleu", 31.25);
  summary.add_histogram("weights/encoder", {-1, 2, 3, 1, 5, {0, 2}, {1, 2}});
  summary.add_text("valid/samples", "in | out");
  events.append(300, summary);

  const std::vector<Fields> found = read_events(file("0000"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(bytes(found[0], 3), "brain.Event:2");
  EXPECT_GT(real(found[0], 1), 1.7e9);  // seconds since 1970
  EXPECT_EQ(number(found[1], 2), 300U);
  const Values values = fields_of_message(bytes(found[1], 5)).at(1);
  ASSERT_EQ(values.size(), 3U);

  const Fields scalar = fields_of_message(std::get<std::string>(values[0]));
  EXPECT_EQ(bytes(scalar, 1), "valid/bleu");
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(number(scalar, 2))), 31.25f);

  const Fields histogram = fields_of_message(bytes(fields_of_message(std::get<std::string>(values[1])), 5));
  EXPECT_EQ(real(histogram, 1), -1);
  EXPECT_EQ(real(histogram, 5), 5);
  std::string_view limits = std::get<std::string>(histogram.at(6).at(0));
  EXPECT_EQ(take<double>(limits), 0);
  EXPECT_EQ(take<double>(limits), 2);

  const Fields text = fields_of_message(std::get<std::string>(values[2]));
  EXPECT_EQ(bytes(fields_of_message(bytes(fields_of_message(bytes(text, 9)), 1)), 1), "text");
  EXPECT_EQ(bytes(fields_of_message(bytes(text, 8)), 8), "in | out");
}

TEST_F(EventFileTest, HasNoStepTwiceAfterResumingFromAnEarlierStep) {
  {
    EventFile events(folder(), {});
    for (std::int64_t step : {10, 20, 30}) append_scalar(events, step, 1);
  }
  {
    EventFile resumed(folder(), after(20));
    for (std::int64_t step : {30, 40}) append_scalar(resumed, step, 2);
  }
  EventFile resumed_again(folder(), after(10));
  append_scalar(resumed_again, 20, 3);

  EXPECT_THAT(read_run_events(folder()).steps()["valid/bleu"], ElementsAre(10, 20));
  EXPECT_FALSE(std::filesystem::exists(file("0020")));
  const Fields restart = read_events(file("0010"))[1];
  EXPECT_EQ(number(restart, 2), 11U);
  EXPECT_EQ(number(fields_of_message(bytes(restart, 7)), 1), 1U);
}

TEST_F(EventFileTest, HasNoEventsOfALastStepThatWereNotDue) {
  using Steps = std::map<std::string, std::vector<std::uint64_t>>;
  const auto write = [](EventFile& events, std::initializer_list<const char*> tags) {
    for (const char* tag : tags) append_scalar(events, 20, 1, tag);
  };
  const auto steps_after = [&](const StartReport& start) {
    { const EventFile resumed(folder(), start); }
    Steps steps = read_run_events(folder()).steps();
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    return steps;
  };
  for (const char* first : {"0000", "0020"}) {  // in the file of an earlier process, or of one that began at this step
    SCOPED_TRACE(first);
    const StartReport begin = {.step = std::stoi(first)};
    {
      EventFile events(folder(), begin);
      write(events, {"train/loss", "valid/loss"});
    }
    EXPECT_EQ(steps_after({.step = 20}), Steps());
    {
      EventFile events(folder(), begin);
      write(events, {"train/loss", "valid/loss"});
    }
    EXPECT_EQ(steps_after({.step = 20, .is_logged = true}), (Steps{{"train/loss", {20}}}));
    {
      EventFile events(folder(), begin);
      write(events, {"valid/loss", "train/loss"});
    }
    EXPECT_EQ(steps_after({.step = 20, .validated_step = 20}), (Steps{{"valid/loss", {20}}}));
    {
      EventFile events(folder(), begin);
      write(events, {"train/loss", "valid/loss"});
    }
    EXPECT_EQ(steps_after(after(20)), (Steps{{"train/loss", {20}}, {"valid/loss", {20}}}));
  }
}

TEST_F(EventFileTest, LosesOnlyATruncatedEvent) {
  {
    EventFile events(folder(), {});
    for (std::int64_t step : {10, 20}) append_scalar(events, step, 1);
  }
  std::filesystem::resize_file(file("0000"), std::filesystem::file_size(file("0000")) - 3);

  EventFile resumed(folder(), after(20));

  EXPECT_THAT(read_run_events(folder()).steps()["valid/bleu"], ElementsAre(10));
}

TEST_F(EventFileTest, StaysCompleteWhenWritesFail) {
  FaultyFileSystem files({.first = 3, .are_lasting = false});
  const ScopedFileSystem replaced(files);
  EventFile events(folder(), {});
  append_scalar(events, 10, 1);
  EXPECT_EQ(files.failed_call(), "write");
  append_scalar(events, 20, 1);
  EXPECT_THAT(read_run_events(folder()).steps()["valid/bleu"], ElementsAre(10, 20));
}

TEST_F(EventFileTest, LosesNoSyncedEventAtAPowerCut) {
  FaultyFileSystem files({.removed_files = folder() / "removed"});
  {
    const ScopedFileSystem replaced(files);
    EventFile events(folder(), {});
    append_scalar(events, 10, 1);
    events.sync();
    append_scalar(events, 20, 1);
  }
  files.cut_power();
  EXPECT_THAT(read_run_events(folder()).steps()["valid/bleu"], ElementsAre(10));
}

TEST_F(EventFileTest, ReportsEventsThatCannotBeSynced) {
  FaultyFileSystem files({.first = 5});  // open, truncate, write, write, sync
  const ScopedFileSystem replaced(files);
  EventFile events(folder(), {});
  append_scalar(events, 10, 1);
  EXPECT_EQ(error_of([&] { events.sync(); }), "train: " + file("0000").string() + ": Input/output error");
  EXPECT_EQ(files.failed_call(), "sync");
  events.sync();
  EXPECT_THAT(read_run_events(folder()).steps()["valid/bleu"], ElementsAre(10));
}

TEST_F(EventFileTest, RemovesTheEventFilesOfAnEarlierRun) {
  std::ofstream(file("0020")) << "of an earlier run";
  const EventFile events(folder(), {});
  EXPECT_FALSE(std::filesystem::exists(file("0020")));
}

}  // namespace
}  // namespace edgewise
