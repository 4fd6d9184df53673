// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/benchmark/attention_bench.h"
#include "edgewise/benchmark/timing.h"
#include "edgewise/benchmark/training_bench.h"
#include "edgewise/graph/power_law.h"
#include "edgewise/models/model_costs.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

class BenchProgram : public ProgramTest {
 protected:
  /// Writes a corpus of three short sentence pairs.
  void write_corpus() const {
    write("a.en", "one two three\nfour\nfive six\n");
    write("b.de", "eins\nzwei drei vier fünf\nsechs\n");
  }

  std::vector<std::string> train(std::vector<std::string> more) const {
    more.insert(more.begin(), {"bench", "train", "--input", "a.en", "--output", "b.de"});
    return more;
  }
};

TEST_F(BenchProgram, MeasuresTrainingSteps) {
  write_corpus();

  const auto bench =
      nlohmann::json::parse(run_well(train({"--steps", "6", "--warmup", "2", "--threads", "1", "--json"})));

  EXPECT_EQ(bench["size"], "tiny");
  EXPECT_EQ(bench["precision"], "fp32");
  EXPECT_EQ(bench["threads"], 1);
  EXPECT_EQ(bench["steps"], 6);
  EXPECT_LT(bench["last_loss"], bench["first_loss"]);
  // Each step has 2 + 6 + 2 output tokens in one batch.
  EXPECT_NEAR(bench["output_tokens_per_second"].get<double>() * bench["mean_ms"].get<double>(), 1e3 * (2 + 6 + 2),
              1e-6);
  EXPECT_NEAR(bench["share_of_peak"].get<double>(),
              bench["model_gflops"].get<double>() / bench["gemm_peak_gflops"].get<double>(), 1e-9);
  // Each parameter has four floats: itself, its gradient and two moments.
  const double parameters = 10'000 * 128 * 4 * sizeof(float);
  EXPECT_GT(bench["peak_tensor_bytes"].get<double>(), parameters);
  EXPECT_GT(bench["peak_memory_bytes"].get<double>(), bench["peak_tensor_bytes"].get<double>());
}

TEST_F(BenchProgram, NeedsMoreMemoryForLargerBatches) {
  write_corpus();
  const auto tensors_of = [&](const char* tokens) {
    return nlohmann::json::parse(run_well(train({"--tokens", tokens, "--json"}))).at("peak_tensor_bytes").get<double>();
  };
  EXPECT_LT(tensors_of("1"), tensors_of("16"));
}

TEST_F(BenchProgram, MeasuresTrainingStepsInBf16) {
  write_corpus();
  const auto bench = nlohmann::json::parse(run_well(train({"--steps", "6", "--precision", "bf16", "--json"})));
  EXPECT_EQ(bench["precision"], "bf16");
  EXPECT_LT(bench["last_loss"], bench["first_loss"]);
}

TEST_F(BenchProgram, MeasuresLanguageModelsOfTextsWithARelation) {
  const auto measure = [&](const std::vector<std::string>& relation) {
    std::vector<std::string> command = {"bench",    "train", "--length", "300", "--steps", "4",
                                        "--warmup", "1",     "--tokens", "300", "--json"};
    command.insert(command.end(), relation.begin(), relation.end());
    return nlohmann::json::parse(run_well(command));
  };
  const auto causal = measure({});
  const auto window = measure({"--relation", "window 2", "sinks 1"});

  const auto flops_of_steps = [](const nlohmann::json& bench) {
    return bench["model_gflops"].get<double>() * bench["mean_ms"].get<double>() * 1e-3 * 4;
  };
  const double edges_of_a_layer = 300.0 * 301 / 2 - (3 * 300 - 3);  // that the window leaves out
  EXPECT_NEAR(flops_of_steps(causal) - flops_of_steps(window), 4 * 4 * 12e-9 * 128 * edges_of_a_layer, 1e-6);
  EXPECT_EQ(window["relation"], "window 2, sinks 1");
  EXPECT_LT(window["last_loss"], window["first_loss"]);
  expect_refused({"bench", "train", "--length", "8", "--relation", "window"},
                 "bench train: relation has \"window\", needs window N");
  expect_refused({"bench", "train", "--steps", "1"},
                 "bench train: there are no lengths, needs --input and --output, or --length");
}

