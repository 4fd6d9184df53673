// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/marian_binary.h"
#include "edgewise/convert/marian_config.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/packed_file.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/yaml.h"
#include "edgewise/translate/model_files.h"

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

/// Makes the list of the pieces of a SentencePiece model, whose numbers are those of Marian's tokens. Their names in a
/// text are text, as for Marian.
TokenListBuilder piece_list(const PieceCodec& pieces, std::int64_t size, const MarianTokenRules& rules,
                            const std::string& where) {
  std::vector<std::string> tokens;
  for (const Piece& piece : pieces.pieces()) tokens.push_back(piece.text);
  check(std::ssize(tokens) + 1 == size, "{} has {} pieces, needs the {} tokens of the model", where, tokens.size(),
        size - 1);
  TokenListBuilder builder = marian_token_list(std::move(tokens), rules, where);
  builder.hide_names();
  return builder;
}

/// Returns whether a vocabulary is a SentencePiece model, which may be compressed.
bool is_piece_file(const fs::path& path) {
  return (path.extension() == kPackedEnding ? path.stem() : path).extension() == ".spm";
}

/// Makes the vocabularies of a student, which are SentencePiece models.
Vocabularies read_student_vocabularies(const MarianDecoder& decoder, const TransformerOptions& options,
                                       std::string_view caller) {
  const MarianPieces pieces = read_side_pieces(decoder.vocabularies[0], decoder.vocabularies[1], caller);
  const auto list = [&](const PieceCodec& side, std::size_t i, std::int64_t size) {
    return piece_list(side, size, decoder.token_rules, fmt::format("{}: {}", caller, decoder.vocabularies[i].string()));
  };
  TokenListBuilder input = list(*pieces.input, 0, options.input_vocabulary);
  if (has_common_tokens(decoder, options)) return make_marian_vocabularies(pieces, std::move(input), std::nullopt);
  return make_marian_vocabularies(pieces, std::move(input), list(*pieces.output, 1, options.output_vocabulary));
}

Vocabularies read_marian_vocabularies(const fs::path& directory, const MarianDecoder& decoder,
                                      const TransformerOptions& options, std::string_view caller) {
  if (is_piece_file(decoder.vocabularies[0])) return read_student_vocabularies(decoder, options, caller);
  const MarianTokenRules& rules = decoder.token_rules;
  TokenListBuilder input = read_marian_tokens(decoder.vocabularies[0], options.input_vocabulary, rules, caller);
  std::optional<TokenListBuilder> output;
  if (!has_common_tokens(decoder, options)) {
    output = read_marian_tokens(decoder.vocabularies[1], options.output_vocabulary, rules, caller);
  }
  return make_marian_vocabularies(directory, std::move(input), std::move(output), caller);
}

constexpr std::string_view kScaleEnding = ".scale";

bool is_embedding_table(std::string_view name) {
  return name == "Wemb" || name == "encoder_Wemb" || name == "decoder_Wemb";
}

constexpr std::string_view kUntiedProjection = "decoder_ff_logit_out_W";

/// Returns whether an array has a vector for each token, to which import_marian adds that of padding.
bool has_padding_vector(std::string_view name) { return is_embedding_table(name) || name == kUntiedProjection; }

constexpr std::string_view kMultiplierEnding = "_QuantMultA";

/// Returns the name of the matrix of the output projection.
std::string_view output_matrix(Tying tying) {
  switch (tying) {
    case Tying::kAll:
      return "Wemb";
    case Tying::kOutput:
      return "decoder_Wemb";
    case Tying::kNone:
      return kUntiedProjection;
  }
  fail("output_matrix: tying is {}, needs one of enum_names", static_cast<int>(tying));
}

/// Returns whether marian-conv stores an array of floats in 8 bits: a table, or the matrix of a product.
bool is_rounded_by_marian(const TensorInfo& array) {
  const std::size_t place = array.name.rfind("_W");
  const bool is_matrix = place != std::string::npos && array.name.size() - place <= std::string_view("_Wq").size();
  return array.dtype == DType::kF32 && array.shape.size() == 2 && !array.bytes.empty() &&
         (is_matrix || is_embedding_table(array.name));
}

