#include "tools/profile/search/process_ends.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// A process knows its start only in steps of 10 ms.
constexpr int64_t kCoarse = 20'000'000;

// Returns the index of the main thread's stage, which is added if it is missing.
int StageOfMain(const std::string& name, ProfileData* data) {
  for (size_t s = 0; s < data->stages.size(); ++s) {
    if (data->stages[s].thread == 0 && data->stages[s].path == name) return static_cast<int>(s);
  }
  ProfileStage stage;
  stage.name = stage.path = name;
  stage.calls = 1;
  data->stages.push_back(stage);
  return static_cast<int>(data->stages.size()) - 1;
}

void Lengthen(double seconds, ProfileStage* stage) {
  stage->self_s += seconds;
  stage->total_s += seconds;
}

}  // namespace

bool AddProcessEnds(int64_t start_unix_ns, int64_t end_unix_ns, ProfileRecord* record) {
  ProfileData& data = record->data;
  const auto recorded_ns = static_cast<int64_t>(std::llround(1e9 * data.wall_s));
  int64_t before = record->start_unix_ns - start_unix_ns;
  const int64_t after = end_unix_ns - (record->start_unix_ns + recorded_ns);
  if (before < -kCoarse || after < 0) return false;

  const bool has_spans = !data.spans.empty();
  const int startup = StageOfMain(std::string(StageName(Stage::kStartup)), &data);
  before = std::max(before, -static_cast<int64_t>(1e9 * data.stages[startup].self_s));
  Lengthen(1e-9 * static_cast<double>(before), &data.stages[startup]);
  bool startup_has_span = false;
  for (ProfileSpan& span : data.spans) {
    if (span.stage == startup) {
      span.duration_ns += before;
      startup_has_span = true;
    } else {
      span.start_ns += before;
    }
  }
  if (has_spans && !startup_has_span && before > 0) data.spans.insert(data.spans.begin(), {startup, 0, 0, before});
  record->start_unix_ns -= before;

  const int exit = StageOfMain(kExitStage, &data);
  Lengthen(1e-9 * static_cast<double>(after), &data.stages[exit]);
  if (has_spans) data.spans.push_back({exit, 0, recorded_ns + before, after});
  data.wall_s += 1e-9 * static_cast<double>(before + after);
  for (ProfileStage& stage : data.stages) {
    if (stage.thread == 0 && stage.path == StageName(Stage::kOther)) stage.total_s = data.wall_s;
  }
  return true;
}

}  // namespace rutile
