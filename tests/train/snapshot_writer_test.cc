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

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::ThrowsMessage;

class SnapshotWriterTest : public RunFolder {
 protected:
  Snapshot snapshot(const char* name, std::int64_t step) const {
    return {.step = step, .directory = folder() / name, .files = {{"numbers", std::to_string(step)}}};
  }

  static auto is_written(std::int64_t step, const std::filesystem::path& directory) {
    return AllOf(Field(&SnapshotWriter::Written::step, step), Field(&SnapshotWriter::Written::directory, directory));
  }
};

TEST_F(SnapshotWriterTest, WritesAllOfAStepInItsOrder) {
  SnapshotWriter writer;
  EXPECT_THAT(writer.written(), IsEmpty());
  EXPECT_THAT(writer.wait(), IsEmpty());

  writer.start({snapshot("best", 3), snapshot("last", 3)});

  EXPECT_THAT(writer.wait(), ElementsAre(is_written(3, folder() / "best"), is_written(3, folder() / "last")));
  EXPECT_THAT(writer.wait(), IsEmpty());
  EXPECT_EQ(read_file(folder() / "last/numbers"), "3");
  EXPECT_NO_THROW(verify_manifest(folder() / "best"));
}

TEST_F(SnapshotWriterTest, SaysOnceWhatIsWrittenWithoutWaiting) {
  SnapshotWriter writer;
  writer.start({snapshot("last", 3)});

  std::vector<SnapshotWriter::Written> written;
  while (written.empty()) written = writer.written();

  EXPECT_THAT(written, ElementsAre(is_written(3, folder() / "last")));
  EXPECT_THAT(writer.written(), IsEmpty());
}

TEST_F(SnapshotWriterTest, EndsWhenAllIsWritten) {
  {
    SnapshotWriter writer;
    writer.start({snapshot("last", 5)});
  }
  EXPECT_EQ(read_file(folder() / "last/numbers"), "5");
}

TEST_F(SnapshotWriterTest, GivesAnErrorToWhoeverTakesTheStepAndGoesOn) {
  std::filesystem::create_directory(folder());
  std::ofstream(folder() / "best") << "a file";
  SnapshotWriter writer;
  writer.start({snapshot("best", 3), snapshot("last", 3)});

  EXPECT_THROW(writer.wait(), Error);

  EXPECT_FALSE(std::filesystem::exists(folder() / "last"));
  writer.start({snapshot("last", 4)});
  EXPECT_THAT(writer.wait(), ElementsAre(is_written(4, folder() / "last")));
}

TEST_F(SnapshotWriterTest, WritesOneStepAtATime) {
  SnapshotWriter writer;
  writer.start({snapshot("last", 3)});
  EXPECT_THAT([&] { writer.start({snapshot("last", 4)}); },
              ThrowsMessage<Error>("SnapshotWriter::start: a step is being written, needs to be waited for"));
}

}  // namespace
}  // namespace edgewise
