// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/distil_step.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/sha256.h"

namespace edgewise {
namespace {

constexpr const char* kRecord = "step.txt";

std::string record_text(const std::string& hash, bool is_done) {
  return fmt::format("inputs {}\n{}", hash, is_done ? "done\n" : "");
}

bool is_empty_folder(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::is_empty(folder, error) && !error;
}

}  // namespace

StepFolder::StepFolder(std::filesystem::path folder, std::string hash, Overwrite overwrite)
    : folder_(std::move(folder)), hash_(std::move(hash)) {
  const std::filesystem::path record = folder_ / kRecord;
  if (path_exists(record, kDistil)) {
    const std::string text = read_file(record, kDistil, kMaxConfigBytes);
    is_done_ = text == record_text(hash_, true);
    if (is_done_ || text == record_text(hash_, false)) return;
    check(overwrite == Overwrite::kYes,
          "{}: {} was made from other files or options, needs --overwrite to be made again; or choose another --out",
          kDistil, folder_.string());
    file_system().remove_all(folder_);
  }
  check(!path_exists(folder_, kDistil) || is_empty_folder(folder_),
        "{}: {} has files but no {}, needs a folder of its own", kDistil, folder_.string(), kRecord);
  create_directories(folder_, kDistil);
  write_record(false);
}

void StepFolder::write_record(bool is_done) {
  AtomicFile file(folder_ / kRecord, kDistil);
  file.write(record_text(hash_, is_done));
  file.commit();
  is_done_ = is_done;
}

void StepFolder::finish() { write_record(true); }

std::string hash_file(const std::filesystem::path& file) {
  Sha256 hash;
  RegularFile(file, kDistil).for_each_chunk([&hash](std::string_view chunk) { hash.update(chunk); });
  return hash.finish();
}

}  // namespace edgewise