TEST_F(BenchProgram, PrintsAProfileOfTraining) {
  write_corpus();

  const auto bench = nlohmann::json::parse(run_well(train({"--steps", "4", "--profile", "--json"})));

  double sum = 0.0;
  std::vector<std::string> work;
  for (const auto& line : bench["profile"]) {
    sum += line["ms_a_step"].get<double>();
    work.push_back(line["work"]);
  }
  EXPECT_THAT(work, testing::IsSupersetOf({"waiting for a batch", "forward", "backward", "optimiser"}));
  EXPECT_LE(sum, bench["mean_ms"].get<double>());
  EXPECT_THAT(run_well(train({"--steps", "4", "--profile"})), testing::HasSubstr("% "));
}

TEST_F(BenchProgram, PrintsTrainingSpeedAsText) {
  write_corpus();

  const std::string output = run_well(train({"--steps", "3"}));

  EXPECT_THAT(output,
              testing::StartsWith("tiny: size 128, feed-forward 256, 4 heads, 4 + 4 layers, 10000 tokens; fp32"));
  EXPECT_THAT(output, testing::HasSubstr("output tokens/s"));
}

TEST_F(BenchProgram, NamesTheMistakeInAWrongCommand) {
  write_corpus();
  expect_refused({"bench"}, "edgewise bench: A subcommand is required; see edgewise bench --help");
  expect_refused(train({"--device", "gpu"}),
                 "bench train: --device is gpu, needs cpu, auto, cuda, or cuda: with the "
                 "number of a GPU, such as cuda:0");
  expect_refused({"bench", "decode", "--input", "a.en", "--device", "gpu"},
                 "bench decode: --device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as "
                 "cuda:0");
  expect_refused({"bench", "attention", "--device", "gpu"},
                 "bench attention: --device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as "
                 "cuda:0");
  expect_refused({"bench", "trian"}, "edgewise bench: unknown argument trian; did you mean train?");
  expect_refused(train({"--stepss", "3"}), "edgewise bench train: unknown option --stepss; did you mean --steps?");
  expect_refused({"bench", "train", "--input", "a.en", "--output", "none"},
                 "read_pairs: none: No such file or directory");
}

TEST_F(BenchProgram, MeasuresDecodingInEachPrecision) {
  write_corpus();
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    const auto bench =
        nlohmann::json::parse(run_well({"bench", "decode", "--input", "a.en", "--precision", precision, "--beam", "2",
                                        "--threads", "2", "--min-seconds", "0", "--json"}));
    EXPECT_EQ(bench["precision"], precision);
    EXPECT_EQ(bench["beam"], 2);
    EXPECT_EQ(bench["splits"].size(), 2u);
    EXPECT_GE(bench["output_tokens_per_second"], bench["splits"][0]["output_tokens_per_second"]);
    EXPECT_LE(bench["median_latency_ms"], bench["splits"][1]["median_latency_ms"]);
  }
}

TEST_F(BenchProgram, MeasuresDecodingOfAGivenModel) {
  write_corpus();
  write("config.toml", kTinyConfig);
  run_well({"train", "config.toml", "--out", "run", "--set", "train.epochs=1"});
  const auto bench =
      nlohmann::json::parse(run_well({"bench", "decode", "--model", "run", "--input", "a.en", "--output-length", "5",
                                      "--sentences", "2", "--min-seconds", "0", "--workers", "1", "--json"}));
  EXPECT_EQ(bench["model"], "run");
  EXPECT_FALSE(bench.contains("size"));
  EXPECT_GT(bench["output_tokens_per_second"], 0);
}

