// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/directory.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <thread>

#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "tests/base/support.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/mounted_disk.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

TEST(DirectoryWriter, WritesFilesAndTheirManifest) {
  const TemporaryFolder folder;
  write_model(folder / "run/last", "weights");

  EXPECT_EQ(names_in(folder / "run"), "last");
  EXPECT_EQ(names_in(folder / "run/last"), "config.toml manifest.json model.safetensors");
  EXPECT_EQ(read_file(folder / "run/last/model.safetensors"), "weights");
  EXPECT_EQ(read_file(folder / "run/last/manifest.json"),
            "{\n"
            "  \"format\": 1,\n"
            "  \"tool\": \"edgewise 0.1.0\",\n"
            "  \"files\": [\n"
            "    {\"name\": \"config.toml\", \"size\": 10, \"sha256\": \"" +
                sha256("heads = 1\n") +
                "\"},\n"
                "    {\"name\": \"model.safetensors\", \"size\": 7, \"sha256\": \"" +
                sha256("weights") + "\"}\n  ]\n}\n");
  const Manifest manifest = verify_manifest(folder / "run/last");
  EXPECT_EQ(manifest.tool, "edgewise 0.1.0");
  ASSERT_EQ(manifest.files.size(), 2u);
  EXPECT_EQ(manifest.files[1].name, "model.safetensors");
  EXPECT_EQ(manifest.files[1].size, 7u);
  EXPECT_EQ(manifest.files[1].sha256, sha256("weights"));
}

TEST(DirectoryWriter, ReplacesADirectoryThatAWriterWroteAndLeavesNoOtherFiles) {
  const TemporaryFolder folder;
  write_model(folder / "last", "old");
  write_model(fs::path(folder / "last").string() + "/", "new");

  EXPECT_EQ(read_file(folder / "last/model.safetensors"), "new");
  EXPECT_EQ(names_in(folder.path()), "last");
}

void write_and_keep(const fs::path& target, const std::string& weights) {
  DirectoryWriter writer(target, "write_model");
  writer.write("model.safetensors", weights);
  writer.commit_and_keep_old_as("previous");
}

TEST(DirectoryWriter, CanKeepThePreviousDirectory) {
  for (const bool can_exchange : {true, false}) {
    FaultyFileSystem files({.can_exchange = can_exchange});
    const ScopedFileSystem replaced(files);
    const TemporaryFolder folder;
    for (const char* weights : {"first", "second", "third"}) write_and_keep(folder / "last", weights);

    EXPECT_EQ(names_in(folder.path()), "last previous");
    EXPECT_EQ(read_file(folder / "last/model.safetensors"), "third");
    EXPECT_EQ(read_file(folder / "previous/model.safetensors"), "second");
    EXPECT_NO_THROW(verify_manifest(folder / "previous"));
  }
}

TEST(DirectoryWriter, RenamesADirectoryWithoutAManifestThatHasThePreviousName) {
  const TemporaryFolder folder;
  write_and_keep(folder / "last", "first");
  fs::create_directory(folder / "previous");
  write_file_atomically(folder / "previous/notes.txt", "mine");
  write_and_keep(folder / "last", "second");

  EXPECT_EQ(read_file(folder / "previous/model.safetensors"), "first");
  EXPECT_EQ(read_file(folder / fmt::format("last.kept-{}-0", ::getpid()) / "notes.txt"), "mine");
}

TEST(DirectoryWriter, RenamesALinkThatHasThePreviousName) {
  for (const bool can_exchange : {true, false}) {
    for (const char* target : {"nowhere", "disk"}) {
      FaultyFileSystem files({.can_exchange = can_exchange});
      const ScopedFileSystem replaced(files);
      const TemporaryFolder folder;
      write_model(folder / "disk", "of another program");
      fs::create_symlink(target, folder / "previous");
      for (const char* weights : {"first", "second", "third"}) write_and_keep(folder / "last", weights);

      const std::string kept = fmt::format("last.kept-{}-0", ::getpid());
      EXPECT_EQ(names_in(folder.path()), "disk last " + kept + " previous");
      EXPECT_EQ(fs::read_symlink(folder / kept), target);
      EXPECT_EQ(read_file(folder / "disk/model.safetensors"), "of another program");
      EXPECT_EQ(read_file(folder / "last/model.safetensors"), "third");
      EXPECT_EQ(read_file(folder / "previous/model.safetensors"), "second");
    }
  }
}

