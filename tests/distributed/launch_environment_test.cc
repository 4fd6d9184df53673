// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<LaunchEnvironment> read(const Variables& variables) {
  return read_launch_environment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return error_of([&] { read(variables); });
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "29501"}};

const Variables kSlurm = {{"SLURM_PROCID", "5"},
                          {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_JOB_ID", "1234"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NODELIST", "gpu[012-014,020],big1"}};

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "3506372609"}};

TEST(LaunchEnvironment, IsAbsentWithoutALauncher) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})) << "a script of sbatch";
  EXPECT_FALSE(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

TEST(LaunchEnvironment, IsThatOfTorchrun) {
  const LaunchEnvironment launched = *read(kTorchrun);
  EXPECT_EQ(launched.rank, 3);
  EXPECT_EQ(launched.size, 4);
  EXPECT_EQ(launched.address, "node7");
  EXPECT_EQ(launched.port, 29501);
  EXPECT_FALSE(launched.has_store);
  EXPECT_EQ(launched.restarts, 0);
}

TEST(LaunchEnvironment, TellsWhetherTorchrunServesTheStore) {
  Variables variables = kTorchrun;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RUN_ID"] = "job";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  EXPECT_TRUE(read(variables)->has_store);
  EXPECT_EQ(read(variables)->restarts, 2);
  const std::string attempt = read(variables)->attempt;
  variables["TORCHELASTIC_RESTART_COUNT"] = "3";
  EXPECT_NE(read(variables)->attempt, attempt);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_FALSE(read(variables)->has_store);
}

TEST(LaunchEnvironment, IsThatOfSrun) {
  const LaunchEnvironment launched = *read(kSlurm);
  EXPECT_EQ(launched.rank, 5);
  EXPECT_EQ(launched.size, 8);
  EXPECT_EQ(launched.address, "gpu012");
  EXPECT_GE(launched.port, 20000);
  EXPECT_LT(launched.port, 30000);
  Variables other_rank = kSlurm;
  other_rank["SLURM_PROCID"] = "0";
  EXPECT_EQ(read(other_rank)->port, launched.port);
  Variables next_step = kSlurm;
  next_step["SLURM_STEP_ID"] = "1";
  EXPECT_NE(read(next_step)->port, launched.port);
}

TEST(LaunchEnvironment, FindsTheFirstMachineOfAListOfSlurm) {
  for (const auto& [list, first] : Variables{{"a", "a"},
                                             {"a,b[1-2]", "a"},
                                             {"n[7]", "n7"},
                                             {"n[08-12]", "n08"},
                                             {"n[3,5-6]-ib,x", "n3-ib"},
                                             {"rack-1.site", "rack-1.site"}}) {
    Variables variables = kSlurm;
    variables["SLURM_STEP_NODELIST"] = list;
    EXPECT_EQ(read(variables)->address, first) << list;
  }
  EXPECT_EQ(error_with(kSlurm, {{"SLURM_STEP_NODELIST", "n[3"}}),
            "read_launch_environment: SLURM_STEP_NODELIST is n[3, needs a list of machines");
}

TEST(LaunchEnvironment, IsThatOfMpirun) {
  const LaunchEnvironment launched = *read(kOpenMpi);
  EXPECT_EQ(launched.rank, 1);
  EXPECT_EQ(launched.size, 2);
  EXPECT_EQ(launched.address, "127.0.0.1");
  EXPECT_EQ(error_with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
            "read_launch_environment: MASTER_ADDR is not set for processes of several machines, needs the address of "
            "the machine of rank 0; pass it by mpirun -x MASTER_ADDR=…");
}

TEST(LaunchEnvironment, OfMpirunCountsWithinAJobOfSlurm) {
  Variables variables = kSlurm;
  variables.insert(kOpenMpi.begin(), kOpenMpi.end());
  EXPECT_EQ(read(variables)->size, 2);
}

TEST(LaunchEnvironment, TakesAddressAndPortFromTheUser) {
  for (Variables variables : {kSlurm, kOpenMpi}) {
    variables["MASTER_ADDR"] = "10.0.0.1";
    variables["MASTER_PORT"] = "4000";
    EXPECT_EQ(read(variables)->address, "10.0.0.1");
    EXPECT_EQ(read(variables)->port, 4000);
  }
}

TEST(LaunchEnvironment, RefusesValuesThatNoLauncherGives) {
  const std::string caller = "read_launch_environment: ";
  EXPECT_EQ(error_with(kTorchrun, {{"RANK", "4"}}), caller + "RANK is 4, needs a number from 0 to 3");
  EXPECT_EQ(error_with(kTorchrun, {{"RANK", "one"}}), caller + "RANK is one, needs a number from 0 to 3");
  EXPECT_EQ(error_with(kTorchrun, {{"WORLD_SIZE", "4x"}}),
            caller + "WORLD_SIZE is 4x, needs a number from 1 to 1048576");
  EXPECT_EQ(error_with(kTorchrun, {{"MASTER_PORT", "0"}}), caller + "MASTER_PORT is 0, needs a number from 1 to 65535");
  EXPECT_EQ(error_with(kTorchrun, {{"MASTER_ADDR", ""}}),
            caller + "MASTER_ADDR is not set, needs a value as the launcher gives it");
  EXPECT_EQ(error_with({}, {{"RANK", "1"}}), caller + "WORLD_SIZE is not set, needs a value as the launcher gives it");
}

}  // namespace
}  // namespace edgewise
