#include "lib/profile/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/file/file.h"
#include "lib/profile/machine_facts.h"
#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

ProfileRecord Sample() {
  ProfileRecord record;
  record.tool = "train";
  record.version = "9.9";
  record.command = {"train", "--name=a \"b\"\xff", "x.safetensors"};
  record.pid = 12, record.parent_pid = 11;
  record.start_unix_ns = 1700000000123456789;
  record.cpu_s = 2.5;
  record.peak_rss_bytes = 1 << 30;
  record.exit_status = 130;
  record.data.wall_s = 1.25;
  record.data.threads = {{0, "main"}, {1, "loader"}};
  ProfileStage other;
  other.name = other.path = "other";
  other.calls = 1, other.self_s = 1, other.total_s = 1.25;
  ProfileStage forward;
  forward.name = "forward", forward.path = "validation/forward";
  forward.thread = 1, forward.calls = 7, forward.self_s = 0.125, forward.total_s = 0.25;
  forward.counters[static_cast<int>(Counter::kFlop)] = int64_t{1} << 60;
  forward.counters[static_cast<int>(Counter::kAtoms)] = 3;
  forward.peak_rss_bytes = 99, forward.allocations = 0, forward.device_s = 0.5;
  record.data.stages = {other, forward};
  record.data.spans = {{0, 0, 0, 1250000000}, {1, 1, 5, 250000000}};
  record.data.spans_dropped = 4;
  record.operators = {{"aten::mm", 5, 0.5}};
  record.machine.machine.cpu = "some";
  return record;
}

TEST(RecordTest, RoundTrip) {
  const std::string json = ProfileRecordJson(Sample());
  const absl::StatusOr<ProfileRecord> read = ParseProfileRecord(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tool, "train");
  EXPECT_EQ(read->command.size(), 3);
  EXPECT_EQ(read->start_unix_ns, 1700000000123456789);
  EXPECT_EQ(read->exit_status, 130);
  EXPECT_EQ(read->data.wall_s, 1.25);
  EXPECT_EQ(read->data.threads[1].name, "loader");
  ASSERT_EQ(read->data.stages.size(), 2);
  EXPECT_EQ(read->data.stages[0].allocations, -1);
  EXPECT_EQ(read->data.stages[1].path, "validation/forward");
  EXPECT_EQ(read->data.stages[1].counters[static_cast<int>(Counter::kFlop)], int64_t{1} << 60);
  EXPECT_EQ(read->data.stages[1].allocations, 0);
  EXPECT_EQ(read->data.stages[0].device_s, -1);
  EXPECT_EQ(read->data.stages[1].device_s, 0.5);
  EXPECT_EQ(read->data.spans[1].duration_ns, 250000000);
  EXPECT_EQ(read->data.spans_dropped, 4);
  EXPECT_EQ(read->operators[0].name, "aten::mm");
  EXPECT_EQ(read->machine.machine.cpu, "some");
  EXPECT_EQ(ProfileRecordJson(*read), json);
}

TEST(RecordTest, LeavesOutWhatIsNotKnown) {
  ProfileRecord record = Sample();
  record.operators.clear();
  record.data.stages.pop_back();
  record.data.spans.pop_back();
  const std::string json = ProfileRecordJson(record);
  for (const char* absent : {"operators", "allocations", "device_s", "\"atoms\""}) {
    EXPECT_THAT(json, Not(HasSubstr(absent)));
  }
  EXPECT_THAT(json, HasSubstr("\"counters\":{}"));
}

TEST(RecordTest, SaysWhatIsWrong) {
  const std::string json = ProfileRecordJson(Sample());
  const auto error = [&](const char* from, const char* to) {
    const std::string changed = absl::StrReplaceAll(json, {{from, to}});
    EXPECT_NE(changed, json) << from;
    const absl::StatusOr<ProfileRecord> read = ParseProfileRecord(changed);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << from;
    return std::string(read.status().message());
  };
  EXPECT_THAT(error("{\"kind\"", "[\"kind\""), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("profile/1", "profile/2"), HasSubstr("expected \"rutile.profile/1\""));
  EXPECT_THAT(error("\"wall_s\"", "\"wall\""), HasSubstr("\"wall_s\" is missing"));
  EXPECT_THAT(error("\"calls\":7", "\"calls\":\"7\""), HasSubstr("\"calls\" is no number"));
  EXPECT_THAT(error("\"thread\":1", "\"thread\":[]"), HasSubstr("\"thread\" is no number"));
  EXPECT_THAT(error("[1,1,5,250000000]", "[2,1,5,250000000]"), HasSubstr("stage 2 of 2"));
  EXPECT_THAT(error("[1,1,5,250000000]", "[1,1,5]"), HasSubstr("four whole numbers"));
  EXPECT_THAT(error("[1,1,5,250000000]", "{}"), HasSubstr("four whole numbers"));
  EXPECT_THAT(error("\"atoms\":3", "\"atoms\":null"), HasSubstr("\"atoms\" is no number"));
  EXPECT_THAT(error("\"cpu\":\"some\"", "\"cpu\":1"), HasSubstr("machine"));
  EXPECT_FALSE(ParseProfileRecord(json.substr(0, json.size() / 2)).ok());
}

TEST(RecordTest, IsOfThisProcess) {
  StartProfile({});
  { const ProfileScope scope(Stage::kRead); }
  const ProfileRecord record = MakeProfileRecord("featurize", {"featurize", "a.xsf"}, 1, StopProfile());
  EXPECT_EQ(record.pid, ::getpid());
  EXPECT_EQ(record.parent_pid, ::getppid());
  EXPECT_GT(record.cpu_s, 0);
  EXPECT_GT(record.peak_rss_bytes, 1 << 20);
  EXPECT_GT(record.start_unix_ns, int64_t{1500000000} * 1000000000);

  const std::string directory = absl::StrCat(::testing::TempDir(), "/profiles/of/", ::getpid());
  const absl::Status written = WriteProfileRecord(directory, record);
  ASSERT_TRUE(written.ok()) << written;
  const absl::StatusOr<FileContents> file =
      FileContents::Open(absl::StrCat(directory, "/featurize-", ::getpid(), ".json"));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ProfileRecord> read = ParseProfileRecord(file->data());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->command, record.command);
  EXPECT_EQ(read->data.stages.size(), record.data.stages.size());
}

TEST(RecordTest, DirectoryThatIsAFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/record_test_file");
  ASSERT_TRUE(WriteFileAtomically(path, "x").ok());
  const absl::Status written = WriteProfileRecord(path, Sample());
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.message()), HasSubstr(path));
}

}  // namespace
}  // namespace rutile
