#include "lib/profile/timing_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rutile {
namespace {

constexpr int kNameWidth = 28;

// Formats 3 digits and a prefix: "1.23 M".
std::string Engineering(double value) {
  for (const auto& [unit, prefix] : {std::pair<double, const char*>{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (value >= unit) return absl::StrFormat("%.3g %s", value / unit, prefix);
  }
  return absl::StrFormat("%.3g ", value);
}

// Formats rates like "1.2 Matoms/s  3.1 Gflop/s", over the total time, in which the counted work was done.
std::string Rates(const ProfileStage& stage) {
  std::string text;
  if (stage.total_s <= 0) return text;
  for (int c = 0; c < kNumCounters; ++c) {
    if (stage.counters[c] == 0) continue;
    const std::string rate = Engineering(static_cast<double>(stage.counters[c]) / stage.total_s);
    absl::StrAppend(&text, "  ", rate, CounterName(static_cast<Counter>(c)), "/s");
  }
  return text;
}

// Formats the device time, which includes stages inside, as events measure it.
std::string OnDevice(const ProfileStage& stage) {
  return stage.device_s < 0 ? "" : absl::StrFormat("  %.3f s on device", stage.device_s);
}

std::string Row(const ProfileStage& stage, double wall_s) {
  const int depth = static_cast<int>(std::count(stage.path.begin(), stage.path.end(), '/'));
  const std::string name = absl::StrCat(std::string(2 * depth + 2, ' '), stage.name);
  const std::string allocations =
      stage.allocations < 0 || stage.calls == 0
          ? ""
          : Engineering(static_cast<double>(stage.allocations) / static_cast<double>(stage.calls));
  std::string row =
      absl::StrFormat("%-*s %6.1f %% %10.3f s %9d %9s%s", kNameWidth, name, 100 * stage.self_s / wall_s, stage.self_s,
                      stage.calls, allocations, absl::StrCat(OnDevice(stage), Rates(stage)));
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

}  // namespace

std::string TimingTable(const ProfileRecord& record) {
  const ProfileData& data = record.data;
  const double wall_s = std::max(1e-9, data.wall_s);
  std::string text = absl::StrFormat("timing: %.3f s wall, %.3f s processor, %.0f MB at most\n", data.wall_s,
                                     record.cpu_s, static_cast<double>(record.peak_rss_bytes) / 1e6);
  for (const ProfileThread& thread : data.threads) {
    absl::StrAppendFormat(&text, "%-*s %8s %12s %9s %9s\n", kNameWidth, thread.name, "share", "self", "calls",
                          "new/call");
    double sum = 0;
    for (const ProfileStage& stage : data.stages) {
      if (stage.thread != thread.id) continue;
      sum += stage.self_s;
      absl::StrAppend(&text, Row(stage, wall_s));
    }
    absl::StrAppendFormat(&text, "%-*s %6.1f %% %10.3f s\n", kNameWidth, "  sum", 100 * sum / wall_s, sum);
  }
  if (!record.operators.empty()) {
    absl::StrAppendFormat(&text, "%-*s %8s %12s %9s\n", kNameWidth, "operators of LibTorch", "share", "self", "calls");
    for (const ProfileOperator& op : record.operators) {
      absl::StrAppendFormat(&text, "%-*s %6.1f %% %10.3f s %9d\n", kNameWidth, absl::StrCat("  ", op.name),
                            100 * op.self_s / wall_s, op.self_s, op.calls);
    }
  }
  for (const std::string& warning : record.machine.warnings) absl::StrAppend(&text, "warning: ", warning, "\n");
  return text;
}

}  // namespace rutile
