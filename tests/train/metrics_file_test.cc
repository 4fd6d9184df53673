// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "tests/support/faulty_file_system.h"
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

TEST_F(Metrics, AreOneJsonObjectPerLine) {
  MetricsFile metrics(path_, 0);
  metrics.append(3, 1, {{"loss", 0.5}, {"skipped_steps", std::int64_t{2}}});
  metrics.append(3, 1, {{"valid_loss", std::numeric_limits<double>::quiet_NaN()}});

  EXPECT_EQ(text(),
            "{\"step\": 3, \"epoch\": 1, \"loss\": 0.5, \"skipped_steps\": 2}\n"
            "{\"step\": 3, \"epoch\": 1, \"valid_loss\": null}\n");
}

TEST_F(Metrics, KeepTheCompleteLinesUpToTheSavedSize) {
  EXPECT_TRUE(rc::check([this] {
    const int lines = *rc::gen::inRange(0, 6);
    std::string all;
    for (int i = 1; i <= lines; ++i) all += line(5 * i);
    const int size = *rc::gen::inRange(0, static_cast<int>(all.size()) + 40);
    const int crumbs = *rc::gen::inRange(0, 20);
    const std::string kept = all.substr(0, static_cast<std::size_t>(size));
    write(all + line(35).substr(0, static_cast<std::size_t>(crumbs)));

    MetricsFile metrics(path_, size);
    metrics.append(40, 1, {});

    RC_ASSERT(text() == kept.substr(0, kept.rfind('\n') + 1) + line(40));
    RC_ASSERT(metrics.sync() == static_cast<std::int64_t>(text().size()));
  }));
}

TEST_F(Metrics, MayBeLargerThanMemory) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 41;
  write(line(1));
  std::filesystem::resize_file(path_, kLarge);  // zeros without memory on the disk
  std::ofstream(path_, std::ios::app | std::ios::binary) << "\n" << line(2).substr(0, 7);

  MetricsFile metrics(path_, static_cast<std::int64_t>(kLarge) + 5);

  EXPECT_EQ(metrics.sync(), static_cast<std::int64_t>(kLarge) + 1);
}

TEST_F(Metrics, KeepLinesInMemoryUntilTheDiskHasSpace) {
  MetricsFile metrics(path_, 0);
  metrics.append(1, 1, {});
  {
    const FileSizeLimit limit(line(1).size() + 5);
    metrics.append(2, 1, {});
    EXPECT_EQ(text(), line(1));
    EXPECT_THAT([&] { metrics.sync(); }, ThrowsMessage<Error>("train: " + path_.string() + ": File too large"));
    EXPECT_EQ(text(), line(1));
  }
  metrics.append(3, 1, {});
  EXPECT_EQ(metrics.sync(), static_cast<std::int64_t>(3 * line(1).size()));
  EXPECT_EQ(text(), line(1) + line(2) + line(3));
}

TEST_F(Metrics, HaveNoPartialLineAfterADiskFailure) {
  MetricsFile metrics(path_, 0);
  metrics.append(1, 1, {});
  {
    FaultyFileSystem files({.first = 1, .are_lasting = true});  // removing the partial line fails too
    const ScopedFileSystem replaced(files);
    metrics.append(2, 1, {});
    EXPECT_NE(text(), line(1));
  }
  metrics.append(3, 1, {});
  EXPECT_EQ(text(), line(1) + line(2) + line(3));
}

TEST_F(Metrics, AreWrittenAgainAfterASyncThatLosesThem) {
  // open, truncate, write, sync; open, sync and close of the folder; write, write, sync
  FaultyFileSystem files({.first = 10});
  const ScopedFileSystem replaced(files);
  MetricsFile metrics(path_, 0);
  metrics.append(1, 1, {});
  metrics.sync();
  metrics.append(2, 1, {});
  metrics.append(3, 1, {});
  EXPECT_THAT([&] { metrics.sync(); }, ThrowsMessage<Error>("train: " + path_.string() + ": Input/output error"));
  EXPECT_EQ(text(), line(1));

  metrics.append(4, 1, {});
  EXPECT_EQ(metrics.sync(), static_cast<std::int64_t>(4 * line(1).size()));
  EXPECT_EQ(text(), line(1) + line(2) + line(3) + line(4));
}

TEST_F(Metrics, AreNotLostAtAPowerCut) {
  FaultyFileSystem files({.removed_files = folder() / "removed"});
  {
    const ScopedFileSystem replaced(files);
    MetricsFile metrics(path_, 0);
    metrics.append(1, 1, {});
    metrics.sync();
    metrics.append(2, 1, {});
  }
  files.cut_power();
  EXPECT_EQ(text(), line(1));
}

TEST_F(Metrics, ReportWhyTheFileCannotBeWritten) {
  const std::string missing = (folder() / "none" / "metrics.jsonl").string();
  EXPECT_THAT([&] { MetricsFile(missing, 0); },
              ThrowsMessage<Error>("train: " + missing + ": No such file or directory"));
}

}  // namespace
}  // namespace edgewise