/// Rounds a matrix to 8 bits as marian-conv does: the integers are the numbers times 127 / the largest magnitude.
void round_to_8_bits(std::size_t index, StoredTensors& arrays, const std::string& where) {
  TensorInfo& array = arrays.tensors[index];
  const std::vector<float> values = to_floats(array, where);
  float largest = 0;
  for (const float value : values) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : std::abs(value);
  }
  const float multiplier = 127 / largest;
  check(std::isfinite(largest) && std::isfinite(multiplier),
        "{}: {} has the largest magnitude {}, needs a finite one above 0, to round its numbers to 8 bits", where,
        quote(array.name), largest);
  std::string integers;
  for (const float value : values) {
    integers += static_cast<char>(static_cast<std::int8_t>(std::nearbyint(value * multiplier)));
  }
  array.dtype = DType::kI8;
  array.bytes = std::as_bytes(std::span(arrays.keep(std::move(integers))));
  const std::int64_t count = array.shape[is_embedding_table(array.name) ? 0 : 1];
  const std::vector<float> scales(static_cast<std::size_t>(count), 1 / multiplier);
  arrays.add(array.name + std::string(kScaleEnding), {count}, scales);
}

/// Rounds the matrices of a file of floats that has input multipliers, which marian-conv makes into a file of 8 bits.
void round_as_marian(StoredTensors& arrays, const std::string& where) {
  const bool has_multipliers = std::ranges::any_of(
      arrays.tensors, [](const TensorInfo& array) { return array.name.ends_with(kMultiplierEnding); });
  const std::size_t count = has_multipliers ? arrays.tensors.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_rounded_by_marian(arrays.tensors[i])) round_to_8_bits(i, arrays, where);
  }
}

/// Makes a multiplier of the inputs of a matrix what base/files/stored_parameters.h describes.
void change_input_multiplier(TensorInfo& array, std::string_view matrix, const std::string& where) {
  const std::vector<float> multiplier = to_floats(array, where);
  check(multiplier.size() == 1, "{}: {} has {} elements, needs 1", where, quote(array.name), multiplier.size());
  check(array.dtype == DType::kF32 && multiplier[0] > 0 && std::isfinite(multiplier[0]) &&
            std::isfinite(1 / multiplier[0]),
        "{}: {} is {} of {}, needs a positive number of F32 with a finite inverse", where, quote(array.name),
        multiplier[0], dtype_name(array.dtype));
  array.name = fmt::format("{}.input_multiplier", matrix);
  array.shape = {1};
}

/// Gives each matrix of I8 its input multiplier, if the array NAME_QuantMultA has one. The output projection also has
/// the name `none`, which comes first: a shortlist selects its columns, and the students were tuned with shortlists.
void add_input_multipliers(StoredTensors& arrays, Tying tying, const std::string& where) {
  std::unordered_set<std::string> matrices;
  for (const TensorInfo& array : arrays.tensors) {
    if (array.dtype == DType::kI8 && array.shape.size() == 2) matrices.insert(array.name);
  }
  const std::string output(output_matrix(tying));
  const std::string of_none = fmt::format("none{}", kMultiplierEnding);
  if (matrices.contains(output) && arrays.find(of_none) != nullptr) {
    const std::string of_output = fmt::format("{}{}", output, kMultiplierEnding);
    std::erase_if(arrays.tensors, [&](const TensorInfo& array) { return array.name == of_output; });
    arrays.find(of_none)->name = of_output;
  }
  for (TensorInfo& array : arrays.tensors) {
    if (!array.name.ends_with(kMultiplierEnding)) continue;
    const std::string matrix = array.name.substr(0, array.name.size() - kMultiplierEnding.size());
    if (matrices.contains(matrix)) change_input_multiplier(array, matrix, where);
  }
}

/// Returns what the projections of a product have in common: the name of their attention or SSRU. Other matrices have
/// products of their own, and an empty result.
std::string_view joined_part(std::string_view parameter) {
  const std::size_t dot = parameter.substr(0, parameter.size() - std::string_view(".weight").size()).rfind('.');
  const std::string_view owner = parameter.substr(0, dot == std::string_view::npos ? 0 : dot);
  const bool is_ssru = owner.ends_with("ssru");
  const bool is_read = parameter.ends_with("key.weight") || parameter.ends_with("value.weight") ||
                       (owner.ends_with("self_attention") && parameter.ends_with("query.weight"));
  return is_ssru || is_read ? owner : std::string_view();
}

