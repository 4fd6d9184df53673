// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/ctranslate2_settings.h"
#include "edgewise/convert/ctranslate2_vocabulary.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/position_tables.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/system_search.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInputTable = "encoder/embeddings_0/weight";
constexpr const char* kOutputTable = "decoder/embeddings/weight";
constexpr const char* kProjection = "decoder/projection/weight";
constexpr const char* kProjectionBias = "decoder/projection/bias";

void check_specification(const Ctranslate2Model& model, const std::string& where) {
  constexpr std::string_view kSpecification = "TransformerSpec";
  constexpr std::uint32_t kFirst = 3, kLast = 7;
  check(model.specification == kSpecification, "{} has the specification {}, needs {}", where,
        quote(model.specification), kSpecification);
  check(model.revision >= kFirst && model.revision <= kLast, "{} has revision {} of {}, needs {} to {}", where,
        model.revision, kSpecification, kFirst, kLast);
}

std::string scales_of(const std::string& name) { return name + ".scale"; }

bool are_equal(const TensorInfo* a, const TensorInfo* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->dtype == b->dtype && a->shape == b->shape && std::ranges::equal(a->bytes, b->bytes);
}

/// Changes the tensors of a model into those of its layout (system_layouts.h).
class TensorEditor {
 public:
  TensorEditor(StoredTensors& stored, TransformerOptions& options, const std::string& where)
      : stored_(stored), options_(options), where_(where) {}

  /// Finds the options that depend on the tensors, and removes the copies of tied tables. Tables of both sides are tied
  /// only if the sides share a vocabulary.
  void set_options(bool has_shared_vocabulary) {
    options_.final_norm = has("encoder/layer_norm/gamma");
    check(options_.final_norm == has("decoder/layer_norm/gamma"),
          "{} has the final norm of one side alone, needs {} and {} or neither", where_,
          quote("encoder/layer_norm/gamma"), quote("decoder/layer_norm/gamma"));
    options_.attention_bias = std::ranges::any_of(stored_.tensors, [](const TensorInfo& tensor) {
      return tensor.name.find("attention/linear_") != std::string::npos && tensor.name.ends_with("/bias");
    });
    options_.tying = has_equal(kProjection, kOutputTable) ? Tying::kOutput : Tying::kNone;
    if (options_.tying == Tying::kOutput && has_shared_vocabulary && has_equal(kOutputTable, kInputTable)) {
      options_.tying = Tying::kAll;
    }
    if (options_.tying != Tying::kNone) remove_matrix(kProjection);
    if (options_.tying == Tying::kAll) remove_matrix(kOutputTable);
  }

  /// Adds the biases of the layout that the model does not have: zeros.
  void add_missing_biases() {
    std::vector<TensorLayout> missing;
    for (const TensorLayout& tensor : ctranslate2_layout(options_)) {
      if (tensor.name.ends_with("/bias") && !has(tensor.name)) missing.push_back(tensor);
    }
    if (missing.empty()) return;
    const std::vector<ParameterShape> parameters = list_parameters(options_);
    for (const TensorLayout& tensor : missing) {
      std::int64_t size = 0;
      for (const std::string& name : tensor.parameters) {
        size += std::ranges::find(parameters, name, &ParameterShape::name)->shape.front();
      }
      add_zeros(tensor.name, {size}, stored_);
    }
  }

  /// Adds a token to the outputs, and to the inputs if they have the same tokens. Its vectors are 0. Its bias makes its
  /// probability 0 in single precision, so that those of the other tokens stay as they are in CTranslate2.
  void add_begin_token(bool is_shared) {
    if (has(kOutputTable)) add_row(kOutputTable);
    if (has(kProjection)) add_row(kProjection);
    if (is_shared) add_row(kInputTable);
    constexpr float kNever = -6e4F;
    std::vector<float> bias = to_floats(*stored_.find(kProjectionBias), where_);
    bias.push_back(kNever);
    TensorInfo& tensor = *stored_.find(kProjectionBias);
    tensor.dtype = DType::kF32;
    append(tensor, {reinterpret_cast<const char*>(bias.data()), bias.size() * sizeof(float)}, "");
    ++options_.output_vocabulary;
    if (is_shared) ++options_.input_vocabulary;
  }

 private:
  bool has(std::string_view name) { return stored_.find(name) != nullptr; }

  bool has_equal(const std::string& a, const std::string& b) {
    return are_equal(stored_.find(a), stored_.find(b)) &&
           are_equal(stored_.find(scales_of(a)), stored_.find(scales_of(b)));
  }

  void remove_matrix(const std::string& name) {
    std::erase_if(stored_.tensors,
                  [&](const TensorInfo& tensor) { return tensor.name == name || tensor.name == scales_of(name); });
  }

