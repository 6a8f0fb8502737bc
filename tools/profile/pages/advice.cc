#include "tools/profile/pages/advice.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rutile {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.*f %%", share < 0.0995 ? 1 : 0, 100 * share); }

// Returns the main thread's share in paths of `inner` that lie in a stage `outer`, or are it.
double ShareInside(const StageTable& table, Stage outer, Stage inner) {
  double share = 0;
  for (const StageRow& row : table.rows) {
    if (!row.main || row.name != StageName(inner)) continue;
    const std::string path = absl::StrCat("/", row.path, "/");
    if (absl::StrContains(path, absl::StrCat("/", StageName(outer), "/"))) share += row.share;
  }
  return share;
}

// Returns the share in `outer` and in all stages inside it.
double ShareOfTree(const StageTable& table, Stage outer) {
  double share = 0;
  for (const StageRow& row : table.rows) {
    const std::string path = absl::StrCat("/", row.path, "/");
    if (row.main && absl::StrContains(path, absl::StrCat("/", StageName(outer), "/"))) share += row.share;
  }
  return share;
}

int64_t CallsOf(const StageTable& table, Stage stage) {
  int64_t calls = 0;
  for (const StageRow& row : table.rows) {
    if (row.main && row.name == StageName(stage)) calls += row.calls;
  }
  return calls;
}

// True for the loading and ending of libraries, which no flag changes.
bool IsStartOrEnd(const StageRow& row) {
  return row.main && (row.path == StageName(Stage::kStartup) || row.path == kExitStage);
}

double StartAndEndSeconds(const StageTable& table) {
  double seconds = 0;
  for (const StageRow& row : table.rows) {
    if (IsStartOrEnd(row)) seconds += row.self_s;
  }
  return seconds;
}

// Returns the table with shares of the time between startup and exit.
StageTable WithoutStartAndEnd(StageTable table) {
  const double wall_s = table.wall_s - StartAndEndSeconds(table);
  for (StageRow& row : table.rows) {
    if (wall_s > 0) row.share *= table.wall_s / wall_s;
    if (IsStartOrEnd(row)) row.share = row.self_s = 0;
  }
  table.wall_s = wall_s;
  return table;
}

class Checks {
 public:
  Checks(const ProfileRecord& record, const StageTable& table)
      : record_(record), startup_(ShareOfStage(table, Stage::kStartup)), table_(WithoutStartAndEnd(table)) {}

  std::vector<Advice> Run() {
    for (const std::string& warning : record_.machine.warnings) Say("machine", warning, "found on this machine");
    if (record_.tool == "train") CheckTraining();
    CheckInputs();
    CheckProcessors();
    CheckMemory();
    return std::move(advice_);
  }

 private:
  void Say(const char* name, std::string what, std::string why) {
    advice_.push_back({name, std::move(what), std::move(why)});
  }
  std::string Flag(const char* name) const { return CommandFlag(record_.command, name); }
  double Share(Stage stage) const { return ShareOfStage(table_, stage); }

  bool TrainsEmbeddings() const {
    for (const StageRow& row : table_.rows) {
      for (const Stage stage : {Stage::kEmbedding, Stage::kScores, Stage::kGraph}) {
        if (row.name == StageName(stage)) return true;
      }
    }
    return false;
  }