/// Throws Error if matrices of I8 that one product joins have different multipliers of their inputs, or only some have
/// one.
void check_joined_multipliers(const StoredTensors& parameters, const std::string& where) {
  std::map<std::string_view, std::pair<std::string_view, float>> first;  // by joined_part
  for (const TensorInfo& tensor : parameters.tensors) {
    const std::string_view owner = tensor.dtype == DType::kI8 ? joined_part(tensor.name) : std::string_view();
    if (owner.empty()) continue;
    const auto found = std::ranges::find(parameters.tensors, tensor.name + ".input_multiplier", &TensorInfo::name);
    const float multiplier = found == parameters.tensors.end() ? 0 : to_floats(*found, where).at(0);
    const auto [before, is_new] = first.emplace(owner, std::pair(std::string_view(tensor.name), multiplier));
    check(is_new || before->second.second == multiplier,
          "{}: the inputs of {} have the multiplier {}, needs {} as those of {}, because one product computes both",
          where, quote(tensor.name), multiplier, before->second.second, quote(before->second.first));
  }
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

/// Adds the scale of padding to the scales of a table or an output projection, a copy of the last one: all are equal.
void add_padding_scale(TensorInfo& array, StoredTensors& arrays, const std::string& where) {
  std::vector<float> scales = to_floats(array, where);
  if (scales.empty()) return;
  scales.push_back(scales.back());
  array.bytes = std::as_bytes(
      std::span(arrays.keep(std::string(reinterpret_cast<const char*>(scales.data()), scales.size() * sizeof(float)))));
  array.shape = {std::ssize(scales)};
}

/// Adds an element for padding to each table, output projection and bias of the vocabularies. Padding begins outputs,
/// with a vector of zeros, as Marian does; its output bias takes it out of the softmax. Arrays without elements stay:
/// they have no shape of a model, which import_parameters refuses.
void add_padding(StoredTensors& arrays, const std::string& where) {
  for (TensorInfo& array : arrays.tensors) {
    const std::string_view name = array.name;
    if (name.ends_with(kScaleEnding) && has_padding_vector(name.substr(0, name.size() - kScaleEnding.size()))) {
      add_padding_scale(array, arrays, where);
      continue;
    }
    const bool is_table = is_embedding_table(name);
    const bool is_bias = name == "decoder_ff_logit_out_b";
    if (array.shape.size() != 2 || array.bytes.empty() || !(is_bias || has_padding_vector(name))) continue;
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
  const bool has_decoder = has_entry(directory / "decoder.yml", caller);
  const MarianDecoder decoder =
      has_decoder ? read_marian_decoder(directory, caller) : read_marian_student(directory, caller);
  StoredTensors stored =
      decoder.model.extension() == ".npz" ? read_npz(decoder.model, caller) : read_marian_binary(decoder.model, caller);
  const std::string where = fmt::format("{}: {}", caller, decoder.model.string());
  TransformerOptions options;
  CrossHeads recorded_heads;
  {
    TensorLookup arrays(stored.tensors, where);
    options = read_marian_options(arrays, where);
    recorded_heads = read_marian_heads(arrays, where);
  }
  round_as_marian(stored, where);
  add_input_multipliers(stored, options.tying, where);
  add_padding(stored, where);
  TensorLookup arrays(stored.tensors, where);
  arrays.find("special:model.yml");

  ImportedModel model;
  model.origin = has_decoder ? "a Marian model" : "a student of Marian, as Firefox and Bergamot have them";
  model.vocabularies = read_marian_vocabularies(directory, decoder, options, caller);
  model.experiment.model = options;
  model.experiment.search = decoder.search;
  model.experiment.search.recorded_heads = recorded_heads;
  model.experiment.vocabulary.kind = VocabularyKind::kMapped;
  model.experiment.vocabulary.shared = has_common_tokens(decoder, options);
  model.experiment.data.end_input = true;
  model.experiment.data.max_length = longest_input(decoder.max_length, *model.vocabularies.input);
  model.parameters = import_parameters(list_parameters(options), marian_layout(options), arrays);
  arrays.expect_all_used();
  check_joined_multipliers(model.parameters, where);
  if (!decoder.shortlist.empty()) {
    model.shortlist = make_shortlist(read_packed_file(decoder.shortlist, caller, kMaxShortlistBytes), model.experiment,
                                     model.vocabularies, fmt::format("{}: {}", caller, decoder.shortlist.string()));
  }
  std::ranges::move(stored.memory, std::back_inserter(model.parameters.memory));
  return model;
}

}  // namespace edgewise
