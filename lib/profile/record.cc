#include "lib/profile/record.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/file/file.h"
#include "lib/trace/peak_rss.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double ProcessorSeconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    ::getrusage(who, &usage);
    sum += Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  return sum;
}

Json StageJson(const ProfileStage& stage) {
  Json json = {{"name", stage.name},        {"path", stage.path},     {"thread", stage.thread},
               {"calls", stage.calls},      {"self_s", stage.self_s}, {"total_s", stage.total_s},
               {"counters", Json::object()}};
  for (int c = 0; c < kNumCounters; ++c) {
    if (stage.counters[c] != 0) json["counters"][std::string(CounterName(static_cast<Counter>(c)))] = stage.counters[c];
  }
  if (stage.peak_rss_bytes > 0) json["peak_rss_bytes"] = stage.peak_rss_bytes;
  if (stage.allocations >= 0) json["allocations"] = stage.allocations;
  if (stage.device_s >= 0) json["device_s"] = stage.device_s;
  return json;
}

constexpr char kSpansGoHere[] = "spans go here";

std::string SpansJson(const std::vector<ProfileSpan>& spans) {
  std::string text = "[";
  text.reserve(40 * spans.size() + 2);
  for (const ProfileSpan& span : spans) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", "[", span.stage, ",", span.thread, ",", span.start_ns, ",",
                    span.duration_ns);
    text += ']';
  }
  text += ']';
  return text;
}

// Reads values of known keys and remembers the first that is missing or of another type.
class Reader {
 public:
  template <typename T>
  void Need(const Json& object, const char* key, T* value) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found == object.end()) return Fail(absl::StrCat("\"", key, "\" is missing"));
    Read(*found, key, value);
  }
  template <typename T>
  void Take(const Json& object, const char* key, T* value) {
    if (const auto found = object.find(key); found != object.end()) Read(*found, key, value);
  }
  template <typename F>
  void Each(const Json& object, const char* key, bool needed, const F& read) {
    const auto found = object.find(key);
    if (found == object.end()) {
      if (needed) Fail(absl::StrCat("\"", key, "\" is missing"));
      return;
    }
    if (!found->is_array()) return Fail(absl::StrCat("\"", key, "\" is no list"));
    for (const Json& element : *found) read(element);
  }
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("profile record: ", what));
  }
  const absl::Status& status() const { return status_; }

 private:
  void Read(const Json& json, const char* key, std::string* value) {
    if (!json.is_string()) return Fail(absl::StrCat("\"", key, "\" is no text"));
    *value = json.get<std::string>();
  }
  template <typename T>
  void Read(const Json& json, const char* key, T* value) {
    if (!json.is_number()) return Fail(absl::StrCat("\"", key, "\" is no number"));
    *value = json.get<T>();
  }

  absl::Status status_;
};

void ReadStage(const Json& json, Reader* reader, ProfileStage* stage) {
  reader->Need(json, "name", &stage->name);
  reader->Need(json, "thread", &stage->thread);
  reader->Need(json, "calls", &stage->calls);
  reader->Need(json, "self_s", &stage->self_s);
  reader->Need(json, "total_s", &stage->total_s);
  if (!reader->status().ok()) return;
  stage->path = stage->name;
  reader->Take(json, "path", &stage->path);
  reader->Take(json, "peak_rss_bytes", &stage->peak_rss_bytes);
  reader->Take(json, "allocations", &stage->allocations);
  reader->Take(json, "device_s", &stage->device_s);
  const auto counters = json.find("counters");
  if (counters == json.end()) return;
  if (!counters->is_object()) return reader->Fail("\"counters\" is no object");
  for (int c = 0; c < kNumCounters; ++c) {
    reader->Take(*counters, std::string(CounterName(static_cast<Counter>(c))).c_str(), &stage->counters[c]);
  }
}

void ReadSpan(const Json& json, size_t num_stages, Reader* reader, ProfileSpan* span) {
  const auto is_integer = [](const Json& number) { return number.is_number_integer(); };
  if (!json.is_array() || json.size() != 4 || !std::all_of(json.begin(), json.end(), is_integer)) {
    return reader->Fail("a span is not four whole numbers");
  }
  span->stage = json[0].get<int>();
  span->thread = json[1].get<int>();
  span->start_ns = json[2].get<int64_t>();
  span->duration_ns = json[3].get<int64_t>();
  if (span->stage < 0 || span->stage >= static_cast<int>(num_stages)) {
    reader->Fail(absl::StrCat("a span is of stage ", span->stage, " of ", num_stages));
  }
}

}  // namespace

