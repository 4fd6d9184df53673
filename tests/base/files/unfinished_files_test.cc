// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/unfinished_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Ends the process as a signal handler does.
[[noreturn]] void end_by_signal() {
  remove_unfinished_files();
  ::_exit(0);
}

/// Runs a function that calls end_by_signal(), in a process of its own.
void run_until_signal(const std::function<void()>& work) {
  const pid_t process = ::fork();
  if (process == 0) {
    work();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(RemoveUnfinishedFiles, RemovesTheFilesThatAreBeingWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "first", "old");
  run_until_signal([&] {
    AtomicFile first(folder / "first");
    AtomicFile second(folder / "second");
    AtomicFile(folder / "third").commit();
    first.write("new");
    end_by_signal();
  });

  EXPECT_EQ(names_in(folder.path()), "first third");
  EXPECT_EQ(read_file(folder / "first"), "old");
}

TEST(RemoveUnfinishedFiles, RemovesTheDirectoriesThatAreBeingWritten) {
  const TemporaryFolder folder;
  write_model(folder / "first", "old");
  run_until_signal([&] {
    DirectoryWriter first(folder / "first");
    const DirectoryWriter second(folder / "second");
    DirectoryWriter third(folder / "third");
    for (int i = 0; i < 30; ++i) first.write(std::string(200, 'x') + std::to_string(i), "new");
    third.write("model.safetensors", "new");
    third.commit();
    end_by_signal();
  });

  EXPECT_EQ(names_in(folder.path()), "first third");
  EXPECT_EQ(read_file(folder / "first/model.safetensors"), "old");
  EXPECT_EQ(read_file(folder / "third/model.safetensors"), "new");
}

TEST(RemoveUnfinishedFiles, RemovesADirectoryIntoWhichAnotherThreadWrites) {
  for (int milliseconds = 1; milliseconds <= 20; ++milliseconds) {
    const TemporaryFolder folder;
    run_until_signal([&] {
      std::thread writer([&] {
        DirectoryWriter model(folder / "model");
        error_of([&] {
          for (int i = 0;; ++i) model.write(std::to_string(i), "weights");
        });
        ::pause();
      });
      while (!fs::exists(folder / fmt::format(".model.tmp-{}-0/0", ::getpid()))) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      end_by_signal();
    });

    EXPECT_EQ(names_in(folder.path()), "");
  }
}

/// Calls remove_unfinished_files() between the replacement of a directory and the sync of its name.
class SignalAtSync : public FileSystem {
 public:
  explicit SignalAtSync(fs::path temporary) : temporary_(std::move(temporary)) {}

  int exchange(const fs::path& left, const fs::path& right) override {
    is_replaced_ = true;
    return FileSystem::exchange(left, right);
  }
  int sync(int file) override {
    if (is_replaced_) remove_unfinished_files();
    if (is_replaced_) old_files = names_in(temporary_);
    is_replaced_ = false;
    return FileSystem::sync(file);
  }

  std::string old_files;

 private:
  fs::path temporary_;
  bool is_replaced_ = false;
};

TEST(RemoveUnfinishedFiles, LeavesAReplacedDirectoryUntilAPowerCutCannotUndoTheReplacement) {
  const TemporaryFolder folder;
  write_model(folder / "model", "old");
  SignalAtSync files(folder / fmt::format(".model.tmp-{}-0", ::getpid()));
  {
    const ScopedFileSystem replaced(files);
    write_model(folder / "model", "new");
  }

  EXPECT_EQ(files.old_files, "config.toml manifest.json model.safetensors");
  EXPECT_EQ(names_in(folder.path()), "model");
}

}  // namespace
}  // namespace edgewise
