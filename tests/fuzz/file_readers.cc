// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/options/experiment.h"
#include "edgewise/search/shortlist.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr std::int64_t kMaxFuzzedTokens = 100'000;

std::uint64_t sum_of_bytes(const SafetensorsFile& file) {
  std::uint64_t sum = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    for (const std::byte byte : tensor.bytes) sum += std::to_integer<std::uint64_t>(byte);
  }
  return sum;
}

}  // namespace

void read_safetensors(std::string_view bytes) {
  accept_errors([&] {
    const SafetensorsFile file = SafetensorsFile::parse(std::string(bytes), "fuzzed");
    // A second file with these tensors must be read back with equal tensors.
    const SafetensorsFile again =
        SafetensorsFile::parse(serialize_safetensors(file.tensors(), file.metadata()), "written");
    require(again.tensors().size() == file.tensors().size() && again.metadata() == file.metadata());
    require(sum_of_bytes(again) == sum_of_bytes(file));
  });
}

void read_config(std::string_view bytes) {
  accept_errors([&] {
    const Experiment experiment = parse_experiment(bytes, "fuzzed.toml");
    const std::string written = to_toml(experiment);
    require(to_toml(parse_experiment(written, "written.toml")) == written);
  });
}

void read_settings(std::string_view bytes) {
  constexpr std::size_t kMaxSettings = 50;
  std::vector<std::string> settings;
  std::istringstream lines{std::string(bytes)};
  for (std::string line; settings.size() < kMaxSettings && std::getline(lines, line);) settings.push_back(line);
  accept_errors([&] {
    const Experiment experiment = parse_experiment("", "fuzzed.toml", settings);
    const std::string written = to_toml(experiment);
    std::vector<std::string> all;
    for (const auto& [name, value] : settings_of(experiment)) all.push_back(name + "=" + value);
    require(to_toml(parse_experiment("", "written.toml", all)) == written);
    accept_errors([&] { check_options(experiment, "fuzz"); });
    accept_errors([&] { check_data_options(experiment, "fuzz"); });
    accept_errors([&] { check_resumed(experiment, Experiment(), "run/last/config.toml", "fuzz"); });
    accept_errors([&] { check_options(experiment.search, /*vocabulary_size=*/1000); });
    accept_errors([&] { check_effects(experiment.search, SearchOptions(), "fuzz"); });
  });
}

void read_manifest(std::string_view bytes) {
  accept_errors([&] {
    const Manifest manifest = parse_manifest(bytes, "fuzzed");
    const std::string written = manifest_text(manifest);
    require(manifest_text(parse_manifest(written, "written")) == written);
    for (const ManifestEntry& file : manifest.files) require(is_plain_name(file.name));
  });
}

void read_json(std::string_view bytes) {
  accept_errors([&] {
    JsonScanner json(bytes, "fuzzed");
    json.skip();
    json.expect_end();
  });
  accept_errors([&] {
    const std::string text = JsonScanner(bytes, "fuzzed").read_string("text");
    const std::string written = quote_json(text);
    require(JsonScanner(written, "written").read_string("text") == text);
  });
  accept_errors([&] { JsonScanner(bytes, "fuzzed").read_number("number"); });
  accept_errors([&] {
    const std::uint64_t number = JsonScanner(bytes, "fuzzed").read_whole_number("number");
    require(JsonScanner(std::to_string(number), "written").read_whole_number("number") == number);
  });
}

// Puts the right checksum into the bytes first, because altered files have wrong ones, and uses the shortlist with the
// smallest vocabularies that it fits.
void read_shortlist(std::string_view bytes) {
  constexpr std::size_t kChecksumPlace = 8;
  std::string file(bytes);
  const std::uint64_t checksum = shortlist_checksum(file);
  if (file.size() >= kChecksumPlace + sizeof(checksum)) {
    std::memcpy(file.data() + kChecksumPlace, &checksum, sizeof(checksum));
  }
  accept_errors([&] {
    const ShortlistTable table = parse_shortlist(file, "fuzzed");
    require(serialize_shortlist(table) == file);
    const std::int64_t inputs = std::ssize(table.offsets) - 1;
    std::int64_t outputs = 1;
    for (const std::uint32_t token : table.tokens) outputs = std::max(outputs, std::int64_t{token} + 1);
    const Shortlist shortlist(table, {.input_size = inputs, .output_size = outputs, .end_token = outputs - 1},
                              "fuzzed");
    if (outputs > kMaxFuzzedTokens) return;
    Tokens input = {-1, inputs};
    for (std::int64_t token = 0; token < std::min<std::int64_t>(inputs, 20); ++token) input.push_back(token);
    const std::vector<std::int32_t> selected = shortlist.select(input);
    require(std::ranges::is_sorted(selected, std::ranges::less_equal()) && !selected.empty());
    require(selected.front() >= 0 && selected.back() == outputs - 1);
    require(selected.size() % 8 == 0 || std::ssize(selected) == outputs);
  });
}

}  // namespace edgewise::fuzz
