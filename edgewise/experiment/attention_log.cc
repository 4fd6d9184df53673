// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/attention_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/experiment/json_lines.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "attention.jsonl";

std::vector<std::string> read_texts(JsonScanner& json, const std::string& what) {
  std::vector<std::string> texts;
  json.read_array(what, [&] { texts.push_back(json.read_string(what)); });
  return texts;
}

/// Reads the weights of one head, row by row.
std::vector<float> read_head(JsonScanner& json) {
  std::vector<float> weights;
  json.read_array("a head", [&] {
    json.read_array("a row", [&] { weights.push_back(static_cast<float>(json.read_number("a weight"))); });
  });
  return weights;
}

AttentionMaps read_maps(JsonScanner& json) {
  AttentionMaps maps;
  json.read_object("the maps", [&](const std::string& key) {
    if (key == "name") {
      maps.name = json.read_string(key);
    } else if (key == "first_dimension") {
      maps.layer_name = json.read_string(key);
    } else if (key == "rows_are") {
      maps.row_title = json.read_string(key);
    } else if (key == "columns_are") {
      maps.column_title = json.read_string(key);
    } else if (key == "rows") {
      maps.rows = read_texts(json, key);
    } else if (key == "columns") {
      maps.columns = read_texts(json, key);
    } else if (key == "weights") {
      json.read_array(key, [&] {
        json.read_array("a layer", [&, &layer = maps.weights.emplace_back()] { layer.push_back(read_head(json)); });
      });
    } else {
      json.skip();
    }
  });
  if (maps.num_layers() == 0 || maps.num_heads() == 0) json.fail_at_value("the maps have no head, need at least one");
  for (const auto& layer : maps.weights) {
    if (layer.size() != maps.num_heads()) {
      json.fail_at_value(
          fmt::format("the maps have a layer of {} heads, need {} as in the first", layer.size(), maps.num_heads()));
    }
    for (const std::vector<float>& head : layer) {
      if (head.size() != maps.rows.size() * maps.columns.size()) {
        json.fail_at_value(fmt::format("the maps have {} weights of a head, need {} rows of {}", head.size(),
                                       maps.rows.size(), maps.columns.size()));
      }
    }
  }
  return maps;
}

AttentionSnapshot read_snapshot(JsonScanner& json) {
  AttentionSnapshot snapshot;
  json.read_object("the line", [&](const std::string& key) {
    if (key == "step") {
      snapshot.step = read_count(json, key);
    } else if (key == "maps") {
      json.read_array(key, [&] { snapshot.maps.push_back(read_maps(json)); });
    } else {
      json.skip();
    }
  });
  json.expect_end();
  return snapshot;
}

}  // namespace

AttentionLog::AttentionLog(const fs::path& run) : file_name_(run / kFile) {}

void AttentionLog::on_begin(std::int64_t /*step*/, std::int64_t validated_step) {
  if (!fs::exists(file_name_)) return;
  try {
    for_each_json_line(file_name_, "train", [&](const JsonLine& line) {
      if (read_snapshot(line.json).step > validated_step) return false;
      size_ = line.end;
      return true;
    });
  } catch (const Error&) {  // a damaged line: keeps the lines before it
  }
  std::error_code error;
  fs::resize_file(file_name_, size_, error);
  check(!error, "train: {}: {}", file_name_.string(), error.message());
}

void AttentionLog::on_validation(std::int64_t step, const Validation& validation, bool /*is_best*/) {
  if (validation.attention.empty()) return;
  unwritten_ += fmt::format("{{\"step\": {}, \"maps\": {}}}\n", step, validation.attention);
  if (!file_) file_.emplace(::open(file_name_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!file_->is_open()) {
    file_.reset();
    return;
  }
  if (write_all(*file_, unwritten_) != 0) {
    // Removes the incomplete line. If this fails too, readers report it as damaged.
    [[maybe_unused]] const int result = ::ftruncate(file_->number(), static_cast<off_t>(size_));
    return;
  }
  size_ += unwritten_.size();
  unwritten_.clear();
}

std::vector<AttentionSnapshot> read_attention_log(const fs::path& run, std::string_view caller) {
  std::vector<AttentionSnapshot> snapshots;
  if (!fs::exists(run / kFile)) return snapshots;
  for_each_json_line(run / kFile, caller, [&](const JsonLine& line) {
    snapshots.push_back(read_snapshot(line.json));
    return true;
  });
  return snapshots;
}

}  // namespace edgewise
