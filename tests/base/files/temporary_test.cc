// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/temporary.h"

#include <glob.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "tests/base/support.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// A child process that runs a function and then waits until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    std::array<int, 2> pipe{};
    check(::pipe(pipe.data()) == 0, "pipe failed");
    process_ = ::fork();
    if (process_ == 0) {
      work();
      if (::write(pipe[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    ::close(pipe[1]);
    char ready = 0;
    check(::read(pipe[0], &ready, 1) == 1, "the child ended early");
    ::close(pipe[0]);
  }
  ~Child() { kill(); }

  pid_t process() const { return process_; }

  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

/// Begins to write a file and a directory, as a process does that is killed before it commits.
void begin_to_write(const TemporaryFolder& folder) {
  (new AtomicFile(folder / "file"))->write("half a file");
  (new DirectoryWriter(folder / "model"))->write("model.safetensors", "half a model");
}

class Leftovers : public testing::Test {
 protected:
  std::string name(const char* target, pid_t process) const { return fmt::format(".{}.tmp-{}-0", target, process); }

  TemporaryFolder folder_;
};

TEST_F(Leftovers, AreRemovedByTheNextWriterOfTheirTarget) {
  Child child([this] { begin_to_write(folder_); });
  const pid_t process = child.process();
  child.kill();
  EXPECT_EQ(names_in(folder_.path()), name("file", process) + " " + name("model", process));

  write_file_atomically(folder_ / "file", "whole");
  EXPECT_EQ(names_in(folder_.path()), name("model", process) + " file");
  write_model(folder_ / "model", "whole");
  EXPECT_EQ(names_in(folder_.path()), "file model");
}

TEST_F(Leftovers, StayWhileTheirProcessLives) {
  Child child([this] { begin_to_write(folder_); });
  const std::string temporary = name("file", child.process()) + " " + name("model", child.process());
  write_file_atomically(folder_ / "file", "whole");
  write_model(folder_ / "model", "whole");
  remove_leftovers(folder_.path());
  EXPECT_EQ(names_in(folder_.path()), temporary + " file model");

  child.kill();
  remove_leftovers(folder_.path());
  EXPECT_EQ(names_in(folder_.path()), "file model");
}

TEST_F(Leftovers, AreRemovedIfTheNumberOfTheirProcessIsUsedAgain) {
  write_file_atomically(folder_ / name("file", ::getpid()), "half");
  fs::create_directory(folder_ / name("model", 1));  // process 1 always runs
  write_file_atomically(folder_ / "file", "whole");
  write_model(folder_ / "model", "whole");
  EXPECT_EQ(names_in(folder_.path()), "file model");
}

TEST_F(Leftovers, AreNoFilesOfOtherNamesOrOtherTargets) {
  for (const char* other : {".a.tmp-1-0", ".file.tmp", ".file.tmp-1", ".file.tmp-1-", ".file.tmp-1-0.txt",
                            ".file.tmp-x-0", ".tmp-1-0", "file.tmp-1-0"}) {
    write_file_atomically(folder_ / other, "mine");
  }
  write_file_atomically(folder_ / "file", "whole");
  const std::string others =
      ".file.tmp .file.tmp-1 .file.tmp-1- .file.tmp-1-0.txt .file.tmp-x-0 .tmp-1-0 file file.tmp-1-0";
  EXPECT_EQ(names_in(folder_.path()), ".a.tmp-1-0 " + others);
  remove_leftovers(folder_.path());
  EXPECT_EQ(names_in(folder_.path()), others);
}

TEST_F(Leftovers, AreNeverPipesOrLinks) {
  ASSERT_EQ(::mkfifo((folder_ / ".file.tmp-1-0").c_str(), 0600), 0);
  fs::create_symlink("elsewhere", folder_ / ".file.tmp-1-1");
  write_file_atomically(folder_ / "file", "whole");
  EXPECT_EQ(names_in(folder_.path()), ".file.tmp-1-0 .file.tmp-1-1 file");
}

TEST_F(Leftovers, DoNotMatchPatternsThatMatchTheirTarget) {
  const auto matches = [this] {
    glob_t found = {};
    ::glob((folder_ / "step-*").c_str(), 0, nullptr, &found);
    const std::size_t count = found.gl_pathc;
    ::globfree(&found);
    return count;
  };
  write_model(folder_ / "step-00000007", "old");
  const DirectoryWriter directory(folder_ / "step-00000007");
  const AtomicFile file(folder_ / "step-8.txt");
  EXPECT_EQ(matches(), 1U);
}

TEST_F(Leftovers, ArePutBackIfTheyWereMovedAside) {
  for (const bool is_replaced : {false, true}) {
    write_model(folder_ / "model", "old");
    fs::rename(folder_ / "model", folder_ / ".model.aside.tmp-1-0");
    if (is_replaced) write_model(folder_ / "new", "new");
    if (is_replaced) fs::rename(folder_ / "new", folder_ / "model");
    remove_leftovers(folder_.path());
    EXPECT_EQ(read_file(folder_ / "model/model.safetensors"), is_replaced ? "new" : "old");
    EXPECT_EQ(names_in(folder_.path()), "model");
  }
}

TEST_F(Leftovers, LoseNoDirectoryToACrashInTheMiddleOfAReplacement) {
  for (const bool can_exchange : {true, false}) {
    std::int64_t calls = 0;
    for (std::int64_t call = 1; call == 1 || call <= calls; ++call) {
      const TemporaryFolder folder;
      write_model(folder / "model", "old");
      {
        FaultyFileSystem files({.first = call, .are_lasting = true, .can_exchange = can_exchange});
        const ScopedFileSystem replaced(files);
        error_of([&] { write_model(folder / "model", "new"); });
        calls = std::max(calls, files.num_calls());
      }
      remove_leftovers(folder.path());
      EXPECT_EQ(names_in(folder.path()), "model") << call;
      EXPECT_NO_THROW(verify_manifest(folder / "model")) << call;
    }
  }
}

/// Replaces `<folder>/model`, and keeps the old directory as `<folder>/previous` if there is a name for it.
void replace_model(const fs::path& folder, bool keeps_old) {
  DirectoryWriter writer(folder / "model", "write_model");
  writer.write("model.safetensors", "new");
  keeps_old ? writer.commit_and_keep_old_as("previous") : writer.commit();
}

std::int64_t count_notes(const fs::path& folder) {
  std::int64_t notes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "notes.txt") notes += read_file(entry.path()) == "mine" ? 1 : 0;
  }
  return notes;
}

TEST_F(Leftovers, NeverHaveFilesThatTheProgramDidNotWrite) {
  for (const bool keeps_old : {false, true}) {
    for (const bool can_exchange : {true, false}) {
      std::int64_t calls = 0;
      for (std::int64_t call = 1; call == 1 || call <= calls; ++call) {
        const TemporaryFolder folder;
        for (const char* name : {"model", "previous"}) {
          write_model(folder / name, "old");
          write_file_atomically(folder / name / "notes.txt", "mine");
        }
        {
          FaultyFileSystem files({.first = call, .are_lasting = true, .can_exchange = can_exchange});
          const ScopedFileSystem replaced(files);
          error_of([&] { replace_model(folder.path(), keeps_old); });
          calls = std::max(calls, files.num_calls());
        }
        remove_leftovers(folder.path());
        error_of([&] { replace_model(folder.path(), keeps_old); });
        EXPECT_EQ(count_notes(folder.path()), 2) << call << names_in(folder.path());
      }
    }
  }
}

TEST_F(Leftovers, AreNotConfusedWithWritersThatBegin) {
  std::atomic<bool> is_done = false;
  std::thread remover([&] {
    while (!is_done) remove_leftovers(folder_.path());
  });
  std::string error = "no error";
  for (int i = 0; i < 100 && error == "no error"; ++i) {
    error = error_of([&] {
      write_file_atomically(folder_ / "file", "whole");
      write_model(folder_ / "model", "whole");
    });
  }
  is_done = true;
  remover.join();
  EXPECT_EQ(error, "no error");
}

}  // namespace
}  // namespace edgewise
