// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "tests/train/file_size_limit.h"
#include "tests/train/run_folder.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

std::string line(std::int64_t step) { return "{\"step\": " + std::to_string(step) + ", \"epoch\": 1}\n"; }

class Metrics : public RunFolder {
 protected:
  Metrics() : path_(folder() / "metrics.jsonl") { std::filesystem::create_directories(folder()); }

  std::string text() const { return read_file(path_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  std::filesystem::path path_;
};

TEST_F(Metrics, AreOneJsonObjectALine) {
  MetricsFile metrics(path_, 0);
  metrics.append(3, 1, {{"loss", 0.5}, {"skipped_steps", std::int64_t{2}}});
  metrics.append(3, 1, {{"valid_loss", std::numeric_limits<double>::quiet_NaN()}});

  EXPECT_EQ(text(),
            "{\"step\": 3, \"epoch\": 1, \"loss\": 0.5, \"skipped_steps\": 2}\n"
            "{\"step\": 3, \"epoch\": 1, \"valid_loss\": null}\n");
}

TEST_F(Metrics, KeepTheLinesUpToTheStepOfTheCheckpoint) {
  EXPECT_TRUE(rc::check([this] {
    const int lines = *rc::gen::inRange(0, 6);
    const int last_step = *rc::gen::inRange(0, 30);
    const int crumbs = *rc::gen::inRange(0, 20);
    std::string all;
    std::string expected;
    for (int i = 1; i <= lines; ++i) {
      all += line(5 * i);
      if (5 * i <= last_step) expected += line(5 * i);
    }
    write(all + line(35).substr(0, static_cast<std::size_t>(crumbs)));

    MetricsFile metrics(path_, last_step);
    metrics.append(40, 1, {});

    RC_ASSERT(text() == expected + line(40));
  }));
}

TEST_F(Metrics, HaveNoHalfLineWhenTheDiskIsFull) {
  MetricsFile metrics(path_, 0);
  metrics.append(1, 1, {});
  {
    const FileSizeLimit limit(line(1).size() + 5);
    EXPECT_THAT([&] { metrics.append(2, 1, {}); },
                ThrowsMessage<Error>("train: " + path_.string() + ": File too large"));
    EXPECT_EQ(text(), line(1));
  }
  metrics.append(3, 1, {});
  EXPECT_EQ(text(), line(1) + line(3));
}

TEST_F(Metrics, SayWhichLineIsNone) {
  write(line(1) + "{\"epoch\": 1}\n");
  EXPECT_THAT([&] { MetricsFile(path_, 5); },
              ThrowsMessage<Error>("train: " + path_.string() +
                                   ":2 has no step, needs one; move the file away to go on without it"));
  EXPECT_EQ(text(), line(1) + "{\"epoch\": 1}\n");
}

TEST_F(Metrics, SayWhyTheFileCannotBeWritten) {
  const std::string missing = (folder() / "none" / "metrics.jsonl").string();
  EXPECT_THAT([&] { MetricsFile(missing, 0); },
              ThrowsMessage<Error>("train: " + missing + ": No such file or directory"));
}

}  // namespace
}  // namespace edgewise
