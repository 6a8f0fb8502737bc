#include "tools/profile/pages/profile_page.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/tsv_cell.h"
#include "tools/profile/pages/advice.h"
#include "tools/profile/pages/roofline.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {
namespace {

constexpr int kCommandWidth = 100;
constexpr size_t kMaxProcesses = 8;  // on a page: those that took most time

double Count(const StageRow& row, Counter counter) { return row.counters[static_cast<int>(counter)]; }

std::string MachineText(const MachineFacts& facts, const MachinePeaks& peaks) {
  const Machine& machine = facts.machine;
  std::string text = absl::StrCat("machine: ", machine.cpu.empty() ? "unknown processor" : machine.cpu, ", ",
                                  machine.usable_processors, " of ", machine.processors, " processors, ",
                                  machine.instruction_set, ", ", BytesText(machine.memory_bytes));
  if (!facts.blas.empty()) absl::StrAppend(&text, ", ", facts.blas);
  if (!facts.libtorch.empty()) absl::StrAppend(&text, ", LibTorch ", facts.libtorch);
  absl::StrAppend(&text, "\n");
  if (peaks.fma_fp32_all > 0) {
    absl::StrAppend(&text, "peaks:   ",
                    absl::StrFormat("%.3g Gflop/s fp32, %.3g fp64, %.3g GB/s read, one processor: %.3g, %.3g, %.3g\n",
                                    peaks.fma_fp32_all / 1e9, peaks.fma_fp64_all / 1e9, peaks.memory_read_all / 1e9,
                                    peaks.fma_fp32_one / 1e9, peaks.fma_fp64_one / 1e9, peaks.memory_read_one / 1e9));
  }
  return text;
}

void AppendRow(const StageRow& row, std::string* text) {
  const RooflinePoint& point = row.roofline;
  const std::string intensity = point.intensity > 0 ? absl::StrFormat("%.3g", point.intensity) : "";
  const std::string limit =
      point.share > 0 ? absl::StrFormat("%.0f %% %s", 100 * point.share, point.memory_is_limit ? "mem" : "fp") : "";
  const std::string allocations =
      row.allocations < 0 || row.calls == 0
          ? ""
          : WithPrefix(static_cast<double>(row.allocations) / static_cast<double>(row.calls));
  std::string line = absl::StrFormat("  %-32s %6.1f %% %9s %9s %8s  %6s %9s %8s  %s", row.path, 100 * row.share,
                                     SecondsText(row.self_s), WithPrefix(static_cast<double>(row.calls)), allocations,
                                     intensity, limit, BytesText(row.peak_rss_bytes), RatesText(row));
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(text, line, "\n");
}

// Appends rows [begin, end), which belong to one kind of thread.
void AppendRows(const std::vector<StageRow>& rows, size_t begin, size_t end, int max_stages, std::string* text) {
  const size_t shown = std::min(end, begin + static_cast<size_t>(max_stages));
  for (size_t r = begin; r < shown; ++r) AppendRow(rows[r], text);
  if (shown == end) return;
  StageRow rest;
  rest.path = absl::StrCat(end - shown, " smaller stages");
  for (size_t r = shown; r < end; ++r) {
    rest.self_s += rows[r].self_s;
    rest.share += rows[r].share;
    rest.calls += rows[r].calls;
  }
  AppendRow(rest, text);
}

void AppendProcess(const ProfileRecord& record, const MachinePeaks& peaks, int max_stages, std::string* text) {
  const StageTable table = MakeStageTable(record, peaks);
  absl::StrAppend(text, "\n", record.tool, " (", record.pid, "): ", SecondsText(table.wall_s), " wall, ",
                  SecondsText(record.cpu_s), " processor, peak memory ", BytesText(record.peak_rss_bytes));
  if (record.exit_status != 0) absl::StrAppend(text, ", exit status ", record.exit_status);
  absl::StrAppend(text, "\n  ", CommandText(record.command, kCommandWidth), "\n");
  std::string header = absl::StrFormat("  %-32s %8s %9s %9s %8s  %6s %9s %8s  %s", "stage (self)", "share", "time",
                                       "calls", "new/call", "flop/B", "of limit", "memory", "rates");
  absl::StrAppend(text, header, "\n");
  size_t begin = 0;
  while (begin < table.rows.size()) {
    size_t end = begin;
    while (end < table.rows.size() && table.rows[end].main == table.rows[begin].main) ++end;
    if (!table.rows[begin].main) {
      // Other threads are sorted by kind; they work beside the main thread, and their shares are of its time.
      std::vector<StageRow> others(table.rows.begin() + static_cast<int64_t>(begin), table.rows.end());
      std::stable_sort(others.begin(), others.end(),
                       [](const StageRow& a, const StageRow& b) { return a.thread < b.thread; });
      for (size_t r = 0; r < others.size();) {
        size_t last = r;
        while (last < others.size() && others[last].thread == others[r].thread) ++last;
        absl::StrAppend(text, "  beside it, ", others[r].num_threads, " ", others[r].thread,
                        others[r].num_threads == 1 ? " thread (time: its own)\n" : " threads (time: added up)\n");
        AppendRows(others, r, last, std::min(max_stages, 5), text);
        r = last;
      }
      break;
    }
    AppendRows(table.rows, begin, end, max_stages, text);
    begin = end;
  }
  const double sum = table.wall_s > 0 ? table.stages_s / table.wall_s : 0;
  absl::StrAppend(text, absl::StrFormat("  stages add up to %.1f %% of the wall time, %.1f %% of it in no scope\n",
                                        100 * sum, table.wall_s > 0 ? 100 * table.other_s / table.wall_s : 0.0));
  if (std::abs(sum - 1) > 0.03) {
    absl::StrAppend(text, "  this is more than 3 % off: do not trust the figures of this process\n");
  }
  if (!record.operators.empty()) {
    std::vector<std::string> operators;
    for (const ProfileOperator& op : record.operators) {
      if (operators.size() == 6) break;
      operators.push_back(absl::StrCat(op.name, " ", SecondsText(op.self_s), " (", op.calls, ")"));
    }
    absl::StrAppend(text, "  operators of LibTorch, self time (calls): ", absl::StrJoin(operators, ", "), "\n");
  }
  absl::StrAppend(text, "  bottleneck: ", BottleneckText(record, table), "\n");
  const std::vector<Advice> advices = Advise(record, table);
  const std::string basis = AdviceBasis(table);
  if (!advices.empty() && !basis.empty()) absl::StrAppend(text, "  advice; shares are ", basis, ":\n");
  for (const Advice& advice : advices) {
    absl::StrAppend(text, "  - ", advice.what, " [", advice.why, "]\n");
  }
}

// Returns the wall time that a process must have to be shown.
double LeastWallShown(const std::vector<ProfileRecord>& records) {
  if (records.size() <= kMaxProcesses) return 0;
  std::vector<double> walls;
  for (const ProfileRecord& record : records) walls.push_back(record.data.wall_s);
  std::sort(walls.rbegin(), walls.rend());
  return walls[kMaxProcesses - 1];
}

// Formats a value with 6 digits; "" for 0.
std::string Cell(double value) { return value > 0 ? absl::StrFormat("%.6g", value) : ""; }

}  // namespace