TEST_F(BenchProgram, RefusesAGivenModelWithASizeWithoutPositionsOrWithoutInputs) {
  const std::vector<std::string> decode = {"bench", "decode", "--model", "run", "--input", "a.en"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), decode.begin(), decode.end());
    return more;
  };
  write("a.en", "\n");
  expect_refused(with({"--size", "base"}),
                 "edgewise bench decode: --size excludes --model; see edgewise bench decode --help");
  expect_refused(with({}), absent_model_text("bench decode", "run"));
  write("config.toml", kTinyConfig);
  run_well({"train", "config.toml", "--out", "run", "--set", "train.epochs=1", "--set", "model.positions=learned",
            "--set", "model.max_positions=64", "--set", "data.max_length=60"});
  expect_refused(with({"--output-length", "65"}),
                 "bench decode: output_tokens is 65, needs at most 64, the number of positions of run");
  expect_refused(with({}), "bench decode: a.en has no tokens of run, needs one");
}

TEST_F(BenchProgram, MeasuresGenerationInEachPrecision) {
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    const auto bench = nlohmann::json::parse(
        run_well({"bench",    "generate", "--size",   "tiny",      "--precision", precision, "--relation",
                  "window 8", "sinks 2",  "--prompt", "20",        "--sequences", "3",       "--repetitions",
                  "1",        "--tokens", "1",        "--threads", "1",           "--json"}));
    EXPECT_EQ(bench["size"], "tiny");
    EXPECT_EQ(bench["precision"], precision);
    EXPECT_EQ(bench["relation"], "window 8, sinks 2");
    EXPECT_EQ(bench["threads"], 1);
    EXPECT_GT(bench["prompt_tokens_per_second"], 0);
    // Each text has one timed token, so that the only step has three.
    EXPECT_NEAR(bench["output_tokens_per_second"].get<double>() * bench["median_ms"].get<double>(), 1e3 * 3, 1e-6);
  }
}

TEST_F(BenchProgram, ShowsThatTheCacheOfAWindowDoesNotHoldTheWholePrompt) {
  const auto peak_memory_of = [&](const char* relation) {
    const auto bench =
        nlohmann::json::parse(run_well({"bench", "generate", "--size", "tiny", "--relation", relation, "--sequences",
                                        "16", "--prompt", "800", "--tokens", "1", "--repetitions", "1", "--json"}));
    return bench.at("peak_memory_bytes").get<double>();
  };
  // Each of 4 layers has a key and a value of 128 floats. A window holds at most 64 tokens, and a block of 256, of 800.
  const double cache_of_300_tokens = 300 * 4 * 2 * 128 * sizeof(float);
  EXPECT_GT(peak_memory_of("causal") - peak_memory_of("window 64"), 16 * cache_of_300_tokens);
}

TEST_F(BenchProgram, PrintsTheSpeedOfGeneratingAsText) {
  const std::vector<std::string> command = {"bench",     "generate",      "--size", "tiny",     "--tokens",
                                            "3",         "--repetitions", "2",      "--prompt", "5",
                                            "--profile", "--threads",     "1"};
  const std::string output = run_well(command);
  EXPECT_THAT(output, testing::StartsWith("tiny: 1.8 million parameters; causal, fp32; 1 texts at once, 1 threads\n"));
  EXPECT_THAT(output, testing::HasSubstr(" tokens/s, 3 tokens a text, after 5 tokens\n"));
  EXPECT_THAT(output, testing::HasSubstr(" times  step / output\n"));
  expect_refused({"bench", "generate", "--relation", "window"},
                 "bench generate: relation has \"window\", needs window N");
}

