// The stages of one process as figures: what a page, a table or a picture shows of them.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/profile/record.h"
#include "lib/trace/scope.h"
#include "tools/profile/pages/roofline.h"

namespace rutile {

// One place of one thread, or of all threads of a name ("worker" for "worker 1", "worker 2"...).
struct StageRow {
  std::string path;    // "validation/forward"
  std::string name;    // "forward"
  std::string thread;  // "main", "loader"
  bool main = false;
  int num_threads = 1;
  int64_t calls = 0;
  double self_s = 0;   // added up over threads
  double total_s = 0;  // likewise
  double share = 0;    // self_s of the main thread by the wall time; of others by wall time and number of threads
  // Of all threads where the row is the main thread's, which waits for those that help it: without stages inside.
  std::array<double, kNumCounters> counters = {};
  double rate_s = 0;  // time that the counters took, waiting for helpers included: counters by it are rates
  RooflinePoint roofline;
  int64_t peak_rss_bytes = 0;
  int64_t allocations = -1;
};

struct StageTable {
  double wall_s = 0;
  double stages_s = 0;         // of the main thread, added up: wall_s but for rounding
  double other_s = 0;          // of it, in no scope
  Roof roof, rounded_roof;     // of stages, and of those that round to bfloat16 by themselves
  std::vector<StageRow> rows;  // of the main thread by self_s, the largest first; then of the others, likewise

  const Roof& RoofOf(const StageRow& row) const {
    return row.name == StageName(Stage::kRoundedScores) ? rounded_roof : roof;
  }
};

// A counter of the main thread's row is that of all threads with the same innermost stage, shared out by self time
// where the main thread has several places of that stage.
StageTable MakeStageTable(const ProfileRecord& record, const MachinePeaks& peaks);

// Share of wall time that the main thread spends in stages of this name, wherever they are.
double ShareOfStage(const StageTable& table, Stage stage);

// "1.2 M atoms/s, 3.1 Gflop/s": flop and bytes, and the finest of the other counters; "" when nothing was counted.
std::string RatesText(const StageRow& row);

// 1.2 k, 3.4 M, 5.6 G: three digits.
std::string WithPrefix(double value);
// "301 MB"; "" for 0.
std::string BytesText(int64_t bytes);
// "12.3 s", "4.56 ms".
std::string SecondsText(double seconds);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_STAGE_TABLE_H_
