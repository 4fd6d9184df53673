// SPDX-License-Identifier: Apache-2.0
// Training in several processes. EDGEWISE_PROCESS_KILLS is the number of kills, EDGEWISE_SEED draws other configs
// and moments.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <thread>
#include <utility>

#include "edgewise/distributed/store.h"
#include "tests/apps/program.h"
#include "tests/apps/random_training.h"
#include "tests/support/environment_number.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using Words = std::vector<std::string>;

class Processes : public ProgramTest {
 protected:
  Processes() { write("tiny.toml", kTinyConfig + "virtual_ranks = 4\n"); }

  static Words train(const std::string& config, const std::string& run, const Words& more = {}) {
    Words words = {"train", config, "--out", run, "--threads", "1", "--set", "train.warmup=2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  RunningProcess start(Words command, const ProcessOptions& given = {}) const {
    command.insert(command.begin(), EDGEWISE_PROGRAM);
    ProcessOptions options = given;
    options.folder = path("").string();
    return RunningProcess(command, options);
  }

  void expect_bits_of_one(const std::string& processes) const {
    const std::string alone = run_well(train("tiny.toml", "1"));
    const ProcessResult result = start(train("tiny.toml", processes, {"--processes", processes})).wait();
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    EXPECT_THAT(result.output, HasSubstr(processes + " processes\n"));
    expect_same_run(path(processes), path("1"));
    EXPECT_EQ(std::ranges::count(result.output, '\n'), std::ranges::count(alone, '\n') + 1) << result.output;
    EXPECT_EQ(result.output.substr(result.output.find("\ntest: ")), alone.substr(alone.find("\ntest: ")));
  }

  /// Starts the processes 0 and 1 as a launcher does, each with its own command.
  std::vector<RunningProcess> start_two(const Words& first, const Words& second) const {
    std::vector<RunningProcess> processes;
    const std::string port = fmt::format("MASTER_PORT={}", find_free_port());
    for (const auto& [rank, command] : {std::pair("0", first), std::pair("1", second)}) {
      processes.push_back(start(
          command, {.environment = {fmt::format("RANK={}", rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", port}}));
    }
    return processes;
  }

  /// Returns the processes that train in a run of this test, without their launcher, in the order of their numbers.
  std::vector<pid_t> find_ranks(const std::string& run) const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::error_code error;
      const std::filesystem::path folder = std::filesystem::read_symlink(entry.path() / "cwd", error);
      if (error || folder != std::filesystem::canonical(path(""))) continue;
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      const std::string words{std::istreambuf_iterator<char>(file), {}};
      const bool is_rank =
          words.find("/proc/self/exe") == 0 && words.find(std::string("--out\0", 6) + run) != words.npos;
      if (is_rank) found.push_back(std::stoi(entry.path().filename().string()));
    }
    std::ranges::sort(found);
    return found;
  }
};

TEST_F(Processes, TrainTheBitsOfOneProcess) { expect_bits_of_one("2"); }

TEST_F(Processes, TrainTheBitsOfOneProcessIfTheyAreFour) { expect_bits_of_one("4"); }

TEST_F(Processes, GoOnAfterTheKillOfAnyOfThem) {
  std::uint64_t seed = test_seed();
  write("large.tsv", RandomTraining::sentence_pairs(200));
  write("small.tsv", RandomTraining::sentence_pairs(15));
  const std::uint64_t wanted = environment_number("EDGEWISE_PROCESS_KILLS", 4);
  for (std::uint64_t kills = 0; kills < wanted && !HasFailure();) {
    SCOPED_TRACE(fmt::format("EDGEWISE_SEED={}", seed));
    RandomTraining random(seed++);
    for (const char* run : {"whole", "parts"}) std::filesystem::remove_all(path(run));
    write("random.toml", random.config());
    const Words ranks = {"--set", "train.virtual_ranks=4", "--timeout", "60"};
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(start(train("random.toml", "whole", ranks)).wait().exit_code, 0) << read("random.toml");
    const auto whole = std::chrono::steady_clock::now() - begin;
    for (int part = 0; part < 3 && kills < wanted; ++part) {
      Words more = ranks;
      const std::string processes = random.pick({"2", "4"});
      more.insert(more.end(), {"--processes", processes});
      if (exists(path("parts/last")) || exists(path("parts/previous"))) more.emplace_back("--resume");
      RunningProcess launcher = start(train("random.toml", "parts", more));
      EXPECT_TRUE(
          wait_until([&] { return find_ranks("parts").size() == std::stoul(processes) || launcher.has_ended(); }));
      std::this_thread::sleep_for(whole * random.share());
      const std::vector<pid_t> found = find_ranks("parts");
      if (!found.empty()) ::kill(found[static_cast<std::size_t>(random.number(0, std::ssize(found) - 1))], SIGKILL);
      const ProcessResult result = launcher.wait();
      EXPECT_EQ(find_ranks("parts").size(), 0U);
      if (result.exit_code == 0) break;
      ++kills;
      EXPECT_EQ(result.exit_code, 1) << result.errors;
      EXPECT_THAT(result.errors, HasSubstr("was ended by signal 9 (Killed), needs all processes; to go on"));
    }
    Words last = ranks;
    last.insert(last.end(), {"--processes", random.pick({"1", "2", "4"})});
    if (exists(path("parts/last")) || exists(path("parts/previous"))) last.emplace_back("--resume");
    const ProcessResult result = start(train("random.toml", "parts", last)).wait();
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(find_difference(path("parts"), path("whole")), "") << read("random.toml");
  }
}

TEST_F(Processes, StartAgainFromTheLastCheckpoint) {
  ASSERT_EQ(start(train("tiny.toml", "whole", {"--set", "train.epochs=20"})).wait().exit_code, 0);
  RunningProcess launcher =
      start(train("tiny.toml", "run", {"--set", "train.epochs=20", "--processes", "2", "--max-restarts", "1"}));
  wait_for(path("run/best"));
  const std::vector<pid_t> ranks = find_ranks("run");
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(ranks[1], SIGKILL);
  const ProcessResult result = launcher.wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("one of 2 processes ended or did not answer within"),
                                   HasSubstr("train: rank 1 was ended by signal 9 (Killed); all processes start again "
                                             "from the last checkpoint (1 of 1 restarts)\n")));
  expect_same_run(path("run"), path("whole"));
}

TEST_F(Processes, SaveAndEndAtASignal) {
  ASSERT_EQ(start(train("tiny.toml", "whole", {"--set", "train.epochs=40"})).wait().exit_code, 0);
  RunningProcess launcher = start(train("tiny.toml", "run", {"--set", "train.epochs=40", "--processes", "2"}));
  wait_for(path("run/best"));
  launcher.send(SIGTERM);
  const ProcessResult stopped = launcher.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM);
  EXPECT_THAT(stopped.output, HasSubstr("all is saved. To go on, add --resume to the command.\n"));
  EXPECT_EQ(stopped.errors, "");
  ASSERT_EQ(start(train("tiny.toml", "run", {"--set", "train.epochs=40", "--resume"})).wait().exit_code, 0);
  expect_same_run(path("run"), path("whole"));
}

TEST_F(Processes, EndWhenOneIsStopped) {
  RunningProcess launcher =
      start(train("tiny.toml", "run", {"--set", "train.epochs=200", "--processes", "2", "--timeout", "5"}));
  wait_for(path("run/last"));
  const std::vector<pid_t> ranks = find_ranks("run");
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(ranks[1], SIGSTOP);
  const ProcessResult result = launcher.wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("one of 2 processes ended or did not answer within 5 s, needs all of them"));
  EXPECT_EQ(find_ranks("run").size(), 0U);
  EXPECT_EQ(start(train("tiny.toml", "run", {"--resume", "--set", "train.epochs=1"})).wait().exit_code, 0);
}

