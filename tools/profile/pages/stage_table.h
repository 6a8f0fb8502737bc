// Computes the figures of one process's stages, which pages, tables and pictures show.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/profile/record.h"
#include "lib/trace/scope.h"
#include "tools/profile/pages/roofline.h"

namespace rutile {

// One stage path of one thread, or of all threads of a name ("worker" for "worker 1", "worker 2"...).
struct StageRow {
  std::string path;    // "validation/forward"
  std::string name;    // "forward"
  std::string thread;  // "main", "loader"
  bool main = false;
  int num_threads = 1;
  int64_t calls = 0;
  double self_s = 0;   // summed over threads
  double total_s = 0;  // summed over threads
  double share = 0;    // self_s by wall time; for other threads by wall time and number of threads
  // Counters without the stages inside. Those of the main thread include its helpers', for which it waits.
  std::array<double, kNumCounters> counters = {};
  double rate_s = 0;  // time of the counters with waiting for helpers; rates are counters by it
  RooflinePoint roofline;
  int64_t peak_rss_bytes = 0;
  int64_t allocations = -1;
};

// The stages of one process.
struct StageTable {
  double wall_s = 0;
  double stages_s = 0;         // sum over the main thread's stages: wall_s up to rounding
  double other_s = 0;          // main thread's time in no scope
  Roof roof;                   // of stages that do not round to 16 bits
  std::vector<StageRow> rows;  // the main thread's by self_s, the largest first; then the others' in the same order

  std::map<Stage, Roof> roofs;  // of stages that round

  const Roof& RoofOf(const StageRow& row) const {
    for (const auto& [stage, its] : roofs) {
      if (row.name == StageName(stage)) return its;
    }
    return roof;
  }
};

// Makes the table. A counter of the main thread's row is the sum over all threads with the same innermost stage; it is
// divided by self time if the main thread has several paths of that stage.
StageTable MakeStageTable(const ProfileRecord& record, const MachinePeaks& peaks);

// Returns the share of wall time that the main thread spends in stages of this name, in any path.
double ShareOfStage(const StageTable& table, Stage stage);

// Returns rates of the two finest counters that counted, and of flop and bytes, "1.2 M atoms/s, 3.1 Gflop/s"; "" if
// nothing was counted.
std::string RatesText(const StageRow& row);

// Formats a number with a prefix and three digits: 1.2 k, 3.4 M, 5.6 G.
std::string WithPrefix(double value);
// Formats bytes, "301 MB"; "" for 0.
std::string BytesText(int64_t bytes);
// Formats seconds, "12.3 s" or "4.56 ms".
std::string SecondsText(double seconds);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_
