// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/json.h"
#include "edgewise/base/json_scanner.h"

namespace edgewise {
namespace {

std::uint64_t step_of(std::string_view line, const std::filesystem::path& path, std::int64_t number) {
  std::optional<std::uint64_t> step;
  JsonScanner json(line, fmt::format("train: {}:{}", path.string(), number));
  json.object("the line", [&](const std::string& key) {
    if (key == "step") {
      step = json.whole_number(key);
    } else {
      json.skip();
    }
  });
  json.end();
  check(step.has_value(), "train: {}:{} has no step, needs one; move the file away to go on without it", path.string(),
        number);
  return *step;
}

/// How many bytes the whole lines up to a step take.
std::size_t size_up_to(std::uint64_t last_step, const std::filesystem::path& path) {
  const std::string text = read_file(path, "train");
  std::size_t size = 0;
  std::int64_t number = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', size)) {
    const std::string_view line = std::string_view(text).substr(size, end - size);
    if (step_of(line, path, ++number) > last_step) break;
    size = end + 1;
  }
  return size;
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t last_step)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  check(file_.is_open(), "train: {}: {}", path_.string(), error_text(errno));
  cut(size_up_to(static_cast<std::uint64_t>(last_step), path_));
}

void MetricsFile::append(std::int64_t step, std::int64_t epoch, const Values& values) {
  JsonObject json;
  json.add("step", step).add("epoch", epoch);
  for (const auto& [name, value] : values) {
    std::visit([&json, key = name](auto number) { json.add(key, number); }, value);
  }

  const std::string line = json.text() + "\n";
  const int error = write_all(file_, line);
  if (error != 0) cut(size_);  // half a line is worse than none
  check(error == 0, "train: {}: {}", path_.string(), error_text(error));
  size_ += line.size();
}

void MetricsFile::cut(std::size_t size) {
  check(::ftruncate(file_.number(), static_cast<off_t>(size)) == 0, "train: {}: {}", path_.string(), error_text(errno));
  size_ = size;
}

}  // namespace edgewise