TEST_F(Processes, NeedTheSameConfig) {
  write("other.toml", kTinyConfig + "virtual_ranks = 4\nlearning_rate = 0.5\n");
  std::vector<RunningProcess> processes = start_two(train("tiny.toml", "run"), train("other.toml", "run"));
  const ProcessResult first = processes[0].wait();
  const ProcessResult second = processes[1].wait();
  EXPECT_EQ(first.exit_code, 2);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_EQ(first.errors,
            "check_same: the config of rank 1 differs from that of rank 0, needs the same in all processes; line 29 is "
            "\"\" in "
            "rank 0 and \"learning_rate = 0.5\" in rank 1\n");
  EXPECT_EQ(second.errors, "");
  EXPECT_FALSE(exists(path("run")));
}

TEST_F(Processes, NeedTheSameData) {
  const std::string config =
      "[data]\ntrain = [\"pairs.tsv\"]\nvalid = [\"pairs.tsv\"]\n" + kTinyModelConfig + "virtual_ranks = 2\n";
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += fmt::format("a b {0}\tb a {0}\n", i % 7);
  for (const char* folder : {"one", "two"}) {
    std::filesystem::create_directory(path(folder));
    write(std::string(folder) + "/config.toml", config);
  }
  write("one/pairs.tsv", pairs);
  write("two/pairs.tsv", pairs.substr(pairs.find('\n') + 1));
  std::vector<RunningProcess> processes = start_two(train("one/config.toml", "run"), train("two/config.toml", "run"));
  EXPECT_THAT(
      processes[0].wait().errors,
      MatchesRegex("check_same: the hash of the training pairs of rank 1 differs from that of rank 0, needs the "
                   "same in all processes; .*\n"));
  EXPECT_EQ(processes[1].wait().errors, "");
}

