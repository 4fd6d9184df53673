// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "tests/train/run_folder.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class SnapshotWriterTest : public RunFolder, public TrainObserver {
 protected:
  std::function<Snapshot()> snapshot(const char* name, std::int64_t step) const {
    return [this, name, step] {
      return Snapshot{.step = step,
                      .directory = folder() / name,
                      .files = {{"numbers", std::to_string(step)}},
                      .old_name = name == std::string("last") ? "previous" : ""};
    };
  }

  void on_save(std::int64_t step, const std::filesystem::path& directory) override {
    saves_.emplace_back(step, directory.filename().string());
  }
  void on_warning(std::int64_t step, const std::string& warning) override { warnings_.emplace_back(step, warning); }

  /// Makes writes of RUN/best fail until the file RUN/best is removed.
  void block_best() const {
    std::filesystem::create_directories(folder());
    std::ofstream(folder() / "best") << "a file";
  }
  auto error_of_best(const std::string& end) const {
    return "train: " + (folder() / "best").string() +
           " exists without a manifest.json, needs to be absent, empty or written by this program; choose another "
           "directory" +
           end;
  }

  /// Writes the added snapshots and waits until the observer has their result.
  void write_and_wait() {
    writer_.write();
    const std::size_t before = saves_.size() + warnings_.size();
    while (saves_.size() + warnings_.size() == before) writer_.write();
  }

  std::vector<std::pair<std::int64_t, std::string>> saves_;
  std::vector<std::pair<std::int64_t, std::string>> warnings_;
  SnapshotWriter writer_{*this};
};

TEST_F(SnapshotWriterTest, WritesTheSnapshotsOfAStepInOrder) {
  writer_.write();
  writer_.add(snapshot("best", 3));
  writer_.add(snapshot("last", 3));
  EXPECT_FALSE(std::filesystem::exists(folder()));

  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "best"), Pair(3, "last")));
  EXPECT_EQ(read_file(folder() / "last/numbers"), "3");
  EXPECT_NO_THROW(verify_manifest(folder() / "best"));
}

TEST_F(SnapshotWriterTest, ReportsFinishedWritesWithoutWaiting) {
  writer_.add(snapshot("last", 3));
  write_and_wait();
  EXPECT_THAT(saves_, ElementsAre(Pair(3, "last")));
  writer_.write();
  EXPECT_EQ(saves_.size(), 1U);
}

TEST_F(SnapshotWriterTest, WaitsForTheWriteInItsDestructor) {
  {
    SnapshotWriter writer(*this);
    writer.add(snapshot("last", 5));
    writer.write();
  }
  EXPECT_EQ(read_file(folder() / "last/numbers"), "5");
}

TEST_F(SnapshotWriterTest, WritesAFailedModelAgainBeforeTheNextState) {
  block_best();
  writer_.add(snapshot("best", 3));
  writer_.add(snapshot("last", 3));
  write_and_wait();
  EXPECT_THAT(warnings_, ElementsAre(Pair(3, error_of_best("; training goes on, and the next save tries again"))));
  EXPECT_FALSE(std::filesystem::exists(folder() / "last"));

  std::filesystem::remove(folder() / "best");
  writer_.add(snapshot("last", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "best"), Pair(4, "last")));
}

TEST_F(SnapshotWriterTest, DropsAFailedModelForANewerOne) {
  block_best();
  writer_.add(snapshot("best", 3));
  write_and_wait();

  std::filesystem::remove(folder() / "best");
  writer_.add(snapshot("best", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(4, "best")));
}

TEST_F(SnapshotWriterTest, ThrowsAfterThreeFailuresInARow) {
  block_best();
  for (std::int64_t step = 1; step <= 2; ++step) {
    writer_.add(snapshot("best", step));
    write_and_wait();
  }
  EXPECT_EQ(warnings_.size(), 2U);

  writer_.add(snapshot("best", 3));
  EXPECT_THAT([this] { write_and_wait(); }, ThrowsMessage<Error>(error_of_best("; 3 saves in a row have failed")));
}

TEST_F(SnapshotWriterTest, ThrowsWhenTheLastSaveFails) {
  block_best();
  writer_.add(snapshot("best", 3));
  EXPECT_THAT([this] { writer_.finish(); }, ThrowsMessage<Error>(error_of_best("")));
  EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace edgewise
