// SPDX-License-Identifier: Apache-2.0
// Tests resumed trainings of edgewise train whose run directory was altered.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/manifest.h"
#include "tests/support/error_of.h"
#include "tests/train/experiment_run.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

/// Resumes a run of five steps, of which the last is logged and validated although neither is due.
class ExperimentResumeTest : public ExperimentRun {
 protected:
  ExperimentResumeTest() { train(whole_); }

  /// Gives the run that the test resumes the files of the finished run.
  void copy_run() const {
    fs::remove_all(run_);
    fs::copy(whole_, run_, fs::copy_options::recursive);
  }

  void write(const fs::path& file, const std::string& bytes) const { std::ofstream(file, std::ios::binary) << bytes; }

  std::string error_of_resuming() const {
    return error_of([this] { train(run_); });
  }

  fs::path whole_ = folder() / "whole";
  fs::path run_ = folder() / "run";
  const std::vector<std::string> appended_files_ = {"metrics.jsonl", "attention.jsonl",
                                                    "events.out.tfevents.000000000000", "lock"};
};

/// Counts the bytes that are read from files of one name.
class CountedReads : public FileSystem {
 public:
  explicit CountedReads(std::string name) : name_(std::move(name)) {}

  ssize_t read_at(int file, std::uint64_t offset, std::span<char> buffer) override {
    const ssize_t count = FileSystem::read_at(file, offset, buffer);
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(file));
    if (path.filename() == name_ && count > 0) bytes += static_cast<std::uint64_t>(count);
    return count;
  }

  std::atomic<std::uint64_t> bytes = 0;

 private:
  std::string name_;
};

TEST_F(ExperimentResumeTest, ReadsTheStateOnceToCheckItAndOnceToLoadIt) {
  copy_run();
  CountedReads files("training.safetensors");
  const ScopedFileSystem replaced(files);
  train(run_);
  EXPECT_EQ(files.bytes.load(), 2 * fs::file_size(run_ / "last/training.safetensors"));
}

/// Records what a run says about the checkpoint that it restores.
struct RestoreObserver : RunObserver {
  void on_restore(const std::string& text) override { damage += text; }
  void on_warning(std::int64_t /*step*/, const std::string& text) override { warnings += text; }

  std::string damage;
  std::string warnings;
};

TEST_F(ExperimentResumeTest, GoesOnFromTheCheckpointBeforeOneThatLacksAFile) {
  for (const std::string name :
       {"config.toml", "vocabulary.txt", "model.safetensors", "training.safetensors", "training.toml"}) {
    SCOPED_TRACE(name);
    copy_run();
    Manifest manifest = read_manifest(run_ / "last");
    EXPECT_EQ(std::erase_if(manifest.files, [&](const ManifestEntry& entry) { return entry.name == name; }), 1U);
    write(run_ / "last/manifest.json", manifest_text(manifest));

    RestoreObserver observer;
    train(run_, observer);

    EXPECT_THAT(observer.damage, AllOf(HasSubstr("last/manifest.json does not list " + name),
                                       HasSubstr("previous has taken its place")));
    EXPECT_EQ(observer.warnings, "");
    expect_same_run(run_, whole_);
  }
}

TEST_F(ExperimentResumeTest, ChangesNoFileThatALinkNames) {
  for (const std::string& name : appended_files_) {
    copy_run();
    const fs::path foreign = folder() / "foreign";
    fs::rename(run_ / name, foreign);
    fs::create_symlink(foreign, run_ / name);

    EXPECT_EQ(error_of_resuming(),
              "train: " + (run_ / name).string() + " is a symbolic link, needs to be a regular file");
    EXPECT_TRUE(read_file(foreign) == read_file(whole_ / name)) << name;

    fs::remove(foreign);  // the link now leads nowhere
    EXPECT_EQ(error_of_resuming(),
              "train: " + (run_ / name).string() + " is a symbolic link, needs to be a regular file");
    EXPECT_FALSE(fs::exists(foreign)) << name;
  }
}

TEST_F(ExperimentResumeTest, WaitsForNoFifo) {
  for (const bool has_reader : {false, true}) {
    for (const std::string& name : appended_files_) {
      copy_run();
      fs::remove(run_ / name);
      ASSERT_EQ(::mkfifo((run_ / name).c_str(), 0600), 0);
      const FileDescriptor reader(has_reader ? ::open((run_ / name).c_str(), O_RDWR | O_CLOEXEC) : -1);

      EXPECT_EQ(error_of_resuming(), "train: " + (run_ / name).string() + " is a FIFO, needs to be a regular file");
    }
  }
}

TEST_F(ExperimentResumeTest, KeepsADamagedLineOfAttentionBeforeLinesThatCount) {
  copy_run();
  const std::string lines = read_file(run_ / "attention.jsonl");
  ASSERT_EQ(std::ranges::count(lines, '\n'), 3);  // steps 2, 4 and 5
  std::string damaged = lines;
  damaged[damaged.find('\n') / 2] = '\0';
  const std::string until_step_4 = damaged.substr(0, damaged.find("{\"step\": 5"));
  for (const std::string& later : {std::string(), std::string("damaged\n"), std::string("{\"step\": 5, \"ma"),
                                   damaged.substr(until_step_4.size()) + "damaged\n{\"step\": 7, \"maps\": []}\n"}) {
    SCOPED_TRACE(later);
    write(run_ / "attention.jsonl", until_step_4 + later);
    train(run_);
    EXPECT_TRUE(read_file(run_ / "attention.jsonl") == damaged);
  }
}

TEST_F(ExperimentResumeTest, SavesAlthoughTheCheckpointBeforeIsALinkThatLeadsNowhere) {
  copy_run();
  fs::remove_all(run_ / "previous");
  fs::create_symlink("nowhere", run_ / "previous");
  experiment_.train.steps = 7;
  EXPECT_EQ(train(run_), 7);
  EXPECT_NO_THROW(read_manifest(run_ / "previous"));
  EXPECT_EQ(fs::read_symlink(run_ / fmt::format("last.kept-{}-0", ::getpid())), "nowhere");
}

}  // namespace
}  // namespace edgewise