  void CheckTraining() {
    CheckWaiting();
    const double validation = ShareOfTree(table_, Stage::kValidation);
    if (validation > 0.25) {
      Say("validation", "--check_val_every_n_epoch=5 (or more) validates less often",
          absl::StrCat("validation takes ", Percent(validation)));
    }
    const double features =
        ShareInside(table_, Stage::kMakeBatch, Stage::kFeatures) + ShareInside(table_, Stage::kStep, Stage::kFeatures);
    if (features > 0.05 && Flag("cached_features") != "true") {
      Say("features_again", "--cached_features=true, or featurize once (--cache_max_bytes says what may be kept)",
          absl::StrCat("features are computed anew for each batch: ", Percent(features)));
    }
    const double search =
        ShareInside(table_, Stage::kMakeBatch, Stage::kSearch) + ShareInside(table_, Stage::kStep, Stage::kSearch);
    if (search > 0.05 && Flag("cache_neighbors") != "true") {
      Say("neighbors_again", "--cache_neighbors=true, or cache-neighbors once",
          absl::StrCat("neighbors are searched anew for each batch: ", Percent(search)));
    }
    CheckStepCost();
    const double checkpoint = Share(Stage::kCheckpoint);
    if (checkpoint > 0.05) {
      Say("checkpoint", "--save_interval=60 (or more) writes checkpoints less often",
          absl::StrCat("the main thread spends ", Percent(checkpoint), " on checkpoints"));
    }
    const double log = Share(Stage::kLog);
    if (log > 0.05) {
      Say("log", "--logger=tsv, or a larger --log_every_n_steps", absl::StrCat("logs take ", Percent(log)));
    }
    const double report = Share(Stage::kReport);
    if (report > 0.1) Say("plot", "--plot=false", absl::StrCat("plots take ", Percent(report)));
    if (Flag("precision") == "fp64") {
      Say("precision", "--precision=fp32 halves memory traffic and doubles the peak; errors change by rounding",
          "the command says fp64");
    }
    if (Flag("compile_mode") == "none" || Flag("compile_mode") == "script") {
      Say("compile_mode", "leave --compile_mode out: the fused kernels are for the processor",
          absl::StrCat("the command says --compile_mode=", Flag("compile_mode")));
    }
  }

  void CheckWaiting() {
    const double waiting = Share(Stage::kWaitForData);
    const double making = Share(Stage::kMakeBatch);
    const std::string workers = Flag("num_workers");
    const bool has_workers = !workers.empty() && workers != "0";
    if (waiting > 0.05) {
      Say("wait_for_data",
          has_workers ? "more --num_workers, or prepare the data once" : "--num_workers=2 makes batches ahead",
          absl::StrCat("training waits for data ", Percent(waiting)));
    } else if (has_workers) {
      Say("num_workers", "leave --num_workers out",
          absl::StrCat("workers cannot help: wait for data is ", Percent(waiting)));
    } else if (making > 0.15 && record_.machine.machine.usable_processors > 1) {
      Say("make_batch", "--num_workers=1 makes batches while the last one is learned",
          absl::StrCat("the main thread makes batches itself: ", Percent(making)));
    }
  }

  // A larger batch shares the cost of a step that does not depend on its examples.
  void CheckStepCost() {
    const double around = Share(Stage::kOptimizer) + Share(Stage::kLog) + Share(Stage::kAllReduce);
    const double inside = ShareOfTree(table_, Stage::kStep) + Share(Stage::kForward) + Share(Stage::kBackward);
    if (around > 0.05 && around > 0.2 * inside) {
      Say("batch_size",
          "a larger --batch_size: profile --find_batch_size says which (learning rate and epochs change with it)",
          absl::StrCat("a step's fixed cost (optimizer, sums over processes, log) is ", Percent(around), " beside ",
                       Percent(inside), " for its examples"));
    }
  }

  void CheckInputs() {
    const double parse = Share(Stage::kParse) + Share(Stage::kRead);
    const bool trains = record_.tool == "train";
    double prepared = Share(Stage::kSearch) + Share(Stage::kFeatures);
    for (const Stage repeated : {Stage::kMakeBatch, Stage::kStep, Stage::kValidation}) {
      prepared -= ShareInside(table_, repeated, Stage::kSearch) + ShareInside(table_, repeated, Stage::kFeatures);
    }
    if (trains && parse + prepared > 0.2) {
      Say("prepare", "featurize or cache-neighbors once, and train from their file",
          absl::StrCat("reading and preparing the structures takes ", Percent(parse + prepared)));
    }
    const double hash = Share(Stage::kHash);
    if (hash > 0.1) {
      Say("hash", "nothing to change: the SHA-256 of inputs is read from them once in each run",
          absl::StrCat("hashing inputs takes ", Percent(hash)));
    }
    if (startup_ > 0.3) {
      Say("startup", "profile a longer run: loading libraries is much of this one",
          absl::StrCat("before main: ", Percent(startup_), " of ", SecondsText(record_.data.wall_s)));
    }
  }

