// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;
using Environment = std::map<std::string, std::string>;

std::optional<LaunchEnvironment> read(const Environment& variables) {
  return read_launch_environment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

/// Returns the environment with other values; an empty one removes its variable.
Environment with(Environment variables, const Environment& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

void expect_error(const Environment& variables, const std::string& error) {
  EXPECT_EQ(error_of([&] { read(variables); }), "read_launch_environment: " + error);
}

const Environment kTorchrun{
    {"RANK", "5"},
    {"WORLD_SIZE", "8"},
    {"LOCAL_RANK", "1"},
    {"MASTER_PORT", "29500"},
    {"MASTER_ADDR", "node1"},
    {"LOCAL_WORLD_SIZE", "4"},
};

const Environment kSlurm{
    {"SLURM_PROCID", "5"},
    {"SLURM_STEP_NUM_TASKS", "7"},
    {"SLURM_NTASKS", "7"},
    {"SLURM_LOCALID", "1"},
    {"SLURM_NODEID", "1"},
    {"SLURM_STEP_TASKS_PER_NODE", "4,3"},
    {"SLURM_STEP_NODELIST", "node[03-04]"},
    {"SLURM_JOB_NODELIST", "node[01-04]"},
    {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
    {"SLURM_JOB_ID", "4711"},
    {"SLURM_STEP_ID", "0"},
};

const Environment kOpenMpi{
    {"OMPI_COMM_WORLD_RANK", "1"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
    {"PMIX_NAMESPACE", "prterun-node1-123@1"},
};

TEST(LaunchEnvironment, IsMissingWithoutALauncher) {
  EXPECT_FALSE(read({}).has_value());
  EXPECT_FALSE(read({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "x"}, {"LOCAL_RANK", "0"}}).has_value());
  EXPECT_FALSE(read({{"RANK", ""}, {"WORLD_SIZE", ""}}).has_value());
}

TEST(LaunchEnvironment, IsMissingForOneProcess) {
  EXPECT_FALSE(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).has_value());
  EXPECT_FALSE(read({{"WORLD_SIZE", "1"}}).has_value());
  EXPECT_FALSE(read(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "1"}})).has_value());
  EXPECT_FALSE(read(with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "1"}})).has_value());
}

TEST(LaunchEnvironment, ReadsTorchrun) {
  const LaunchEnvironment launch = read(kTorchrun).value();
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 4);
  EXPECT_EQ(launch.address, "node1");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_FALSE(launch.has_store);
}

