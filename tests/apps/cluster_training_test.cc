// SPDX-License-Identifier: Apache-2.0
// The scripts of examples/cluster for training, with stand-ins for the programs of Slurm and for torchrun, which start
// the processes on this machine.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

#include "tests/apps/program.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Starts two processes with srun's variables, kills them at SIGTERM as srun does, and returns the highest exit code.
constexpr const char* kSrun = R"(#!/bin/bash
echo "$@" > srun-arguments
export SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=2 SLURM_NODEID=0
for rank in 0 1; do SLURM_PROCID=$rank SLURM_LOCALID=$rank "$@" & pids+=($!); done
trap 'kill -KILL "${pids[@]}"' TERM
echo "${pids[@]}" > step-processes
code=0
for pid in "${pids[@]}"; do
  while kill -0 "$pid" 2>/dev/null; do wait "$pid"; status=$?; done
  if [ "$status" -gt "$code" ]; then code=$status; fi
done
exit "$code"
)";

// Signals the processes that the stand-in of srun started.
constexpr const char* kScancel = R"(#!/bin/bash
[ "$*" = "--signal=TERM $SLURM_JOB_ID" ] && kill -TERM $(cat step-processes)
)";

constexpr const char* kScontrol = "#!/bin/sh\necho \"$@\" > scontrol-arguments\n";

// Starts two processes with torchrun's variables, after checking the options that the script gives.
constexpr const char* kTorchrun = R"(#!/bin/bash
while [ "${1:0:2}" = -- ]; do echo "$1" >> torchrun-options; shift; done
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((30000 + RANDOM % 2000))
RANK=1 "$@" & other=$!
RANK=0 "$@"
code=$?
wait "$other" && exit "$code"
)";

class ClusterTraining : public ProgramTest {
 protected:
  ClusterTraining() {
    write("tiny.toml", kTinyConfig + "virtual_ranks = 2\n");
    std::filesystem::create_directory(path("bin"));
    write_program("srun", kSrun);
    write_program("scancel", kScancel);
    write_program("scontrol", kScontrol);
    write_program("torchrun", kTorchrun);
  }

  void write_program(const std::string& name, const std::string& text) const {
    write("bin/" + name, text);
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }

  RunningProcess start_example(const std::string& name, const Words& arguments) const {
    Words command = {"/bin/bash", EDGEWISE_SOURCE "/examples/cluster/" + name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string job = std::to_string(::getpid());
    return RunningProcess(
        command, {.environment = {"PATH=" + path("bin").string() + ":" + std::getenv("PATH"),
                                  "EDGEWISE=" EDGEWISE_PROGRAM, "SLURM_JOB_ID=" + job, "SLURM_CPUS_PER_TASK=1"},
                  .folder = path("").string()});
  }

  void train_alone(const Words& more = {}) const {
    Words command = {"train", "tiny.toml", "--out", "alone"};
    command.insert(command.end(), more.begin(), more.end());
    run_well(command);
  }
};

TEST_F(ClusterTraining, RunsInAJobOfSlurm) {
  const ProcessResult result = start_example("train.sbatch", {"tiny.toml", "run"}).wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("2 processes\n"));
  train_alone();
  expect_same_run(path("run"), path("alone"));
  EXPECT_FALSE(exists(path("scontrol-arguments")));
  EXPECT_EQ(start_example("train.sbatch", {"tiny.toml"}).wait().errors,
            "usage: sbatch --nodes=N --ntasks-per-node=N train.sbatch CONFIG RUN\n");
}

TEST_F(ClusterTraining, IsQueuedAgainBeforeItsTimeEnds) {
  write("tiny.toml", kTinyConfig + "virtual_ranks = 2\nepochs = 40\n");
  std::string config = read("tiny.toml");
  config.erase(config.find("epochs = 2\n"), std::string("epochs = 2\n").size());
  write("tiny.toml", config);
  RunningProcess job = start_example("train.sbatch", {"tiny.toml", "run"});
  wait_for(path("run/best"));
  job.send(SIGUSR2);
  const ProcessResult result = job.wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("all is saved"));
  EXPECT_EQ(read("scontrol-arguments"), "requeue " + std::to_string(::getpid()) + "\n");

  EXPECT_EQ(start_example("train.sbatch", {"tiny.toml", "run"}).wait().exit_code, 0);
  EXPECT_THAT(read("srun-arguments"), HasSubstr(" --resume"));
  train_alone();
  expect_same_run(path("run"), path("alone"));
}

TEST_F(ClusterTraining, RunsUnderTorchrun) {
  const ProcessResult result = start_example("train_torchrun.sh", {"tiny.toml", "run", "1", "2", "127.0.0.1"}).wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  train_alone();
  expect_same_run(path("run"), path("alone"));
  EXPECT_EQ(read("torchrun-options"),
            "--no-python\n--nnodes=1\n--nproc-per-node=2\n--max-restarts=3\n--rdzv-backend=c10d\n"
            "--rdzv-endpoint=127.0.0.1:29400\n--rdzv-id=run\n");
}

/// Returns the shell lines of the pods in the Kubernetes example.
std::string pod_script() {
  std::ifstream file(EDGEWISE_SOURCE "/examples/cluster/train_kubernetes.yaml");
  std::string script;
  bool is_script = false;
  for (std::string line; std::getline(file, line);) {
    if (is_script && !line.starts_with("              ")) return script;
    if (is_script) script += line + "\n";
    if (line == "            - |") is_script = true;
  }
  return script;
}

TEST_F(ClusterTraining, RunsInPodsOfKubernetes) {
  std::string script = pod_script();
  const std::string folder = path("").string();
  for (const auto& [from, to] :
       {std::pair(std::string("/data/"), folder), {"exec edgewise ", "exec " EDGEWISE_PROGRAM " "}}) {
    for (std::size_t at = script.find(from); at != std::string::npos; at = script.find(from, at + to.size())) {
      script.replace(at, from.size(), to);
    }
  }
  std::string config = read("tiny.toml");
  const std::string warmup = "warmup = 20";
  config.replace(config.find(warmup), warmup.size(), "warmup = 5");
  write("config.toml", config);
  std::vector<RunningProcess> pods;
  const std::string port = "MASTER_PORT=" + std::to_string(30000 + ::getpid() % 2000);
  for (const char* index : {"0", "1"}) {
    pods.emplace_back(Words{"/bin/sh", "-c", script},
                      ProcessOptions{.environment = {std::string("JOB_COMPLETION_INDEX=") + index, "WORLD_SIZE=2",
                                                     "MASTER_ADDR=127.0.0.1", port}});
  }
  for (RunningProcess& pod : pods) EXPECT_EQ(pod.wait().errors, "");
  run_well({"train", "config.toml", "--out", "alone"});
  expect_same_run(path("run"), path("alone"));
}

}  // namespace
}  // namespace edgewise