  void CheckProcessors() {
    const double threads_wait = Share(Stage::kWaitForThreads);
    if (threads_wait > 0.15) {
      Say("wait_for_threads", "a larger --batch_size, or fewer --threads: there is too little work for each of them",
          absl::StrCat("the main thread waits for others ", Percent(threads_wait)));
    }
    const int processors = record_.machine.machine.usable_processors;
    if (processors < 2 || table_.wall_s < 0.5 || startup_ > 0.3) return;
    const double busy = record_.cpu_s / record_.data.wall_s;
    const double waits = Share(Stage::kWaitForData) + Share(Stage::kAllReduce) + Share(Stage::kWaitForProcesses);
    if (busy < 0.6 * processors && waits < 0.3) {
      const std::string threads = Flag("threads");
      Say("threads",
          threads.empty() || threads == "0" ? "--threads: profile --tune tries others, and larger batches"
                                            : "leave --threads out, so that all processors are used",
          absl::StrFormat("%.1f of %d processors are busy on average", busy, processors));
    }
  }

  void CheckMemory() {
    const int64_t limit = record_.machine.machine.memory_bytes;
    if (limit > 0 && record_.peak_rss_bytes > limit / 5 * 4) {
      Say("memory", "a smaller --batch_size or --cache_max_bytes, or files of features or neighbors, which are mapped",
          absl::StrCat("the process took ", BytesText(record_.peak_rss_bytes), " of ", BytesText(limit)));
    }
    for (const Stage stage : {Stage::kStep, Stage::kForward, Stage::kBackward, Stage::kOptimizer}) {
      int64_t allocations = 0;
      for (const StageRow& row : table_.rows) {
        if (row.main && row.name == StageName(stage)) allocations += std::max<int64_t>(0, row.allocations);
      }
      const int64_t calls = CallsOf(table_, stage);
      // Embeddings have no presets, and train refuses the flag for them.
      if (calls >= 20 && allocations > 10 * calls && !TrainsEmbeddings()) {
        Say("allocations",
            "--compile_mode=compile with --compile_preset=reduce-overhead takes memory before the first step",
            absl::StrFormat("%s allocates %d times a call", StageName(stage), allocations / calls));
      }
    }
  }

  const ProfileRecord& record_;
  const double startup_;
  const StageTable table_;
  std::vector<Advice> advice_;
};

}  // namespace

std::vector<Advice> Advise(const ProfileRecord& record, const StageTable& table) { return Checks(record, table).Run(); }

std::string AdviceBasis(const StageTable& table) {
  const double outside_s = StartAndEndSeconds(table);
  if (outside_s <= 0.01 * table.wall_s) return "";
  return absl::StrCat("of the ", SecondsText(table.wall_s - outside_s), " between startup and exit");
}

std::string BottleneckText(const ProfileRecord& record, const StageTable& table) {
  // Loading libraries is not the tool's work, and waiting for helpers belongs to the stage that they help with.
  const std::string wait = absl::StrCat("/", StageName(Stage::kWaitForThreads));
  const StageRow* largest = nullptr;
  for (const StageRow& row : table.rows) {
    if (!row.main || IsStartOrEnd(row) || absl::EndsWith(row.path, wait)) continue;
    if (largest == nullptr || row.rate_s > largest->rate_s) largest = &row;
  }
  const double outside_s = StartAndEndSeconds(table);
  if (largest == nullptr || largest->rate_s <= 0) return absl::StrCat(record.tool, " recorded no stages");
  std::string text =
      absl::StrCat(record.tool, " spends ", Percent(largest->rate_s / (table.wall_s - outside_s)), " of its time",
                   outside_s > 0.01 * table.wall_s ? " after startup" : "", " in ", largest->path);
  const double waits = 1 - largest->self_s / largest->rate_s;
  if (waits > 0.1) absl::StrAppend(&text, " (", Percent(waits), " of that waits for other threads)");
  const std::string rates = RatesText(*largest);
  if (!rates.empty()) absl::StrAppend(&text, ", ", rates);
  if (largest->roofline.share > 0) {
    absl::StrAppend(&text, ", ", Percent(largest->roofline.share), " of the limit that ",
                    largest->roofline.memory_is_limit ? "memory" : "arithmetic", " sets (", table.RoofOf(*largest).what,
                    ")");
  }
  return text;
}

}  // namespace rutile
