#include "lib/distributed/rank_settings.h"

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::optional<RankSettings>> Read(const std::map<std::string, std::string>& environment) {
  return RankFromEnvironment([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(RankSettingsTest, AloneWithoutALauncher) {
  EXPECT_FALSE(Read({})->has_value());
  EXPECT_FALSE(Read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_NODELIST", "a"}})->has_value());
  // The variables are those of a job script, not of tasks that srun started.
  EXPECT_FALSE(Read({{"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "4"},
                     {"SLURM_NTASKS_PER_NODE", "2"},
                     {"SLURM_JOB_NODELIST", "a[1-2]"}})
                   ->has_value());
  EXPECT_FALSE(Read({{"RANK", "0"}})->has_value());  // set for another purpose
}

TEST(RankSettingsTest, Torchrun) {
  const auto read = Read({{"RANK", "3"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "2"},
                          {"MASTER_ADDR", "node1"},
                          {"MASTER_PORT", "1234"},
                          {"SLURM_PROCID", "1"},
                          {"SLURM_NTASKS", "2"}});
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->rank, 3);
  EXPECT_EQ((*read)->size, 8);
  EXPECT_EQ((*read)->local_size, 4);
  EXPECT_EQ((*read)->local_rank, 2);
  EXPECT_EQ((*read)->master_address, "node1");
  EXPECT_EQ((*read)->master_port, 1234);
  EXPECT_EQ((*read)->launcher, "torchrun");
}

TEST(RankSettingsTest, TorchrunsOwnPortIsTaken) {
  const auto port = [](const char* master_port, const char* agent) {
    return Read({{"RANK", "0"},
                 {"WORLD_SIZE", "2"},
                 {"MASTER_ADDR", "x"},
                 {"MASTER_PORT", master_port},
                 {"TORCHELASTIC_USE_AGENT_STORE", agent}})
        .value()
        ->master_port;
  };
  EXPECT_EQ(port("1234", "True"), 1235);
  EXPECT_EQ(port("65535", "True"), 65534);
  EXPECT_EQ(port("1234", "False"), 1234);
}

TEST(RankSettingsTest, OpenMpiOnOneMachineNeedsNoAddress) {
  const auto read =
      Read({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->master_address, "127.0.0.1");
  EXPECT_THAT(
      std::string(
          Read({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})
              .status()
              .message()),
      HasSubstr("set MASTER_ADDR"));
}

TEST(RankSettingsTest, SlurmNamesTheFirstHost) {
  const auto read = Read({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_STEP_NODELIST", "node[03-07,9],gpu1"}});
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->rank, 5);
  EXPECT_EQ((*read)->master_address, "node03");
}

TEST(RankSettingsTest, SlurmsTasksOfThisStepAndNode) {
  const auto local_size = [](const char* list, const char* node) {
    const auto read = Read({{"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "5"},
                            {"SLURM_NTASKS_PER_NODE", "8"},  // of the job; the step has fewer
                            {"SLURM_STEP_TASKS_PER_NODE", list},
                            {"SLURM_NODEID", node},
                            {"SLURM_STEP_NODELIST", "node[1-3]"}});
    return read.ok() ? absl::StatusOr<int>((*read)->local_size) : read.status();
  };
  EXPECT_EQ(local_size("2(x2),1", "0").value_or(0), 2);
  EXPECT_EQ(local_size("2(x2),1", "1").value_or(0), 2);
  EXPECT_EQ(local_size("2(x2),1", "2").value_or(0), 1);
  EXPECT_THAT(std::string(local_size("2(x2)", "2").status().message()),
              HasSubstr("SLURM_STEP_TASKS_PER_NODE=2(x2), expected numbers from 1 to 5 as in 2(x3),1, one for node 2"));
  EXPECT_THAT(std::string(local_size("6", "0").status().message()), HasSubstr("SLURM_STEP_TASKS_PER_NODE=6"));
  EXPECT_THAT(std::string(local_size("5", "x").status().message()), HasSubstr("SLURM_NODEID=x"));
}

TEST(RankSettingsTest, SlurmTasksOnNode) {
  EXPECT_EQ(SlurmTasksOnNode("4", 0), 4);
  EXPECT_EQ(SlurmTasksOnNode("4", 1), std::nullopt);
  EXPECT_EQ(SlurmTasksOnNode("3,2(x3),1", 0), 3);
  EXPECT_EQ(SlurmTasksOnNode("3,2(x3),1", 3), 2);
  EXPECT_EQ(SlurmTasksOnNode("3,2(x3),1", 4), 1);
  for (const char* const wrong : {"", "x", "2(x", "2(xy)", "2(x2"}) EXPECT_EQ(SlurmTasksOnNode(wrong, 0), std::nullopt);
}

TEST(RankSettingsTest, FirstSlurmHost) {
  EXPECT_EQ(FirstSlurmHost("alone"), "alone");
  EXPECT_EQ(FirstSlurmHost("a,b[1-2]"), "a");
  EXPECT_EQ(FirstSlurmHost("n[7],m"), "n7");
  EXPECT_EQ(FirstSlurmHost("n[008,12-14]"), "n008");
}

TEST(RankSettingsTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(std::string(Read({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).status().message()),
              HasSubstr("RANK=2, expected a number from 0 to 1"));
  EXPECT_THAT(std::string(Read({{"RANK", "0"}, {"WORLD_SIZE", "two"}}).status().message()),
              HasSubstr("WORLD_SIZE=two"));
  EXPECT_THAT(
      std::string(
          Read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x"}, {"MASTER_PORT", "0"}}).status().message()),
      HasSubstr("MASTER_PORT=0"));
}

}  // namespace
}  // namespace rutile
