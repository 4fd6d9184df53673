// SPDX-License-Identifier: Apache-2.0
// Reads event files with a second implementation of TensorFlow's TFRecord format and of the protobuf wire format.
#include "edgewise/train/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <variant>

#include "edgewise/base/crc32c.h"
#include "edgewise/base/files.h"
#include "edgewise/train/tensorboard.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

template <typename Number>
Number take(std::string_view& bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof(Number));
  bytes.remove_prefix(sizeof(Number));
  return value;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<unsigned char>(bytes);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

/// The values of a field in their order: numbers, or bytes for length-delimited fields.
using Values = std::vector<std::variant<std::uint64_t, std::string>>;
using Fields = std::map<std::uint64_t, Values>;

Fields fields_of_message(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    Values& values = fields[key >> 3];
    switch (key & 7) {
      case 0:
        values.emplace_back(take_varint(bytes));
        break;
      case 1:
        values.emplace_back(take<std::uint64_t>(bytes));
        break;
      case 5:
        values.emplace_back(std::uint64_t{take<std::uint32_t>(bytes)});
        break;
      default: {
        const std::uint64_t size = take_varint(bytes);
        values.emplace_back(std::string(bytes.substr(0, size)));
        bytes.remove_prefix(size);
      }
    }
  }
  return fields;
}

std::uint64_t number(const Fields& fields, std::uint64_t field) {
  return fields.contains(field) ? std::get<std::uint64_t>(fields.at(field).at(0)) : 0;
}
std::string bytes(const Fields& fields, std::uint64_t field) {
  return fields.contains(field) ? std::get<std::string>(fields.at(field).at(0)) : "";
}
double real(const Fields& fields, std::uint64_t field) { return std::bit_cast<double>(number(fields, field)); }

std::vector<Fields> read_events(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  std::string_view rest = text;
  std::vector<Fields> events;
  const auto mask = [](std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8; };
  while (!rest.empty()) {
    const std::string_view head = rest.substr(0, 8);
    const auto size = take<std::uint64_t>(rest);
    EXPECT_EQ(take<std::uint32_t>(rest), mask(crc32c(head)));
    const std::string_view event = rest.substr(0, size);
    rest.remove_prefix(size);
    EXPECT_EQ(take<std::uint32_t>(rest), mask(crc32c(event)));
    events.push_back(fields_of_message(event));
  }
  return events;
}

/// Returns the steps of each scalar over all event files of a run. Reads the files in the order of their names.
std::map<std::string, std::vector<std::uint64_t>> read_scalar_steps(const std::filesystem::path& run) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) files.insert(entry.path());
  }
  std::map<std::string, std::vector<std::uint64_t>> steps;
  for (const auto& file : files) {
    for (const Fields& event : read_events(file)) {
      const Fields summary = fields_of_message(bytes(event, 5));
      if (!summary.contains(1)) continue;
      for (const auto& value : summary.at(1)) {
        const Fields fields = fields_of_message(std::get<std::string>(value));
        if (fields.contains(2)) steps[bytes(fields, 1)].push_back(number(event, 2));
      }
    }
  }
  return steps;
}

TEST(Crc32c, HasTheTestValuesOfItsStandard) {
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');

  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43);
  EXPECT_EQ(crc32c(ascending), 0x46DD794E);
}

TEST(LayerOf, ReturnsTheLayerOfAParameter) {
  EXPECT_EQ(layer_of("encoder.layers.0.feed_forward.inner.weight"), "encoder.layers.0");
  EXPECT_EQ(layer_of("decoder.layers.11.norm.gain"), "decoder.layers.11");
  EXPECT_EQ(layer_of("decoder.norm.gain"), "decoder.norm");
  EXPECT_EQ(layer_of("generator.bias"), "generator");
  EXPECT_EQ(layer_of("table"), "table");
}

class EventFileTest : public RunFolder {
 protected:
  EventFileTest() { std::filesystem::create_directories(folder()); }

  std::filesystem::path file(const char* step) const {
    return folder() / (std::string("events.out.tfevents.00000000") + step);
  }

  void append_scalar(EventFile& events, std::int64_t step, double value) const {
    EventSummary summary;
    summary.add_scalar("valid/bleu", value);
    events.append(step, summary);
  }
};

TEST_F(EventFileTest, HoldsScalarsHistogramsAndTexts) {
  EventFile events(folder(), 0);
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
    EventFile events(folder(), 0);
    for (std::int64_t step : {10, 20, 30}) append_scalar(events, step, 1);
  }
  {
    EventFile resumed(folder(), 20);
    for (std::int64_t step : {30, 40}) append_scalar(resumed, step, 2);
  }
  EventFile resumed_again(folder(), 10);
  append_scalar(resumed_again, 20, 3);

  EXPECT_THAT(read_scalar_steps(folder())["valid/bleu"], ElementsAre(10, 20));
  EXPECT_FALSE(std::filesystem::exists(file("0020")));
  const Fields restart = read_events(file("0010"))[1];
  EXPECT_EQ(number(restart, 2), 11U);
  EXPECT_EQ(number(fields_of_message(bytes(restart, 7)), 1), 1U);
}

TEST_F(EventFileTest, LosesOnlyATruncatedEvent) {
  {
    EventFile events(folder(), 0);
    for (std::int64_t step : {10, 20}) append_scalar(events, step, 1);
  }
  std::filesystem::resize_file(file("0000"), std::filesystem::file_size(file("0000")) - 3);

  EventFile resumed(folder(), 20);

  EXPECT_THAT(read_scalar_steps(folder())["valid/bleu"], ElementsAre(10));
}

TEST_F(EventFileTest, RemovesTheEventFilesOfAnEarlierRun) {
  std::ofstream(file("0020")) << "of an earlier run";
  const EventFile events(folder(), 0);
  EXPECT_FALSE(std::filesystem::exists(file("0020")));
}

class TensorBoardTest : public RunFolder {};

TEST_F(TensorBoardTest, HasTheSameStepsForAResumedAndAnUninterruptedRun) {
  TrainOptions options = short_run();
  options.validate_every = 4;
  options.save_every = 5;
  const auto train = [&](const std::filesystem::path& run, std::int64_t lost_at, bool is_resumed) {
    TestRun parts(run, options);
    TensorBoard board(run, parts.task);
    Trainer trainer(options, parts.task, parts.batches, board, run);
    if (is_resumed) trainer.resume();
    if (lost_at > 0)
      parts.task.loss_factor = [=](std::int64_t loss) {
        if (loss == lost_at) throw std::runtime_error("killed");
        return 1.0;
      };
    trainer.run(parts.requests);
  };

  train(folder() / "uninterrupted", 0, false);
  EXPECT_THROW(train(folder() / "resumed", 9, false), std::runtime_error);
  train(folder() / "resumed", 0, true);

  const auto expected = read_scalar_steps(folder() / "uninterrupted");
  EXPECT_EQ(read_scalar_steps(folder() / "resumed"), expected);
  EXPECT_THAT(expected.at("valid/loss"), testing::Contains(8));
  for (const char* tag : {"train/loss", "train/learning_rate", "weight_norm/table", "gradient_norm/bias"}) {
    EXPECT_TRUE(expected.contains(tag)) << tag;
  }
}

}  // namespace
}  // namespace edgewise