TEST(RemoveListedDirectory, LeavesADirectoryWithUnlistedFiles) {
  const TemporaryFolder folder;
  write_model(folder / "ours", "a");
  write_model(folder / "theirs", "b");
  write_file_atomically(folder / "theirs/notes.txt", "mine");
  EXPECT_TRUE(remove_listed_directory(folder / "ours", "train"));
  EXPECT_FALSE(remove_listed_directory(folder / "theirs", "train"));
  EXPECT_FALSE(remove_listed_directory(folder / "absent", "train"));
  EXPECT_EQ(names_in(folder.path()), "theirs");
}

class UnmovableDirectories : public FileSystem {
 public:
  int rename(const fs::path& /*from*/, const fs::path& /*to*/) override {
    errno = EIO;
    return -1;
  }
};

TEST(RemoveListedDirectory, ReportsADirectoryThatStays) {
  const TemporaryFolder folder;
  write_model(folder / "ours", "a");
  write_model(folder / "theirs", "b");
  write_file_atomically(folder / "theirs/notes.txt", "mine");
  const auto path = [&](const char* name) { return (folder / name).string(); };
  UnmovableDirectories files;
  const ScopedFileSystem replaced(files);
  EXPECT_EQ(error_of([&] { remove_listed_directory(folder / "ours", "train"); }),
            "train: " + path("ours") + " cannot be removed: Input/output error");
  EXPECT_EQ(error_of([&] { discard_directory(folder / "ours", "train"); }),
            "train: " + path("ours") + " cannot be removed: Input/output error");
  EXPECT_EQ(error_of([&] { discard_directory(folder / "theirs", "train"); }),
            "train: " + path("theirs") + " cannot be moved: Input/output error");
  EXPECT_EQ(names_in(folder.path()), "ours theirs");
}

/// Cuts the power after changes in a folder.
class PowerCut : public testing::Test {
 protected:
  std::string names_after(const std::function<void()>& work) const {
    FaultyFileSystem files({.removed_files = removed_ / "files"});
    {
      const ScopedFileSystem replaced(files);
      work();
    }
    files.cut_power();
    return names_in(folder_.path());
  }

  TemporaryFolder folder_;

 private:
  TemporaryFolder removed_;
};

TEST_F(PowerCut, UndoesNoDirectoryThatIsCreated) {
  EXPECT_EQ(names_after([&] { create_directories(folder_ / "a/b/c", "train"); }), "a");
  EXPECT_EQ(names_in(folder_ / "a"), "b");
  EXPECT_EQ(names_in(folder_ / "a/b"), "c");
  create_directories(folder_ / "a/b/", "train");
  EXPECT_EQ(error_of([&] {
              write_file_atomically(folder_ / "file", "x");
              create_directories(folder_ / "file/a", "train");
            }),
            "train: " + (folder_ / "file/a").string() + ": Not a directory");
  std::filesystem::create_symlink("nothing", folder_ / "link");
  for (const char* path : {"link", "link/", "link/a/b"}) {
    EXPECT_EQ(error_of([&] { create_directories(folder_ / path, "train"); }),
              "train: " + (folder_ / "link").string() +
                  " is a link to nothing, which does not exist, needs a directory or a new name");
  }
}

TEST_F(PowerCut, UndoesNoDirectoryThatIsWritten) {
  EXPECT_EQ(names_after([&] { write_model(folder_ / "new/run/last", "weights"); }), "new");
  EXPECT_NO_THROW(verify_manifest(folder_ / "new/run/last"));
  EXPECT_EQ(names_after([&] { write_and_keep(folder_ / "new/run/last", "more"); }), "new");
  EXPECT_EQ(read_file(folder_ / "new/run/last/model.safetensors"), "more");
  EXPECT_EQ(read_file(folder_ / "new/run/previous/model.safetensors"), "weights");
}

