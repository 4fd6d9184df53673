// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/decoding_workload.h"

#include <ATen/ops/empty.h>

#include <memory>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/ops/backend.h"
#include "edgewise/runtime/gpu/model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kDecodingSeed = 1;

std::vector<std::string> read_first_sentences(const DecodingBenchOptions& options) {
  LineReader lines(options.input);
  std::vector<std::string> sentences;
  for (std::string line; std::ssize(sentences) < options.sentences && lines.next(line);) sentences.push_back(line);
  check(!sentences.empty(), "bench decode: {} has no sentences, needs one", options.input);
  return sentences;
}

SearchOptions search_options(const DecodingBenchOptions& options) {
  SearchOptions search;
  search.beam = options.beam;
  search.length_norm = LengthNorm::kNone;
  search.length_factor = 0;
  search.length_offset = options.output_tokens - 1;
  search.min_length = options.output_tokens - 1;
  return search;
}

ScorerFactory make_scorers(const DecodingBenchOptions& options, const TransformerOptions& model,
                           const SafetensorsFile& file, const std::string& name) {
  if (options.gpu || backend_of(at::empty({1})) == Backend::kGpu) {
    const auto on_gpu = std::make_shared<const GpuModel>(
        model, file, name, GpuModelOptions{.precision = options.precision, .gpu = options.gpu.value_or(0)});
    return [on_gpu] { return on_gpu->make_scorer(); };
  }
  const auto on_cpu = std::make_shared<const RuntimeModel>(model, file, name, options.precision);
  return [on_cpu] { return on_cpu->make_scorer(); };
}

DecodingWorkload make_random_workload(const DecodingBenchOptions& options) {
  const std::vector<std::string> sentences = read_first_sentences(options);
  TransformerOptions model = bench_model_options(options.size);
  model.norm_placement = NormPlacement::kPost;
  model.final_norm = false;
  const std::string name = "random";
  const ListedTensors parameters = list_tensors(make_model(model, kDecodingSeed)->parameters());
  const SafetensorsFile file = SafetensorsFile::list(parameters.infos);
  DecodingWorkload workload = {
      .make_scorer = make_scorers(options, model, file, name), .inputs = {}, .search = search_options(options)};
  RandomStream random(kDecodingSeed);
  for (const std::string& sentence : sentences) {
    Tokens& input = workload.inputs.emplace_back(estimate_subwords(sentence));
    for (std::int64_t& token : input) {
      token = 4 + static_cast<std::int64_t>(random.next_below(model.input_vocabulary - 4));
    }
  }
  workload.search.never = {0, 1, 2};
  return workload;
}

std::vector<Tokens> encode_inputs(const TextCodec& codec, const DecodingBenchOptions& options) {
  std::vector<Tokens> inputs;
  for (std::string& sentence : read_first_sentences(options)) {
    for (SentencePart& part : codec.encode({.input = std::move(sentence)}).parts) {
      if (!part.input.tokens.empty()) inputs.push_back(std::move(part.input.tokens));
    }
  }
  check(!inputs.empty(), "bench decode: {} has no tokens of {}, needs one", options.input, options.model);
  return inputs;
}

DecodingWorkload read_workload(const DecodingBenchOptions& options) {
  const ModelFiles files = read_model_files(options.model, "bench decode");
  const std::int64_t positions = files.codec.max_positions;
  check(positions == 0 || options.output_tokens <= positions,
        "bench decode: output_tokens is {}, needs at most {}, the number of positions of {}", options.output_tokens,
        positions, options.model);
  DecodingWorkload workload = {
      .make_scorer = make_scorers(options, files.experiment.model, files.parameters, files.parameters_name),
      .inputs = encode_inputs(files.codec, options),
      .search = search_options(options)};
  const SentenceRules& rules = files.codec.vocabularies.output->rules();
  workload.search.begin_token = rules.special.begin;
  workload.search.end_token = rules.special.end;
  workload.search.never.assign(rules.forbidden.begin(), rules.forbidden.end());
  return workload;
}

}  // namespace

DecodingWorkload make_decoding_workload(const DecodingBenchOptions& options) {
  return options.model.empty() ? make_random_workload(options) : read_workload(options);
}

}  // namespace edgewise
