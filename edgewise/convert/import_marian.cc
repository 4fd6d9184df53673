// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/marian_config.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/yaml.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Reads a vocabulary, a map of tokens and their numbers, and adds the token for padding, which Marian does not have.
TokenListBuilder read_marian_tokens(const fs::path& path, std::int64_t size, const MarianTokenRules& rules,
                                    std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, path.string());
  const YamlValue file = read_yaml(path, caller);
  check(file.kind == YamlValue::Kind::kMap, "{} is no map, needs the number of each token", where);
  const auto most = static_cast<std::int64_t>(file.keys.size());
  std::vector<std::string> tokens(file.keys.size());
  for (std::size_t i = 0; i < file.keys.size(); ++i) {
    const YamlValue& value = file.items[i];
    std::int64_t number = 0;
    const bool fits = parse_number(value.text, at_least(0).at_most(static_cast<double>(most - 1)), number);
    check(fits && tokens[static_cast<std::size_t>(number)].empty(),
          "{}, line {}: {} has number {}, needs another one from 0 to {} than other tokens", where, value.line,
          quote(file.keys[i]), quote(value.text), most - 1);
    tokens[static_cast<std::size_t>(number)] = file.keys[i];
  }
  check(most + 1 == size, "{} has {} tokens, needs the {} of the model", where, most, size - 1);
  return marian_token_list(std::move(tokens), rules, where);
}

/// Returns whether both sides have the same tokens: those of one table, or of one file.
bool has_common_tokens(const MarianDecoder& decoder, const TransformerOptions& options) {
  if (options.tying == Tying::kAll) return true;
  return decoder.vocabularies[0] == decoder.vocabularies[1] && options.input_vocabulary == options.output_vocabulary;
}

Vocabularies read_marian_vocabularies(const fs::path& directory, const MarianDecoder& decoder,
                                      const TransformerOptions& options, std::string_view caller) {
  const MarianTokenRules& rules = decoder.token_rules;
  TokenListBuilder input = read_marian_tokens(decoder.vocabularies[0], options.input_vocabulary, rules, caller);
  std::optional<TokenListBuilder> output;
  if (!has_common_tokens(decoder, options)) {
    output = read_marian_tokens(decoder.vocabularies[1], options.output_vocabulary, rules, caller);
  }
  return make_marian_vocabularies(directory, std::move(input), std::move(output), caller);
}

/// Returns the bytes of kPaddingBias.
std::string padding_bias(const TensorInfo& bias, const std::string& where) {
  const auto bytes_of_number = [](auto number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  check(bias.dtype == DType::kF32 || bias.dtype == DType::kF16, "{}: {} is {}, needs F32 or F16", where,
        quote(bias.name), dtype_name(bias.dtype));
  constexpr std::uint16_t kFloat16Bits = 0xF000;
  return bias.dtype == DType::kF32 ? bytes_of_number(kPaddingBias) : bytes_of_number(kFloat16Bits);
}

/// Adds an element for padding to each table, output projection and bias of the vocabularies. Padding begins outputs,
/// with a vector of zeros, as Marian does; its output bias takes it out of the softmax.
void add_padding(StoredTensors& arrays, const std::string& where) {
  for (TensorInfo& array : arrays.tensors) {
    const bool is_table = array.name == "Wemb" || array.name == "encoder_Wemb" || array.name == "decoder_Wemb";
    const bool is_bias = array.name == "decoder_ff_logit_out_b";
    const bool is_projection = array.name == "decoder_ff_logit_out_W";
    if (array.shape.size() != 2 || !(is_table || is_bias || is_projection)) continue;
    const std::size_t element = dtype_size(array.dtype);
    const auto rows = static_cast<std::size_t>(is_table ? 1 : array.shape[0]);
    const std::size_t row_bytes = array.bytes.size() / rows;
    const std::string added =
        is_bias ? padding_bias(array, where)
                : std::string(is_table ? static_cast<std::size_t>(array.shape[1]) * element : element, '\0');
    std::string padded;
    for (std::size_t row = 0; row < rows; ++row) {
      padded.append(reinterpret_cast<const char*>(array.bytes.data()) + row * row_bytes, row_bytes);
      padded.append(added);
    }
    array.bytes = std::as_bytes(std::span(arrays.keep(std::move(padded))));
    ++array.shape[is_table ? 0 : 1];
  }
}

}  // namespace

ImportedModel import_marian(const fs::path& directory, std::string_view caller) {
  const MarianDecoder decoder = read_marian_decoder(directory, caller);
  StoredTensors stored = read_npz(decoder.model, caller);
  const std::string where = fmt::format("{}: {}", caller, decoder.model.string());
  TransformerOptions options;
  {
    TensorLookup arrays(stored.tensors, where);
    options = read_marian_options(arrays, where);
  }
  add_padding(stored, where);
  TensorLookup arrays(stored.tensors, where);
  arrays.find("special:model.yml");

  ImportedModel model;
  model.origin = "a Marian model";
  model.vocabularies = read_marian_vocabularies(directory, decoder, options, caller);
  model.experiment.model = options;
  model.experiment.search = decoder.search;
  model.experiment.vocabulary.kind = VocabularyKind::kMapped;
  model.experiment.vocabulary.shared = has_common_tokens(decoder, options);
  model.experiment.data.end_input = true;
  model.experiment.data.max_length = longest_input(decoder.max_length, *model.vocabularies.input);
  model.parameters = import_parameters(list_parameters(options), marian_layout(options), arrays);
  arrays.expect_all_used();
  std::ranges::move(stored.memory, std::back_inserter(model.parameters.memory));
  return model;
}

}  // namespace edgewise