TEST(LaunchEnvironment, ReadsTheStoreAndTheAttemptOfTorchrun) {
  const Environment first = with(
      kTorchrun,
      {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RUN_ID", "run"}, {"TORCHELASTIC_RESTART_COUNT", "0"}});
  EXPECT_TRUE(read(first)->has_store);
  EXPECT_EQ(read(first)->attempt, "run.0");
  EXPECT_EQ(read(with(first, {{"TORCHELASTIC_RESTART_COUNT", "1"}}))->attempt, "run.1");
  EXPECT_FALSE(read(with(first, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->has_store);
}

TEST(LaunchEnvironment, NeedsNoLocalRankOfTorchrun) {
  const LaunchEnvironment launch = read(with(kTorchrun, {{"LOCAL_RANK", ""}, {"LOCAL_WORLD_SIZE", ""}})).value();
  EXPECT_EQ(launch.local_rank, 0);
  EXPECT_EQ(launch.local_size, 1);
}

TEST(LaunchEnvironment, RefusesAMissingVariableOfTorchrun) {
  expect_error(with(kTorchrun, {{"WORLD_SIZE", ""}}),
               "WORLD_SIZE is not set, needs a whole number from 1 to 2147483647, because RANK is set");
  expect_error(with(kTorchrun, {{"RANK", ""}}),
               "RANK is not set, needs a whole number from 0 to 7, because WORLD_SIZE is set");
  expect_error(with(kTorchrun, {{"MASTER_ADDR", ""}}),
               "MASTER_ADDR is not set, needs the host of process 0, because RANK is set");
  expect_error(with(kTorchrun, {{"MASTER_PORT", ""}}),
               "MASTER_PORT is not set, needs a whole number from 1 to 65535, because RANK is set");
  expect_error(with(kTorchrun, {{"LOCAL_WORLD_SIZE", ""}}),
               "LOCAL_WORLD_SIZE is not set, needs a whole number from 1 to 8, because RANK is set");
}

TEST(LaunchEnvironment, RefusesAnInvalidVariableOfTorchrun) {
  expect_error(with(kTorchrun, {{"RANK", "x"}}), "RANK is x, needs a whole number from 0 to 7");
  expect_error(with(kTorchrun, {{"RANK", "8"}}), "RANK is 8, needs a whole number from 0 to 7");
  expect_error(with(kTorchrun, {{"RANK", "-1"}}), "RANK is -1, needs a whole number from 0 to 7");
  expect_error(with(kTorchrun, {{"RANK", "1 "}}), "RANK is \"1 \", needs a whole number from 0 to 7");
  expect_error(with(kTorchrun, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE is 0, needs a whole number from 1 to 2147483647");
  expect_error(with(kTorchrun, {{"MASTER_PORT", "0"}}), "MASTER_PORT is 0, needs a whole number from 1 to 65535");
  expect_error(with(kTorchrun, {{"MASTER_PORT", "65536"}}),
               "MASTER_PORT is 65536, needs a whole number from 1 to 65535");
  expect_error(with(kTorchrun, {{"LOCAL_RANK", "4"}}), "LOCAL_RANK is 4, needs a whole number from 0 to 3");
}

TEST(LaunchEnvironment, ReadsAStepOfSlurm) {
  const LaunchEnvironment launch = read(kSlurm).value();
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 7);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 3);
  EXPECT_EQ(launch.address, "node03");
  EXPECT_THAT(launch.port, AllOf(Ge(kFirstDerivedPort), Lt(kFirstDerivedPort + kDerivedPorts)));
  EXPECT_EQ(launch.attempt, "4711.0");
  EXPECT_FALSE(launch.has_store);
}

TEST(LaunchEnvironment, GivesAllProcessesOfAStepOnePortAndOtherStepsAnother) {
  const Environment other_process =
      with(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}});
  EXPECT_EQ(read(other_process)->port, read(kSlurm)->port);
  EXPECT_NE(read(with(kSlurm, {{"SLURM_STEP_ID", "1"}}))->port, read(kSlurm)->port);
  EXPECT_NE(read(with(kSlurm, {{"SLURM_JOB_ID", "4712"}}))->port, read(kSlurm)->port);
}

TEST(LaunchEnvironment, PrefersTheAddressOfTheUserToTheHostsOfSlurm) {
  const LaunchEnvironment launch =
      read(with(kSlurm, {{"MASTER_ADDR", "node9"}, {"MASTER_PORT", "4000"}, {"SLURM_STEP_NODELIST", ""}})).value();
  EXPECT_EQ(launch.address, "node9");
  EXPECT_EQ(launch.port, 4000);
}

TEST(LaunchEnvironment, TakesTheHostsOfTheJobWithoutThoseOfTheStep) {
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_STEP_NODELIST", ""}}))->address, "node01");
}

TEST(LaunchEnvironment, IsMissingInABatchScriptOfSlurm) {
  EXPECT_FALSE(read({{"SLURM_PROCID", "0"},
                     {"SLURM_LOCALID", "0"},
                     {"SLURM_NODEID", "0"},
                     {"SLURM_NTASKS", "8"},
                     {"SLURM_JOB_ID", "4711"},
                     {"SLURM_JOB_NODELIST", "node[01-02]"},
                     {"SLURM_TASKS_PER_NODE", "4(x2)"}})
                   .has_value());
}

TEST(LaunchEnvironment, ReadsAStepOfSlurmWhoseScriptExportsTheWorldSize) {
  EXPECT_EQ(read(with(kSlurm, {{"WORLD_SIZE", "7"}}))->rank, 5);
}

TEST(LaunchEnvironment, RefusesAnInvalidStepOfSlurm) {
  expect_error(with(kSlurm, {{"SLURM_PROCID", "7"}}), "SLURM_PROCID is 7, needs a whole number from 0 to 6");
  expect_error(with(kSlurm, {{"SLURM_PROCID", ""}}),
               "SLURM_PROCID is not set, needs a whole number from 0 to 6, because SLURM_STEP_NUM_TASKS is set");
  expect_error(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "4"}}),
               "SLURM_STEP_TASKS_PER_NODE is 4, needs a list such as 4(x2),3 with machine 1");
  expect_error(with(kSlurm, {{"SLURM_LOCALID", "3"}}), "SLURM_LOCALID is 3, needs a whole number from 0 to 2");
  expect_error(with(kSlurm, {{"SLURM_STEP_NODELIST", "node["}}),
               "SLURM_STEP_NODELIST is \"node[\", needs a list such as node[01-04,07]; set MASTER_ADDR to the host of "
               "process 0");
  expect_error(with(kSlurm, {{"SLURM_JOB_ID", ""}}),
               "SLURM_JOB_ID is not set, needs the id of the job, because SLURM_STEP_NUM_TASKS is set");
}

