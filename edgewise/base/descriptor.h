// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

// What files.cc and directory.cc share. Functions give back 0 or an errno, because their callers know what to say.

namespace edgewise {

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  /// Closes now, since a network file system may report only then that it could not write.
  int close();

 private:
  int number_;
};

int write_all(const Descriptor& file, std::string_view bytes);

/// Creates a file that must not exist yet: its number, or -1 and errno.
int create_file(const std::filesystem::path& path, unsigned permissions);

/// Creates a file that must not exist yet and brings its bytes to the disk; upon an error there is no file.
int write_new_file(const std::filesystem::path& path, std::string_view bytes, unsigned permissions);

/// Brings the names in a directory to the disk.
int sync_directory(const std::filesystem::path& directory);

/// Swaps two directories in one step; where the file system cannot, in three renames, of which each is undone when the
/// next does not work.
int exchange(const std::filesystem::path& left, const std::filesystem::path& right);

/// Whether an error of FileSystem::exchange says that directories can never be swapped here.
bool cannot_exchange(int error);

/// What errno says, as in "No space left on device".
std::string error_text(int error);

}  // namespace edgewise
