#include "tools/profile/pages/chrome_trace.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

// Returns a JSON string; bytes that are not UTF-8 are replaced.
std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AppendName(const char* what, int64_t pid, int thread, const std::string& name, std::string* events) {
  absl::StrAppend(events, events->empty() ? "" : ",\n", "{\"name\":\"", what, "\",\"ph\":\"M\",\"pid\":", pid,
                  ",\"tid\":", thread, ",\"args\":{\"name\":", Quoted(name), "}}");
}

}  // namespace

int64_t StartAfterFirst(absl::Span<const ProfileRecord> records, const ProfileRecord& record) {
  int64_t first = record.start_unix_ns;
  for (const ProfileRecord& other : records) first = std::min(first, other.start_unix_ns);
  return record.start_unix_ns - first;
}

std::string ChromeTrace(absl::Span<const ProfileRecord> records) {
  std::string events;
  for (const ProfileRecord& record : records) {
    const auto offset_us = static_cast<double>(StartAfterFirst(records, record)) / 1e3;
    AppendName("process_name", record.pid, 0, record.tool, &events);
    for (const ProfileThread& thread : record.data.threads) {
      AppendName("thread_name", record.pid, thread.id, thread.name, &events);
    }
    for (const ProfileSpan& span : record.data.spans) {
      if (span.stage < 0 || static_cast<size_t>(span.stage) >= record.data.stages.size()) continue;
      const ProfileStage& stage = record.data.stages[span.stage];
      absl::StrAppend(&events, events.empty() ? "" : ",\n", "{\"name\":", Quoted(stage.name),
                      ",\"cat\":", Quoted(stage.path),
                      absl::StrFormat(",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,\"tid\":%d}",
                                      offset_us + static_cast<double>(span.start_ns) / 1e3,
                                      static_cast<double>(span.duration_ns) / 1e3, record.pid, span.thread));
    }
  }
  return absl::StrCat("{\"traceEvents\":[\n", events, "\n],\"displayTimeUnit\":\"ms\"}\n");
}

}  // namespace rutile