std::string CommandText(const std::vector<std::string>& command, int width) {
  std::string text = absl::StrJoin(command, " ");
  text = TsvCell(text);
  if (text.size() <= static_cast<size_t>(width)) return text;
  size_t cut = static_cast<size_t>(width) - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a character
  return absl::StrCat(text.substr(0, cut), "...");
}

std::string ProfilePage(const CommandProfile& run, const MachinePeaks& peaks, int max_stages) {
  std::string text = absl::StrCat("command: ", CommandText(run.command, kCommandWidth), "\n         ",
                                  SecondsText(run.wall_s), " wall, ", SecondsText(run.cpu_s), " processor, ",
                                  run.records.size(), run.records.size() == 1 ? " process" : " processes",
                                  " recorded, exit status ", run.exit_status, "\n");
  if (run.cut) absl::StrAppend(&text, "         cut short by --max_time: the figures are of its beginning\n");
  if (!run.records.empty() && run.records.front().machine.machine.usable_processors > 0) {
    absl::StrAppend(&text, MachineText(run.records.front().machine, peaks));
  }
  const double least = LeastWallShown(run.records);
  double left_out_s = 0;
  size_t left_out = 0;
  for (const ProfileRecord& record : run.records) {
    if (record.data.wall_s >= least) {
      AppendProcess(record, peaks, max_stages, &text);
    } else {
      ++left_out;
      left_out_s += record.data.wall_s;
    }
  }
  if (left_out > 0) {
    absl::StrAppend(&text, "\n", left_out, " shorter processes, ", SecondsText(left_out_s),
                    " together: --tsv and --output_dir have them\n");
  }
  const double outside = run.records.size() == 1 ? run.wall_s - run.records[0].data.wall_s : 0;
  if (outside > 0.001 * run.wall_s) {
    absl::StrAppend(&text, absl::StrFormat("  before and after the record (shell, end of the process): %s, %.1f %%\n",
                                           SecondsText(outside), 100 * outside / run.wall_s));
  }
  for (const std::string& note : run.notes) absl::StrAppend(&text, note, "\n");
  return text;
}

std::string StagesTsv(const CommandProfile& run, const MachinePeaks& peaks) {
  std::string text = "process\ttool\tpid\tthread\tstage\tcalls\tself[s]\ttotal[s]\tshare[%]";
  for (int c = 0; c < kNumCounters; ++c) absl::StrAppend(&text, "\t", CounterName(static_cast<Counter>(c)));
  absl::StrAppend(
      &text, "\tflop_rate[Gflop/s]\tbyte_rate[GB/s]\tintensity[flop/B]\tlimit_share[%]\tpeak_rss[B]\tallocations\n");
  for (size_t p = 0; p < run.records.size(); ++p) {
    const ProfileRecord& record = run.records[p];
    for (const StageRow& row : MakeStageTable(record, peaks).rows) {
      absl::StrAppend(&text, p, "\t", TsvCell(record.tool), "\t", record.pid, "\t", TsvCell(row.thread), "\t",
                      TsvCell(row.path), "\t", row.calls,
                      absl::StrFormat("\t%.6f\t%.6f\t%.3f", row.self_s, row.total_s, 100 * row.share));
      for (const double counter : row.counters) {
        absl::StrAppend(&text, "\t", counter > 0 ? absl::StrFormat("%.0f", counter) : "");
      }
      const double seconds = row.rate_s > 0 ? row.rate_s : INFINITY;
      absl::StrAppend(&text, "\t", Cell(Count(row, Counter::kFlop) / seconds / 1e9), "\t",
                      Cell(Count(row, Counter::kBytes) / seconds / 1e9), "\t", Cell(row.roofline.intensity), "\t",
                      Cell(100 * row.roofline.share), "\t",
                      row.peak_rss_bytes > 0 ? absl::StrCat(row.peak_rss_bytes) : "", "\t",
                      row.allocations >= 0 ? absl::StrCat(row.allocations) : "", "\n");
    }
  }
  return text;
}

}  // namespace rutile