TEST_F(PowerCut, UndoesNoFileThatIsReplaced) {
  EXPECT_EQ(names_after([&] { write_file_atomically(folder_ / "file", "old"); }), "file");
  EXPECT_EQ(names_after([&] { write_file_atomically(folder_ / "file", "new"); }), "file");
  EXPECT_EQ(read_file(folder_ / "file"), "new");
}

TEST_F(PowerCut, UndoesNoRemovalAndNoMove) {
  write_model(folder_ / "model", "weights");
  EXPECT_EQ(names_after([&] { put_directory(folder_ / "model", folder_ / "moved", "train"); }), "moved");
  EXPECT_EQ(names_after([&] { remove_listed_directory(folder_ / "moved", "train"); }),
            fmt::format(".moved.tmp-{}-0", ::getpid()));  // a leftover
}

TEST_F(PowerCut, UndoesChangesOfNamesThatAreNotSynced) {
  write_model(folder_ / "model", "weights");
  write_file_atomically(folder_ / "file", "bytes");
  EXPECT_EQ(names_after([&] {
              file_system().rename(folder_ / "model", folder_ / "moved");
              file_system().make_directory(folder_ / "new");
              file_system().exchange(folder_ / "new", folder_ / "moved");
              file_system().remove_all(folder_ / "new");
              file_system().remove(folder_ / "file");
              file_system().close(create_file(folder_ / "file", 0666));
            }),
            "file model");
  EXPECT_EQ(read_file(folder_ / "file"), "bytes");
  EXPECT_NO_THROW(verify_manifest(folder_ / "model"));
}

TEST(DirectoryWriter, ReplacesAnEmptyDirectoryAndTheTargetOfASymbolicLink) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "link");
  write_model(folder / "link", "a");
  write_model(folder / "link", "b");

  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real/model.safetensors"), "b");
  EXPECT_EQ(names_in(folder.path()), "link real");
}

TEST(DirectoryWriter, CreatesTheDirectoryThatALinkNames) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  fs::create_symlink("disk/real", folder / "link");
  write_model(folder / "link", "a");
  write_model((folder / "link").string() + "/", "b");

  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "disk/real/model.safetensors"), "b");
  EXPECT_EQ(names_in(folder.path()), "disk link");
  EXPECT_EQ(names_in(folder / "disk"), "real");
}

TEST(DirectoryWriter, RemovesItsFilesWithoutCommit) {
  const TemporaryFolder folder;
  write_model(folder / "last", "old");
  {
    DirectoryWriter writer(folder / "last");
    writer.write("model.safetensors", "new");
    EXPECT_EQ(names_in(folder.path()), fmt::format(".last.tmp-{}-0 last", ::getpid()));
  }
  EXPECT_EQ(read_file(folder / "last/model.safetensors"), "old");
  EXPECT_EQ(names_in(folder.path()), "last");
}

TEST(DirectoryWriter, RejectsADirectoryWithoutAManifest) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "home");
  write_file_atomically(folder / "home/thesis.tex", "years of work");
  const std::string home = fs::path(folder / "home").string();

  EXPECT_EQ(error_of([&] { write_model(home, "x"); }),
            "write_model: " + home +
                " exists without a manifest.json, needs to be absent, empty or written by this program; choose another "
                "directory");
  EXPECT_EQ(error_of([&] { write_model(home + "/thesis.tex", "x"); }),
            "write_model: " + home +
                "/thesis.tex exists without a manifest.json, needs to be absent, empty or written by this program; "
                "choose another directory");
  EXPECT_EQ(names_in(home), "thesis.tex");
}

