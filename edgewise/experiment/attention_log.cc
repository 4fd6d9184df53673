// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/attention_log.h"

#include <fmt/format.h>

#include <map>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/experiment/run_record.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "attention.jsonl";
constexpr std::string_view kTrain = "train";

std::vector<std::string> read_texts(JsonScanner& json, const std::string& what) {
  std::vector<std::string> texts;
  json.read_array(what, [&] { texts.push_back(json.read_string(what)); });
  return texts;
}

/// The number of rows of a head, and of weights in each row.
struct HeadShape {
  std::size_t rows = 0;
  std::size_t columns = 0;

  bool operator==(const HeadShape&) const = default;
};

struct Head {
  HeadShape shape;
  std::vector<float> weights;
};

/// Reads the weights of one head, row by row. Throws Error for rows of different lengths.
Head read_head(JsonScanner& json) {
  Head head;
  json.read_array("a head", [&] {
    const std::size_t before = head.weights.size();
    json.read_array("a row", [&] { head.weights.push_back(static_cast<float>(json.read_number("a weight"))); });
    const std::size_t columns = head.weights.size() - before;
    if (head.shape.rows++ == 0) head.shape.columns = columns;
    json.check_value(columns == head.shape.columns, "a head has a row of {} weights, needs {} as in its first row",
                     columns, head.shape.columns);
  });
  return head;
}

AttentionMaps read_maps(JsonScanner& json) {
  AttentionMaps maps;
  std::vector<HeadShape> shapes;
  const std::map<std::string_view, std::string*> texts = {{"name", &maps.name},
                                                          {"first_dimension", &maps.layer_name},
                                                          {"rows_are", &maps.row_title},
                                                          {"columns_are", &maps.column_title}};
  json.read_object("the maps", [&](const std::string& key) {
    if (const auto text = texts.find(key); text != texts.end()) {
      *text->second = json.read_string(key);
    } else if (key == "rows") {
      maps.rows = read_texts(json, key);
    } else if (key == "columns") {
      maps.columns = read_texts(json, key);
    } else if (key == "weights") {
      json.read_array(key, [&] {
        json.read_array("a layer", [&, &layer = maps.weights.emplace_back()] {
          Head head = read_head(json);
          shapes.push_back(head.shape);
          layer.push_back(std::move(head.weights));
        });
      });
    } else {
      json.skip();
    }
  });
  json.check_value(maps.num_layers() > 0 && maps.num_heads() > 0, "the maps have no head, need at least one");
  for (const auto& layer : maps.weights) {
    json.check_value(layer.size() == maps.num_heads(), "the maps have a layer of {} heads, need {} as in the first",
                     layer.size(), maps.num_heads());
  }
  for (const HeadShape& shape : shapes) {
    json.check_value(shape == HeadShape{maps.rows.size(), maps.columns.size()},
                     "the maps have a head of {} rows of {} weights, need {} rows of {}", shape.rows, shape.columns,
                     maps.rows.size(), maps.columns.size());
  }
  return maps;
}

AttentionSnapshot read_snapshot(JsonScanner& json) {
  AttentionSnapshot snapshot{.step = -1, .maps = {}};
  json.read_object("the line", [&](const std::string& key) {
    if (key == "step") {
      snapshot.step = read_count(json, key);
    } else if (key == "maps") {
      json.read_array(key, [&] { snapshot.maps.push_back(read_maps(json)); });
    } else {
      json.skip();
    }
  });
  json.check_value(snapshot.step >= 0, "the line has no step, needs one");
  json.expect_end();
  return snapshot;
}

/// Returns the step of a line; nothing for a damaged line.
std::optional<std::int64_t> step_of_line(std::string_view line) {
  try {
    JsonScanner json(line, std::string(kFile));
    return read_snapshot(json).step;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the size in bytes of the lines up to the last that counts: the first undamaged line of a later validation,
/// and all lines after it, do not count. Throws Error for a file that cannot be read.
std::uint64_t size_of_lines(const fs::path& file, std::int64_t validated_step) {
  const std::string text = RegularFile(file, kTrain, SymbolicLinks::kRefused).read(kMaxRecordBytes);
  std::size_t size = 0;
  std::size_t end = 0;
  for_each_complete_line(text, [&](std::string_view line) {
    const std::optional<std::int64_t> step = step_of_line(line);
    if (step > validated_step) return false;
    end += line.size() + 1;
    if (step) size = end;
    return true;
  });
  return size;
}

}  // namespace

AttentionLog::AttentionLog(const fs::path& run) : file_name_(run / kFile) {}

void AttentionLog::on_begin(const StartReport& start) {
  if (has_entry(file_name_, kTrain)) file_.emplace(file_name_, size_of_lines(file_name_, start.validated_step));
}

void AttentionLog::on_validation(std::int64_t step, const Validation& validation, bool /*is_best*/) {
  if (validation.attention.empty()) return;
  lines_ += fmt::format("{{\"step\": {}, \"maps\": {}}}\n", step, validation.attention);
  try {
    write_lines();
  } catch (const Error&) {  // before_save() tries again
  }
}

void AttentionLog::before_save() {
  if (!lines_.empty()) write_lines();
  if (file_) file_->sync();
}

void AttentionLog::write_lines() {
  if (!file_) file_.emplace(file_name_, 0);
  file_->append(lines_);
  lines_.clear();
}

std::vector<AttentionSnapshot> read_attention_log(const fs::path& run, std::string_view caller) {
  std::vector<AttentionSnapshot> snapshots;
  if (!path_exists(run / kFile, caller)) return snapshots;
  for_each_json_line(run / kFile, caller,
                     [&](JsonScanner& line, const std::string&) { snapshots.push_back(read_snapshot(line)); });
  return snapshots;
}

}  // namespace edgewise
