// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "tests/support/whole_files.h"
#include "tests/train/run_folder.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
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
                      .is_state = name == std::string("last")};
    };
  }

  void add_state(const std::function<Snapshot()>& make_snapshot) {
    writer_.make_room_for_state();
    writer_.add_state(make_snapshot());
  }

  void on_save(std::int64_t step, const std::filesystem::path& directory) override {
    saves_.emplace_back(step, directory.filename().string());
  }
  void on_warning(std::int64_t step, const std::string& warning) override { warnings_.emplace_back(step, warning); }

  /// Makes writes of a directory of the run fail until unblock().
  void block(const char* name) const {
    std::filesystem::create_directories(folder());
    std::ofstream(folder() / name) << "a file";
  }
  void unblock(const char* name) const { std::filesystem::remove(folder() / name); }

  std::string error_of(const char* name, const std::string& end) const {
    return "train: " + (folder() / name).string() +
           " exists without a manifest.json, needs to be absent, empty or written by this program; choose another "
           "directory; " +
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

/// Cannot move a directory step-*.
class UnmovableModel : public FileSystem {
 public:
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    const bool is_model = from.filename().string().starts_with("step-") && from.extension().empty();
    if (!is_model) return FileSystem::rename(from, to);
    errno = EIO;
    return -1;
  }
};

TEST_F(SnapshotWriterTest, WritesTheSnapshotsOfAStepInOrder) {
  writer_.write();
  writer_.add_model(snapshot("best", 3));
  add_state(snapshot("last", 3));
  EXPECT_FALSE(std::filesystem::exists(folder()));

  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "best"), Pair(3, "last")));
  EXPECT_EQ(read_file(folder() / "last/numbers"), "3");
  EXPECT_NO_THROW(verify_manifest(folder() / "best"));
}

TEST_F(SnapshotWriterTest, ReportsFinishedWritesWithoutWaiting) {
  add_state(snapshot("last", 3));
  write_and_wait();
  EXPECT_THAT(saves_, ElementsAre(Pair(3, "last")));
  writer_.write();
  EXPECT_EQ(saves_.size(), 1U);
}

TEST_F(SnapshotWriterTest, WaitsForTheWriteInItsDestructor) {
  {
    SnapshotWriter writer(*this);
    writer.add_state(snapshot("last", 5)());
    writer.write();
  }
  EXPECT_EQ(read_file(folder() / "last/numbers"), "5");
}

TEST_F(SnapshotWriterTest, WritesAFailedModelAgainBeforeTheNextState) {
  block("best");
  writer_.add_model(snapshot("best", 3));
  add_state(snapshot("last", 3));
  write_and_wait();
  EXPECT_THAT(
      warnings_,
      ElementsAre(Pair(3, error_of("best", "no step is saved; training goes on, and the next save tries again"))));
  EXPECT_FALSE(std::filesystem::exists(folder() / "last"));

  unblock("best");
  add_state(snapshot("last", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "best"), Pair(4, "last")));
}

TEST_F(SnapshotWriterTest, DropsAFailedModelForANewerOne) {
  block("best");
  writer_.add_model(snapshot("best", 3));
  write_and_wait();

  unblock("best");
  writer_.add_model(snapshot("best", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(4, "best")));
}

TEST_F(SnapshotWriterTest, ThrowsAfterThreeFailuresInARow) {
  block("best");
  for (std::int64_t step = 1; step <= 2; ++step) {
    writer_.add_model(snapshot("best", step));
    write_and_wait();
  }
  EXPECT_EQ(warnings_.size(), 2U);

  writer_.add_model(snapshot("best", 3));
  EXPECT_THAT([this] { write_and_wait(); },
              ThrowsMessage<Error>(error_of("best", "no step is saved; 3 saves in a row have failed")));
}

TEST_F(SnapshotWriterTest, ThrowsWhenTheLastSaveFails) {
  block("best");
  writer_.add_model(snapshot("best", 3));
  EXPECT_THAT([this] { writer_.finish(); }, ThrowsMessage<Error>(error_of("best", "no step is saved")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(SnapshotWriterTest, ThrowsWhenALaterSaveSucceedsButAStateIsNotSaved) {
  block("last");
  writer_.set_saved_step(2);
  add_state(snapshot("last", 3));
  write_and_wait();

  writer_.add_model(snapshot("best", 4));
  EXPECT_THAT([this] { writer_.finish(); }, ThrowsMessage<Error>(error_of("last", "the last saved step is 2")));
}

TEST_F(SnapshotWriterTest, WritesAFailedStateAgainAtTheEnd) {
  block("last");
  add_state(snapshot("last", 3));
  write_and_wait();

  unblock("last");
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "last")));
  EXPECT_EQ(writer_.describe_saved_step(), "the last saved step is 3");
}

TEST_F(SnapshotWriterTest, DropsAFailedStateForANewerOne) {
  block("last");
  add_state(snapshot("last", 3));
  write_and_wait();

  unblock("last");
  writer_.add_model(snapshot("best", 4));
  add_state(snapshot("last", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(4, "best"), Pair(4, "last")));
}

TEST_F(SnapshotWriterTest, WritesTheModelsOfAFailedStateBeforeTheState) {
  block("best");
  writer_.add_model(snapshot("best", 3));
  add_state(snapshot("last", 3));
  write_and_wait();

  unblock("best");
  writer_.add_model(snapshot("best", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(3, "best"), Pair(3, "last"), Pair(4, "best")));
}

TEST_F(SnapshotWriterTest, DropsTheModelsOfAFailedStateForANewerStateAndNewerModels) {
  block("best");
  writer_.add_model(snapshot("best", 3));
  add_state(snapshot("last", 3));
  write_and_wait();

  unblock("best");
  writer_.add_model(snapshot("best", 4));
  add_state(snapshot("last", 4));
  writer_.finish();

  EXPECT_THAT(saves_, ElementsAre(Pair(4, "best"), Pair(4, "last")));
}

TEST_F(SnapshotWriterTest, TriesAgainToRemoveAModelThatIsNotKept) {
  writer_.add_model(snapshot("step-00000002", 2));
  writer_.finish();
  const auto state = [this](std::int64_t step) {
    return [this, step] {
      Snapshot last = snapshot("last", step)();
      last.remaining_checkpoints.emplace();
      return last;
    };
  };
  {
    UnmovableModel files;
    const ScopedFileSystem replaced(files);
    add_state(state(3));
    write_and_wait();
    EXPECT_THAT(warnings_, ElementsAre(Pair(3, "train: " + (folder() / "step-00000002").string() +
                                                   " cannot be removed: Input/output error; the last saved step is 3; "
                                                   "training goes on, and the next save tries again")));
    EXPECT_THAT([&] { writer_.finish(); }, ThrowsMessage<Error>(HasSubstr("cannot be removed: Input/output error")));
  }
  EXPECT_TRUE(std::filesystem::exists(folder() / "step-00000002"));

  writer_.finish();

  EXPECT_FALSE(std::filesystem::exists(folder() / "step-00000002"));
  EXPECT_THAT(saves_, ElementsAre(Pair(2, "step-00000002"), Pair(3, "last")));
}

TEST_F(SnapshotWriterTest, TriesAgainOnlyAtTheNextSave) {
  block("last");
  add_state(snapshot("last", 3));
  write_and_wait();
  for (int step = 0; step < 100; ++step) writer_.write();
  EXPECT_EQ(warnings_.size(), 1U);
}

}  // namespace
}  // namespace edgewise