TEST(LaunchEnvironment, ReadsOpenMpiOnOneMachine) {
  const LaunchEnvironment launch = read(kOpenMpi).value();
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 4);
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_THAT(launch.port, AllOf(Ge(kFirstDerivedPort), Lt(kFirstDerivedPort + kDerivedPorts)));
  EXPECT_EQ(launch.attempt, "prterun-node1-123@1");
}

TEST(LaunchEnvironment, ReadsTheJobOfOpenMpi4) {
  const Environment old = with(kOpenMpi, {{"PMIX_NAMESPACE", ""}, {"OMPI_MCA_ess_base_jobid", "453246977"}});
  EXPECT_EQ(read(old)->attempt, "453246977");
  EXPECT_NE(read(old)->port, read(kOpenMpi)->port);
}

TEST(LaunchEnvironment, NeedsAnAddressForOpenMpiOnSeveralMachines) {
  const Environment several = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  expect_error(several,
               "MASTER_ADDR is not set, needs the host of process 0 (mpirun -x MASTER_ADDR=<host>) for processes on "
               "several machines, because OMPI_COMM_WORLD_SIZE is set");
  EXPECT_EQ(read(with(several, {{"MASTER_ADDR", "node2"}}))->address, "node2");
}

TEST(LaunchEnvironment, NeedsAPortForOpenMpiWithoutAJob) {
  const Environment without_job = with(kOpenMpi, {{"PMIX_NAMESPACE", ""}});
  expect_error(without_job,
               "MASTER_PORT is not set, needs a whole number from 1 to 65535, because OMPI_COMM_WORLD_SIZE is set");
  EXPECT_EQ(read(with(without_job, {{"MASTER_PORT", "4000"}}))->port, 4000);
}

TEST(LaunchEnvironment, CountsTheRestartsOfTorchrunAndSlurm) {
  EXPECT_EQ(read(kTorchrun)->restarts, 0);
  const LaunchEnvironment restarted = *read(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "2"}}));
  EXPECT_EQ(restarted.restarts, 2);
  EXPECT_NE(restarted.attempt, read(kTorchrun)->attempt);
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_RESTART_COUNT", "1"}}))->restarts, 1);
}

TEST(LaunchEnvironment, PrefersTorchrunToOpenMpiToSlurm) {
  Environment all = kSlurm;
  all.insert(kOpenMpi.begin(), kOpenMpi.end());
  // mpirun starts its processes on other machines through a step of Slurm, whose variables they inherit.
  EXPECT_EQ(read(all)->size, 4);
  all.insert(kTorchrun.begin(), kTorchrun.end());
  EXPECT_EQ(read(all)->size, 8);
}

TEST(LaunchEnvironment, ComesFromTheEnvironmentOfTheProcess) {
  ::setenv("EDGEWISE_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(read_variable("EDGEWISE_TEST_VARIABLE"), "value");
  ::unsetenv("EDGEWISE_TEST_VARIABLE");
  EXPECT_EQ(read_variable("EDGEWISE_TEST_VARIABLE"), std::nullopt);
}

TEST(SlurmLists, BeginWithTheFirstHost) {
  EXPECT_EQ(first_host("x"), "x");
  EXPECT_EQ(first_host("x,y"), "x");
  EXPECT_EQ(first_host("node[01-04,07],x"), "node01");
  EXPECT_EQ(first_host("node[7,09]"), "node7");
  EXPECT_EQ(first_host("gpu-a[003].cluster,b"), "gpu-a003.cluster");
  EXPECT_EQ(first_host("rack[1-2]node[3-4]"), "rack1node3");
}

TEST(SlurmLists, HaveNoFirstHostInAnotherForm) {
  for (const char* hosts : {"", ",x", "node[", "node[]", "node[1-2", "node]1", "node[1[2]]", "node[-2]"}) {
    EXPECT_EQ(first_host(hosts), std::nullopt) << hosts;
  }
}

TEST(SlurmLists, CountTheTasksOfEachMachine) {
  EXPECT_EQ(tasks_of_machine("4", 0), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 0), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 1), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 2), 3);
  EXPECT_EQ(tasks_of_machine("1,2,3(x10)", 11), 3);
}

TEST(SlurmLists, HaveNoTasksOfAMachineBehindTheirEndOrInAnotherForm) {
  EXPECT_EQ(tasks_of_machine("4(x2),3", 3), std::nullopt);
  for (const char* tasks : {"", "x", "0", "4(x)", "4(x0)", "4(2)", "4(x2", ",4", "4(x2)3"}) {
    EXPECT_EQ(tasks_of_machine(tasks, 0), std::nullopt) << tasks;
  }
}

}  // namespace

}  // namespace edgewise