ProfileRecord MakeProfileRecord(absl::string_view tool, const std::vector<std::string>& command, int exit_status,
                                ProfileData data) {
  ProfileRecord record;
  record.tool = std::string(tool);
  record.version = kVersion;
  record.command = command;
  record.pid = ::getpid();
  record.parent_pid = ::getppid();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  record.start_unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - static_cast<int64_t>(data.wall_s * 1e9);
  record.cpu_s = ProcessorSeconds();
  record.peak_rss_bytes = PeakRssBytes();
  record.exit_status = exit_status;
  record.data = std::move(data);
  record.machine = FindMachineFacts();
  return record;
}

std::string ProfileRecordJson(const ProfileRecord& record) {
  Json json = {{"kind", kProfileKind},
               {"tool", record.tool},
               {"version", record.version},
               {"command", record.command},
               {"pid", record.pid},
               {"parent_pid", record.parent_pid},
               {"start_unix_ns", record.start_unix_ns},
               {"wall_s", record.data.wall_s},
               {"cpu_s", record.cpu_s},
               {"peak_rss_bytes", record.peak_rss_bytes},
               {"exit_status", record.exit_status},
               {"threads", Json::array()},
               {"stages", Json::array()},
               {"spans", kSpansGoHere},
               {"spans_dropped", record.data.spans_dropped}};
  for (const ProfileThread& thread : record.data.threads) {
    json["threads"].push_back({{"id", thread.id}, {"name", thread.name}});
  }
  for (const ProfileStage& stage : record.data.stages) json["stages"].push_back(StageJson(stage));
  if (!record.operators.empty()) {
    for (const ProfileOperator& op : record.operators) {
      json["operators"].push_back({{"name", op.name}, {"calls", op.calls}, {"self_s", op.self_s}});
    }
  }
  json["machine"] = Json::parse(MachineFactsJson(record.machine));
  // There can be tens of thousands of spans, for each of which the JSON library would allocate.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string mark = absl::StrCat("\"", kSpansGoHere, "\"");
  const size_t at = text.find(absl::StrCat("\"spans\":", mark)) + absl::string_view("\"spans\":").size();
  return absl::StrCat(absl::string_view(text).substr(0, at), SpansJson(record.data.spans),
                      absl::string_view(text).substr(at + mark.size()), "\n");
}

absl::StatusOr<ProfileRecord> ParseProfileRecord(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("profile record: not a JSON object");
  Reader reader;
  std::string kind;
  reader.Need(json, "kind", &kind);
  if (reader.status().ok() && kind != kProfileKind) {
    reader.Fail(absl::StrCat("kind \"", kind, "\", expected \"", kProfileKind, "\""));
  }
  ProfileRecord record;
  reader.Need(json, "tool", &record.tool);
  reader.Take(json, "version", &record.version);
  reader.Each(json, "command", /*needed=*/true, [&](const Json& word) {
    if (!word.is_string()) return reader.Fail("a word of \"command\" is no text");
    record.command.push_back(word.get<std::string>());
  });
  reader.Take(json, "pid", &record.pid);
  reader.Take(json, "parent_pid", &record.parent_pid);
  reader.Take(json, "start_unix_ns", &record.start_unix_ns);
  reader.Need(json, "wall_s", &record.data.wall_s);
  reader.Take(json, "cpu_s", &record.cpu_s);
  reader.Take(json, "peak_rss_bytes", &record.peak_rss_bytes);
  reader.Take(json, "exit_status", &record.exit_status);
  reader.Each(json, "threads", /*needed=*/true, [&](const Json& from) {
    ProfileThread& thread = record.data.threads.emplace_back();
    reader.Need(from, "id", &thread.id);
    reader.Need(from, "name", &thread.name);
  });
  reader.Each(json, "stages", /*needed=*/true,
              [&](const Json& from) { ReadStage(from, &reader, &record.data.stages.emplace_back()); });
  reader.Each(json, "spans", /*needed=*/false, [&](const Json& from) {
    ReadSpan(from, record.data.stages.size(), &reader, &record.data.spans.emplace_back());
  });
  reader.Take(json, "spans_dropped", &record.data.spans_dropped);
  reader.Each(json, "operators", /*needed=*/false, [&](const Json& from) {
    ProfileOperator& op = record.operators.emplace_back();
    reader.Need(from, "name", &op.name);
    reader.Need(from, "calls", &op.calls);
    reader.Need(from, "self_s", &op.self_s);
  });
  if (const auto machine = json.find("machine");
      machine != json.end() && !ParseMachineFacts(machine->dump(), &record.machine)) {
    reader.Fail("\"machine\" is not as written by this version");
  }
  RETURN_IF_ERROR(reader.status());
  return record;
}

absl::Status WriteProfileRecord(const std::string& directory, const ProfileRecord& record) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  return WriteFileAtomically(absl::StrCat(directory, "/", record.tool, "-", record.pid, ".json"),
                             ProfileRecordJson(record));
}

}  // namespace rutile
