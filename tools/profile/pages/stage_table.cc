#include "tools/profile/pages/stage_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace rutile {
namespace {

// Returns the name without its number: "worker 2" becomes "worker".
std::string ThreadKind(absl::string_view name) {
  const size_t blank = name.rfind(' ');
  if (blank == absl::string_view::npos || blank + 1 == name.size()) return std::string(name);
  for (const char c : name.substr(blank + 1)) {
    if (!absl::ascii_isdigit(c)) return std::string(name);
  }
  return std::string(name.substr(0, blank));
}

std::vector<StageRow> MergedRows(const ProfileRecord& record) {
  std::map<int, std::string> thread_names;
  for (const ProfileThread& thread : record.data.threads) thread_names[thread.id] = thread.name;
  std::map<std::string, int> threads_of_kind;
  for (const auto& [id, name] : thread_names) {
    if (id != 0) ++threads_of_kind[ThreadKind(name)];
  }
  std::map<std::pair<std::string, std::string>, StageRow> merged;  // by thread and path
  for (const ProfileStage& stage : record.data.stages) {
    const bool main = stage.thread == 0;
    const std::string thread = main ? "main" : ThreadKind(thread_names[stage.thread]);
    StageRow& row = merged[{main ? "" : thread, stage.path}];
    row.path = stage.path;
    row.name = stage.name;
    row.thread = thread;
    row.main = main;
    row.num_threads = main ? 1 : std::max(1, threads_of_kind[thread]);
    row.calls += stage.calls;
    row.self_s += stage.self_s;
    row.total_s += stage.total_s;
    for (int c = 0; c < kNumCounters; ++c) row.counters[c] += static_cast<double>(stage.counters[c]);
    row.peak_rss_bytes = std::max(row.peak_rss_bytes, stage.peak_rss_bytes);
    if (stage.allocations >= 0) row.allocations = std::max<int64_t>(0, row.allocations) + stage.allocations;
  }
  std::vector<StageRow> rows;
  for (auto& [key, row] : merged) rows.push_back(std::move(row));
  return rows;
}

// Adds what helpers counted to the main thread's stage.
void GatherCounters(std::vector<StageRow>* rows) {
  struct Sum {
    double main_s = 0;
    std::array<double, kNumCounters> helpers = {};
  };
  std::map<std::string, Sum> sums;
  for (const StageRow& row : *rows) {
    if (row.main) sums[row.name].main_s += row.self_s;
  }
  for (const StageRow& row : *rows) {
    const auto found = sums.find(row.name);
    if (row.main || found == sums.end()) continue;
    for (int c = 0; c < kNumCounters; ++c) found->second.helpers[c] += row.counters[c];
  }
  std::map<std::string, double> waits;  // for helpers, by the stage that they help with
  const std::string wait = absl::StrCat("/", StageName(Stage::kWaitForThreads));
  for (const StageRow& row : *rows) {
    if (row.main && absl::EndsWith(row.path, wait)) {
      waits[row.path.substr(0, row.path.size() - wait.size())] = row.self_s;
    }
  }
  for (StageRow& row : *rows) {
    row.rate_s = row.self_s / row.num_threads;
    if (!row.main) continue;
    row.rate_s += waits[row.path];
    const Sum& sum = sums[row.name];
    if (sum.main_s <= 0) continue;
    for (int c = 0; c < kNumCounters; ++c) row.counters[c] += sum.helpers[c] * (row.self_s / sum.main_s);
  }
}

}  // namespace

StageTable MakeStageTable(const ProfileRecord& record, const MachinePeaks& peaks) {
  StageTable table;
  table.wall_s = record.data.wall_s;
  table.roof = RoofOf(record, peaks);
  for (int s = 0; s < kNumStages; ++s) {
    const auto stage = static_cast<Stage>(s);
    if (stage == Stage::kRoundedScores || RoundsInMixedPrecision(stage)) {
      table.roofs[stage] = RoofOf(record, peaks, stage);
    }
  }
  table.rows = MergedRows(record);
  GatherCounters(&table.rows);
  for (StageRow& row : table.rows) {
    if (table.wall_s > 0) row.share = row.self_s / table.wall_s / row.num_threads;
    row.roofline = PlaceUnderRoof(table.RoofOf(row), row.counters[static_cast<int>(Counter::kFlop)],
                                  row.counters[static_cast<int>(Counter::kBytes)], row.rate_s);
    if (!row.main) continue;
    table.stages_s += row.self_s;
    if (row.path == StageName(Stage::kOther)) table.other_s += row.self_s;
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const StageRow& a, const StageRow& b) {
    if (a.main != b.main) return a.main;
    return a.self_s > b.self_s;
  });
  return table;
}

double ShareOfStage(const StageTable& table, Stage stage) {
  double share = 0;
  for (const StageRow& row : table.rows) {
    if (row.main && row.name == StageName(stage)) share += row.share;
  }
  return share;
}

std::string WithPrefix(double value) {
  constexpr absl::string_view kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  size_t p = 0;
  // 999.6 would be printed as 1e+03.
  while (std::abs(value) >= 999.5 && p + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++p;
  }
  return absl::StrCat(absl::StrFormat("%.3g", value), kPrefixes[p]);
}

std::string BytesText(int64_t bytes) {
  if (bytes <= 0) return "";
  const auto value = static_cast<double>(bytes);
  if (value < 999.5e3) return absl::StrFormat("%.3g kB", value / 1e3);
  if (value < 999.5e6) return absl::StrFormat("%.3g MB", value / 1e6);
  return absl::StrFormat("%.3g GB", value / 1e9);
}

std::string SecondsText(double seconds) {
  if (seconds >= 999.5) return absl::StrFormat("%.0f s", seconds);
  if (seconds >= 0.9995) return absl::StrFormat("%.3g s", seconds);
  if (seconds >= 0.9995e-3) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g us", seconds * 1e6);
}

std::string RatesText(const StageRow& row) {
  if (row.rate_s <= 0) return "";
  std::vector<std::string> rates;
  // Counters go from fine to coarse, and the first two that counted are shown.
  for (const Counter counter : {Counter::kTriplets, Counter::kPairs, Counter::kAtoms, Counter::kTriples,
                                Counter::kStructures, Counter::kExamples}) {
    const double n = row.counters[static_cast<int>(counter)];
    if (n <= 0) continue;
    const std::string rate = WithPrefix(n / row.rate_s);
    rates.push_back(absl::StrCat(rate, " ", CounterName(counter), "/s"));
    if (rates.size() == 2) break;
  }
  for (const auto& [counter, unit] : {std::pair{Counter::kFlop, "flop/s"}, std::pair{Counter::kBytes, "B/s"}}) {
    const double n = row.counters[static_cast<int>(counter)];
    if (n <= 0) continue;
    const std::string rate = WithPrefix(n / row.rate_s);
    rates.push_back(absl::StrCat(rate, absl::StrContains(rate, ' ') ? "" : " ", unit));
  }
  return absl::StrJoin(rates, ", ");
}

}  // namespace rutile
