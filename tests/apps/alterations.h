// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/process.h"

// Alterations of a model or run directory, for tests that a program refuses the directory or gives the same result.

namespace edgewise {

/// The answer of a program to an altered directory: an error, or the output of the directory as it was.
enum class Effect { kRefused, kSame };

struct Alteration {
  std::string name;
  std::string file;  // the altered file, which the error must name
  std::function<void(const std::filesystem::path& directory)> apply;
  Effect effect = Effect::kRefused;
  std::string error = {};  // a part of the error
};

std::string read_bytes(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const std::string& bytes);

/// Returns an alteration that replaces the bytes of a file by the result of `change`.
Alteration change(std::string name, std::string file, std::function<std::string(std::string)> change,
                  Effect effect = Effect::kRefused, std::string error = {});

/// Returns an alteration that replaces a part of a file by another text.
Alteration replace(std::string file, const std::string& from, const std::string& to, Effect effect = Effect::kRefused,
                   std::string error = {});

/// The alteration of spoil() that may leave a valid file.
inline constexpr const char* kFlippedBit = "one bit flipped";

/// Lists alterations that spoil any file: missing, cut, altered, or replaced by something else than a regular file.
std::vector<Alteration> spoil(const std::string& file);

/// Writes manifest.json again with the present sizes and sums of the files, `names`, that are regular files.
void write_manifest(const std::filesystem::path& directory, const std::vector<std::string>& names);

/// Empties `folder` and trains the model of kTinyConfig there, as `folder`/run, with settings as for --set.
void train_run_in(const std::filesystem::path& folder, const std::vector<std::string>& settings = {});

/// Runs a program for at most ten minutes (or exit code 128 + SIGKILL).
ProcessResult run_briefly(const std::vector<std::string>& arguments, const ProcessOptions& options);

/// Expects exit code 2, an error of one line that names the file, and less than 1 GB of memory.
void expect_refusal(const ProcessResult& result, const Alteration& alteration);

}  // namespace edgewise