TEST_F(Processes, TellTheRankOfAnErrorOnce) {
  std::filesystem::create_directory(path("two"));
  const std::string config = "[data]\ntrain = [\"pairs.tsv\"]\n" + kTinyModelConfig + "virtual_ranks = 2\n";
  write("config.toml", config);
  write("two/config.toml", config);
  write("pairs.tsv", "a\tb\nb\ta\n");
  std::vector<RunningProcess> processes = start_two(train("config.toml", "run"), train("two/config.toml", "run"));
  const ProcessResult first = processes[0].wait();
  const ProcessResult second = processes[1].wait();
  EXPECT_EQ(first.exit_code, 2);
  EXPECT_THAT(first.errors, MatchesRegex(".*two/pairs.tsv: No such file or directory \\(rank 1\\)\n"));
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_EQ(second.errors, "");
  EXPECT_FALSE(exists(path("run")));
}

TEST_F(Processes, ReportAFullDiskOnce) {
  const ProcessResult result =
      run_process({"/bin/sh", "-c", "ulimit -f 8; exec \"$0\" train tiny.toml --out run --threads 1 --processes 2",
                   EDGEWISE_PROGRAM},
                  {.folder = path("").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, MatchesRegex("train: [^\n]*File too large[^\n]*\n"));
}

class ProcessesWithLittleMemory : public Processes {
 protected:
  /// Trains a large model in two processes, the second of which has a limit of addresses. Returns the results of both.
  std::pair<ProcessResult, ProcessResult> train_with_limit(std::int64_t limit) const {
    const std::string port = fmt::format("MASTER_PORT={}", find_free_port());
    const auto start_rank = [&](const char* rank, const std::string& before) {
      const Words words = {"/bin/sh", "-c",
                           before +
                               "exec \"$0\" train tiny.toml --out run --threads 1 --timeout 60 --set "
                               "train.virtual_ranks=2 --set model.size=1024 --set model.feed_forward=8192",
                           EDGEWISE_PROGRAM};
      return RunningProcess(words, {.environment = {fmt::format("RANK={}", rank), "WORLD_SIZE=2",
                                                    "MASTER_ADDR=127.0.0.1", port, "OMP_NUM_THREADS=1"},
                                    .folder = path("").string()});
    };
    RunningProcess first = start_rank("0", "");
    RunningProcess second = start_rank("1", fmt::format("ulimit -v {}; ", limit / 1024));
    ProcessResult result = first.wait();
    return {std::move(result), second.wait()};
  }

  /// Returns the addresses that a training of a small model has.
  std::int64_t addresses_of_small_training() const {
    RunningProcess small = start(train("tiny.toml", "small"), {.environment = {"OMP_NUM_THREADS=1"}});
    std::int64_t addresses = 0;
    EXPECT_TRUE(wait_until([&] {
      addresses = std::max(addresses, small.peak_addresses());
      return small.has_ended();
    }));
    return addresses;
  }
};

TEST_F(ProcessesWithLittleMemory, EndWhenOneRunsOutOfIt) {
  constexpr double kMegabyte = 1 << 20;
  const std::int64_t too_little = addresses_of_small_training() + 100'000'000;
  const std::string refusal = train_with_limit(too_little).first.errors;
  std::smatch found;
  const std::regex form("needs at least ([0-9.]+) MB of memory, but ([0-9.]+) MB are available");
  ASSERT_TRUE(std::regex_search(refusal, found, form)) << refusal;

  // A little more than training refuses, and less than it needs, because it also has buffers for the exchange.
  const double missing = std::stod(found[1]) - std::stod(found[2]) + 20;
  const auto [lost, limited] = train_with_limit(too_little + static_cast<std::int64_t>(missing * kMegabyte));

  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_THAT(lost.errors, HasSubstr("one of 2 processes ended or did not answer within 60 s, needs all of them"));
  EXPECT_EQ(limited.exit_code, 2);
  EXPECT_THAT(limited.errors, HasSubstr("memory ran out: "));
}

TEST_F(Processes, AreAPowerOfTwoForTheirVirtualRanks) {
  const auto error_of_processes = [this](const Words& more) {
    const ProcessResult result = start(train("tiny.toml", "run", more)).wait();
    EXPECT_EQ(result.exit_code, 2);
    return result.errors;
  };
  EXPECT_EQ(error_of_processes({"--processes", "3"}), "train: 3 processes train together, needs a power of two\n");
  EXPECT_EQ(error_of_processes({"--processes", "2", "--set", "train.virtual_ranks=1"}),
            "train: virtual_ranks is 1 for 2 processes, needs at least one each; set train.virtual_ranks=2\n");
  EXPECT_FALSE(exists(path("run")));
}

TEST_F(Processes, HaveOneLauncher) {
  const ProcessResult result = start(train("tiny.toml", "run", {"--processes", "2"}),
                                     {.environment = {"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=a", "MASTER_PORT=1"}})
                                   .wait();
  EXPECT_EQ(result.errors,
            "train: --processes is 2 in a process that a launcher started, needs to be left out; the launcher says how "
            "many processes there are\n");
}

TEST_F(Processes, OfSlurmAndOpenMpiFindEachOther) {
  const std::string port = fmt::format("MASTER_PORT={}", find_free_port());
  const std::string job = fmt::format("PMIX_NAMESPACE={}", find_free_port());
  run_well(train("tiny.toml", "alone"));
  const std::vector<std::vector<std::string>> launchers = {
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS=2", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=localhost",
       "SLURM_NODEID=0", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=2", port},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0",
       job}};
  for (std::vector<std::string> environment : launchers) {
    const std::string rank = environment.front();
    std::vector<RunningProcess> processes;
    for (const char* number : {"=0", "=1"}) {
      environment.front() = rank + number;
      processes.push_back(start(train("tiny.toml", rank), {.environment = environment}));
    }
    for (RunningProcess& process : processes) EXPECT_EQ(process.wait().errors, "");
    expect_same_run(path(rank), path("alone"));
  }
}

}  // namespace
}  // namespace edgewise