TEST(DirectoryWriter, DeletesNoFileThatItDidNotWrite) {
  const TemporaryFolder folder;
  write_model(folder / "last", "old");
  write_file_atomically(folder / "last/notes.txt", "mine");
  write_model(folder / "last", "new");

  const std::string kept = fmt::format("last.kept-{}-0", ::getpid());
  EXPECT_EQ(names_in(folder.path()), "last " + kept);
  EXPECT_EQ(read_file(folder / kept / "notes.txt"), "mine");
  EXPECT_EQ(read_file(folder / kept / "model.safetensors"), "old");
  EXPECT_EQ(read_file(folder / "last/model.safetensors"), "new");
}

TEST(DirectoryWriter, AcceptsEachPlainNameOnce) {
  const TemporaryFolder folder;
  DirectoryWriter writer(folder / "last", "write_model");
  const std::pair<std::string, std::string> rows[] = {{"", "\"\""},         {".", "\".\""},
                                                      {"..", "\"..\""},     {"a/b", "\"a/b\""},
                                                      {"/etc", "\"/etc\""}, {"manifest.json", "\"manifest.json\""},
                                                      {"a\nb", "\"a\\nb\""}};
  for (const auto& [name, quoted] : rows) {
    EXPECT_EQ(error_of([&, name = name] { writer.write(name, "x"); }),
              "write_model: file name is " + quoted + ", needs a plain one without folders");
  }
  writer.write("a", "x");
  EXPECT_EQ(error_of([&] { writer.write("a", "y"); }),
            "write_model: \"a\" was written before, needs to be written once");
  writer.commit();
  const std::string path = fs::path(folder / "last").string();
  EXPECT_EQ(error_of([&] { writer.write("b", "y"); }),
            "write_model: " + path + " is committed, needs a new writer for another file");
  EXPECT_EQ(error_of([&] { writer.commit(); }),
            "write_model: " + path + " is committed, needs a new writer to write it again");
}

TEST(DirectoryWriter, HasCompleteFilesAtEachMomentOfAReplacement) {
  const TemporaryFolder folder;
  write_model(folder / "last", "weights 0");
  std::atomic<bool> is_done = false;
  std::string unexpected;
  std::thread reader([&] {
    while (!is_done) {
      const std::string error = error_of([&] { read_file(folder / "last/model.safetensors"); });
      if (error != "no error") unexpected = error;
    }
  });
  for (int i = 0; i < 30; ++i) write_model(folder / "last", fmt::format("weights {}", i));
  is_done = true;
  reader.join();

  EXPECT_EQ(unexpected, "");
}

// Makes renameat2 fail in this process with EINVAL, as on a kernel without RENAME_EXCHANGE.
bool forbid_exchange() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(DirectoryWriter, ReplacesByRenamingWhereDirectoriesCannotBeSwapped) {
  const TemporaryFolder folder;
  write_model(folder / "last", "old");
  constexpr int kDone = 0;
  constexpr int kNoFilter = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_exchange()) ::_exit(kNoFilter);
    ::_exit(error_of([&] { write_model(folder / "last", "new"); }) == "no error" ? kDone : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "this system has no seccomp filters";

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kDone);
  EXPECT_EQ(read_file(folder / "last/model.safetensors"), "new");
  EXPECT_EQ(names_in(folder.path()), "last");
}

TEST(DirectoryWriter, KeepsTheOldDirectoryWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string disk = fs::path(folder / "disk").string();
  const MountedDisk mounted(disk, "256k");
  if (!mounted.is_mounted()) GTEST_SKIP() << MountedDisk::kNeed;
  write_model(disk + "/last", "old");
  const std::string error = error_of([&] { write_model(disk + "/last", std::string(1'000'000, 'x')); });
  const std::string names = names_in(disk);
  const std::string weights = read_file(disk + "/last/model.safetensors");

  EXPECT_EQ(error, "write_model: " + disk + "/last/model.safetensors: No space left on device; nothing was replaced");
  EXPECT_EQ(names, "last");
  EXPECT_EQ(weights, "old");
}

}  // namespace
}  // namespace edgewise