TEST(BenchModel, OfLlamasShapeHas123MillionParameters) {
  const std::int64_t size = 768;
  const std::int64_t layer = 4 * size * size + 3 * size * 2048 + 2 * size;
  EXPECT_EQ(count_parameters(bench_language_model_options(ModelSize::kLlama125m)), 12 * layer + size + 50'000 * size);
}

TEST_F(BenchProgram, MeasuresAttention) {
  const auto bench = nlohmann::json::parse(
      run_well({"bench", "attention", "--case", "small", "--repetitions", "1", "--threads", "1", "--json"}));

  EXPECT_EQ(bench["case"], "small");
  EXPECT_EQ(bench["precision"], "fp32");
  EXPECT_THAT(bench["kernel"].get<std::string>(), testing::StartsWith("tiles, "));
  // The numbers of the peers' benchmarks: the sum of the lengths, and of their squares.
  EXPECT_EQ(bench["nodes"], 2267);
  EXPECT_EQ(bench["edges"], 45685);
  const double edges = bench["edges"];
  EXPECT_NEAR(bench["total_gflops"].get<double>() * bench["total_ms"].get<double>(), 3.5 * 4 * edges * 4 * 32 / 1e6,
              1e-6);
  EXPECT_NEAR(bench["forward_edges_per_second"].get<double>() * bench["forward_ms"].get<double>(), 1e3 * edges, 1e-3);
  for (const std::string pass : {"forward", "total"}) {  // the mean of one repetition is its median
    EXPECT_GT(bench[pass + "_ms"], 0);
    EXPECT_EQ(bench[pass + "_mean_ms"], bench[pass + "_ms"]);
  }
  EXPECT_GT(bench["forward_limit_ms"], 0);
  EXPECT_GT(bench["total_limit_ms"], bench["forward_limit_ms"]);
  EXPECT_GT(bench["difference"], 0);
  EXPECT_LT(bench["difference"], 1e-4);
}

TEST_F(BenchProgram, MeasuresAttentionInBf16AndPrintsText) {
  const std::string output =
      run_well({"bench", "attention", "--case", "small", "--repetitions", "1", "--precision", "bf16"});

  EXPECT_THAT(output, testing::StartsWith("small: 2267 nodes, 45685 edges; bf16"));
  EXPECT_THAT(output, testing::HasSubstr("forward and backward"));
}

TEST_F(BenchProgram, MeasuresWaysOfMessagePassing) {
  const auto bench = nlohmann::json::parse(run_well(
      {"bench", "message", "--way", "built-in", "--heads", "2", "--head-size", "8", "--repetitions", "1", "--json"}));

  EXPECT_EQ(bench["case"], "sentences");
  EXPECT_EQ(bench["nodes"], 2267);
  EXPECT_EQ(bench["edges"], 45685);
  EXPECT_EQ(bench["heads"], 2);
  EXPECT_EQ(bench["head_size"], 8);
  EXPECT_GT(bench["memory_gb_per_second"], 0);
  for (const std::string pass : {"built_in_forward", "built_in_total"}) {
    EXPECT_GT(bench[pass + "_ms"], 0);
    EXPECT_GT(bench[pass + "_limit_ms"], 0);
    EXPECT_FALSE(bench.contains(pass + "_row_gb_per_second"));
  }
  EXPECT_GE(bench["built_in_extra_memory_bytes"], 0);
  EXPECT_LT(bench["built_in_difference"], 1e-4);
  EXPECT_FALSE(bench.contains("attend_total_ms"));
}

TEST_F(BenchProgram, MeasuresScoreFunctionsBesideAttend) {
  for (const std::string way : {"soft-cap", "alibi", "table"}) {
    std::string name = way;
    std::ranges::replace(name, '-', '_');
    const auto bench = nlohmann::json::parse(run_well(
        {"bench", "message", "--way", way, "--heads", "2", "--head-size", "8", "--repetitions", "1", "--json"}));
    EXPECT_NEAR(bench[name + "_over_attend_total"].get<double>() * bench["attend_total_ms"].get<double>(),
                bench[name + "_total_ms"].get<double>(), 1e-6);
    EXPECT_EQ(bench["attend_over_attend_total"], 1);
  }
}

TEST_F(BenchProgram, MeasuresFunctionsOfTheUserAndPrintsText) {
  for (const std::string way : {"tutorial", "functions"}) {
    const std::string output =
        run_well({"bench", "message", "--way", way, "--heads", "1", "--head-size", "8", "--repetitions", "1"});
    EXPECT_THAT(output, testing::StartsWith("sentences: 2267 nodes, 45685 edges, 1 heads of 8; fp32"));
    EXPECT_THAT(output, testing::HasSubstr(way));
    EXPECT_THAT(output, testing::HasSubstr("this machine copies memory at"));
  }
}

TEST_F(BenchProgram, MeasuresTrainingOfTheCopyTask) {
  const std::vector<std::string> command = {"bench",         "message", "--case",      "copy-task",
                                            "--repetitions", "5",       "--head-size", "16"};
  const auto bench = nlohmann::json::parse(run_well([&] {
    std::vector<std::string> json = command;
    json.push_back("--json");
    return json;
  }()));

  EXPECT_EQ(bench["output_tokens"], 128 * 10);
  for (const std::string way : {"messages", "fused"}) {
    EXPECT_NEAR(bench[way + "_output_tokens_per_second"].get<double>() * bench[way + "_ms"].get<double>(), 1e3 * 1280,
                1e-6);
    EXPECT_LT(bench[way + "_last_loss"], bench[way + "_first_loss"]);
  }
  EXPECT_THAT(run_well(command), testing::HasSubstr("output tokens/s"));
}

TEST_F(BenchProgram, RefusesAWayThatACaseLacks) {
  expect_refused({"bench", "message", "--way", "dot"},
                 "bench message: --way is dot, needs one of built-in, tutorial, functions, attend, soft-cap, alibi, "
                 "table with --case sentences");
}

TEST(CheckDifference, ThrowsForADifferenceTooLargeForThePrecision) {
  EXPECT_NO_THROW(check_difference(9e-5, Precision::kFp32));
  EXPECT_NO_THROW(check_difference(1e-2, Precision::kBf16));
  EXPECT_THAT(
      [] { check_difference(2e-4, Precision::kFp32); },
      testing::ThrowsMessage<std::runtime_error>(
          "bench attention: attend differs from its definition in fp64 by 2.00e-04, in fp32 at most 1.00e-04 is "
          "right"));
  EXPECT_THROW(check_difference(std::nan(""), Precision::kBf16), std::runtime_error);
}

TEST(AttentionWorkload, HasTheEdgesOfItsCase) {
  EXPECT_EQ(make_attention_workload(AttentionCase::kSentences).relation.num_edges(), 45685);
  EXPECT_EQ(make_attention_workload(AttentionCase::kCausal).relation.num_edges(), (45685 + 2267) / 2);
  EXPECT_EQ(make_attention_workload(AttentionCase::kWindow).relation.num_edges(), 4096 * 257 - 128 * 129);
  EXPECT_EQ(make_attention_workload(AttentionCase::kRandom).relation.num_edges(), 8192 * 32);
}

TEST(PowerLaw, HasNodesOfVeryDifferentDegrees) {
  const Relation relation = power_law(1000, 20'000);
  EXPECT_EQ(relation.num_edges(), 20'000);
  // Node 0 has ln(2) / ln(1001) of the edges in the mean.
  const auto in_degree = std::ranges::count(relation.edges().destinations, 0);
  EXPECT_NEAR(static_cast<double>(in_degree), 20'000 * std::log(2) / std::log(1001), 200);
}

TEST(TimeInTurns, RepeatsEachCall) {
  int calls = 0;
  std::vector<TimedCall> timed = {{[&] { ++calls; }}, {[] {}}};
  time_in_turns(timed, /*repetitions=*/6);
  EXPECT_EQ(timed[0].seconds.size(), 6u);
  EXPECT_EQ(timed[1].seconds.size(), 6u);
  EXPECT_GT(calls, 6);  // with those of the warm-up
}

TEST(LossTrend, HasTheMeansOfTheFirstAndLastQuarter) {
  const std::array losses = {9.0, 8.0, 50.0, 50.0, 50.0, 50.0, 7.0, 6.0};
  EXPECT_EQ(loss_trend(losses).first, 8.5);
  EXPECT_EQ(loss_trend(losses).last, 6.5);
}

TEST(LossTrend, ThrowsForLossesThatDoNotFallOrAreNotFinite) {
  EXPECT_THAT(
      [] {
        loss_trend(std::array{2.0, 1.0, 3.0});
      },
      ThrowsMessage<Error>("bench train: loss goes from 2.0000 to 3.0000, needs to fall; no time is shown"));
  EXPECT_THAT(
      [] {
        loss_trend(std::array{2.0, std::nan(""), 1.0});
      },
      ThrowsMessage<Error>("bench train: loss of step 2 is nan, needs a finite number; no time is shown"));
}

}  // namespace
}  // namespace edgewise