  /// Replaces the bytes of a tensor by two texts, one after the other, for one more row.
  void append(TensorInfo& tensor, std::string_view bytes, std::string_view row) {
    std::string longer;
    longer.reserve(bytes.size() + row.size());
    longer.append(bytes).append(row);
    tensor.bytes = std::as_bytes(std::span(stored_.keep(std::move(longer))));
    ++tensor.shape[0];
  }

  void add_row(const std::string& name) {
    TensorInfo& table = *stored_.find(name);
    const auto text = [](const TensorInfo& tensor) {
      return std::string_view(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    };
    const std::string zeros(static_cast<std::size_t>(options_.size) * dtype_size(table.dtype), '\0');
    append(table, text(table), zeros);
    constexpr float kOne = 1;
    if (TensorInfo* scales = stored_.find(scales_of(name))) {
      append(*scales, text(*scales), {reinterpret_cast<const char*>(&kOne), sizeof(kOne)});
    }
  }

  StoredTensors& stored_;
  TransformerOptions& options_;
  const std::string& where_;
};

void check_sizes(Ctranslate2Tokens& tokens, const TransformerOptions& options, const fs::path& directory,
                 std::string_view caller) {
  const auto check_size = [&](std::string_view side, const std::vector<std::string>& list, std::int64_t size) {
    check(std::ssize(list) == size, "{}: {}: the vocabulary of {} has {} tokens, needs the {} of the model", caller,
          directory.string(), side, list.size(), size);
  };
  check_size("inputs", tokens.input, options.input_vocabulary);
  check_size("outputs", tokens.of_output(), options.output_vocabulary);
}

/// Adds a token with a name that no other token has. Returns its number.
std::int64_t add_begin_name(std::vector<std::string>& tokens) {
  std::string name = "<pad>";
  while (std::ranges::find(tokens, name) != tokens.end()) name.insert(1, "_");
  tokens.push_back(name);
  return std::ssize(tokens) - 1;
}

/// The files of a directory, read and checked one by one.
struct Ctranslate2Files {
  Ctranslate2Variables variables;
  Ctranslate2Settings settings;
  Ctranslate2Tokens tokens;
  std::int64_t positions = 0;  // on each side
  std::string where;           // beginning of errors about model.bin
};

Ctranslate2Files read_files(const fs::path& directory, std::string_view caller) {
  const fs::path path = directory / "model.bin";
  const fs::path config_path = directory / "config.json";
  const JsonSettings config = has_entry(config_path, caller)
                                  ? JsonSettings::read(config_path, caller)
                                  : JsonSettings(fmt::format("{}: {}", caller, config_path.string()));
  Ctranslate2Files files;
  files.where = fmt::format("{}: {}", caller, path.string());
  const Ctranslate2Model model = read_ctranslate2(path, caller);
  check_specification(model, files.where);
  files.variables = take_ctranslate2_variables(model, files.where);
  files.settings = read_ctranslate2_settings(model, files.variables, config, files.where);
  files.tokens = read_ctranslate2_tokens(directory, files.settings, caller);
  check_sizes(files.tokens, files.settings.model, directory, caller);
  return files;
}

/// Makes the tensors those of the layout. Returns the number of a token that was added to the outputs, if there is one.
std::optional<std::int64_t> edit_tensors(Ctranslate2Files& files) {
  const bool is_shared = files.tokens.are_shared();
  StoredTensors& tensors = files.variables.tensors;
  TensorEditor editor(tensors, files.settings.model, files.where);
  editor.set_options(is_shared);
  files.positions = choose_ctranslate2_positions(tensors, files.settings.model, files.where);
  editor.add_missing_biases();
  if (!files.settings.starts_from_zero) return std::nullopt;
  editor.add_begin_token(is_shared);
  return add_begin_name(files.tokens.of_output());
}

}  // namespace

ImportedModel import_ctranslate2(const fs::path& directory, std::string_view caller) {
  Ctranslate2Files files = read_files(directory, caller);
  const std::optional<std::int64_t> added = edit_tensors(files);
  const TransformerOptions& options = files.settings.model;
  StoredTensors& stored = files.variables.tensors;
  ImportedModel model;
  model.origin = "a CTranslate2 model";
  model.experiment.model = options;
  model.experiment.vocabulary.kind = VocabularyKind::kMapped;
  model.experiment.vocabulary.shared = files.tokens.are_shared();
  const Ctranslate2Vocabulary vocabulary =
      make_ctranslate2_vocabulary(directory, std::move(files.tokens), files.settings, added, caller);
  model.vocabularies = vocabulary.vocabularies;
  model.experiment.data.end_input = vocabulary.end_input;
  model.experiment.search = ctranslate2_search();
  model.experiment.data.max_length =
      longest_input(std::min(files.positions, kLongestCtranslate2Input), *model.vocabularies.input);
  TensorLookup tensors(stored.tensors, files.where);
  model.parameters = import_parameters(list_parameters(options), ctranslate2_layout(options), tensors);
  tensors.expect_all_used();
  std::ranges::move(stored.memory, std::back_inserter(model.parameters.memory));
  return model;
}

}  // namespace edgewise
