// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/manifest.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/options/experiment.h"
#include "edgewise/text/sentence_case.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise::fuzz {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Read>
void accept_errors(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

void read_safetensors(std::string_view bytes) {
  accept_errors([&] {
    const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "fuzzed.safetensors");
    std::uint64_t sum = 0;
    for (const TensorInfo& tensor : file.tensors()) {
      require(file.find(tensor.name) == &tensor);
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<std::uint64_t>(byte);
    }
    // A second file with these tensors must be read back with equal tensors.
    const std::string written = serialize_safetensors(file.tensors(), file.metadata());
    const SafetensorsFile again = SafetensorsFile::parse(std::as_bytes(std::span(written)), "written.safetensors");
    require(again.tensors().size() == file.tensors().size() && again.metadata() == file.metadata());
    for (const TensorInfo& tensor : again.tensors()) {
      for (const std::byte byte : tensor.bytes) sum -= std::to_integer<std::uint64_t>(byte);
    }
    require(sum == 0);
  });
}

void read_config(std::string_view bytes) {
  accept_errors([&] {
    const Experiment experiment = parse_experiment(bytes, "fuzzed.toml");
    const std::string written = to_toml(experiment);
    require(to_toml(parse_experiment(written, "written.toml")) == written);
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

void read_vocabulary(std::string_view bytes) {
  accept_errors([&] {
    const auto vocabulary = parse_vocabulary(bytes, "fuzzed");
    const std::vector<std::int64_t> tokens =
        vocabulary->encode("It's \xC3\xA9t\xC3\xA9 again, and \xE4\xB8\xAD I won !");
    for (const std::int64_t token : tokens) require(token >= 0 && token < vocabulary->size());
    vocabulary->decode(tokens);
  });
}

void read_case(std::string_view bytes) {
  accept_errors([&] {
    const SentenceCase sentence_case = SentenceCase::parse(bytes, "fuzzed");
    const std::string written = sentence_case.serialize();
    require(SentenceCase::parse(written, "written").serialize() == written);
    sentence_case.undo(sentence_case.apply("\"\xC3\x89t\xC3\xA9 !\" The cat: \xE4\xB8\xAD"));
  });
}

}  // namespace edgewise::fuzz
