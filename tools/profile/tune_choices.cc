#include "tools/profile/tune_choices.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/file/input_files.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

class Lister {
 public:
  Lister(const TuneData& data, const std::map<std::string, std::string>& settings, int processors)
      : data_(data), settings_(settings), processors_(processors) {}

  TuneCandidates List() {
    many_body_ = !data_.triples && Is("potential", "many-body");
    forces_ = !data_.triples && (Number("force_weight") > 0 || Number("stress_weight") > 0);
    // Without forces, a step needs only features.
    cached_features_ = !data_.triples && (data_.features || (!forces_ && Is("cached_features", "true")));
    // Choices that may be recommended by default come first, the reference last.
    Threads();
    if (!data_.triples) Kept();
    Workers();
    Presets();
    if (!data_.triples) Angular();
    Batches();
    Precision();
    if (forces_) ForceFraction();
    if (Is("compile_mode", "compile")) {
      Try("compile_mode", "none", Effect::kSame, "LibTorch's operations, the reference");
    }
    return std::move(list_);
  }

 private:
  std::string Value(const char* name) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? "" : found->second;
  }
  bool Is(const char* name, const char* value) const { return Value(name) == value; }
  double Number(const char* name) const { return std::atof(Value(name).c_str()); }
  void Try(const char* name, std::string value, Effect effect, std::string note) {
    list_.tried.push_back({{{name, std::move(value)}}, name, effect, std::move(note)});
  }
  void LeaveOut(const char* name, std::string why) { list_.left_out.emplace_back(name, std::move(why)); }

  void Batches() {
    const auto batch = static_cast<int64_t>(Number("batch_size"));
    if (Is("optimizer", "lbfgs") || batch < 1) return LeaveOut("batch_size", "lbfgs takes all examples in a step");
    for (const int64_t times : {4, 2}) {
      Try("batch_size", absl::StrCat(batch * times), Effect::kCourse,
          absl::StrCat(times, " times fewer steps in an epoch: a higher learning rate, or more epochs, may be needed"));
    }
    if (batch >= 4) {
      Try("batch_size", absl::StrCat(batch / 2), Effect::kCourse, "twice the steps in an epoch");
    }
  }

  void Threads() {
    if (processors_ < 2) return LeaveOut("threads", "there is one processor");
    const auto now = static_cast<int>(Number("threads"));
    for (int threads = processors_; threads >= 1; threads /= 2) {
      if (threads == now) continue;
      Try("threads", absl::StrCat(threads), Effect::kSame, data_.triples ? "BLAS rounds otherwise" : "same bits");
      list_.tried.back().thrifty = threads == 1;
    }
  }

  // Adds the choices of keeping features and neighbors in memory.
  void Kept() {
    if (data_.features && !forces_) return LeaveOut("cached_features", "the input is features: they are there already");
    if (!forces_) {
      const bool cached = Is("cached_features", "true");
      Try("cached_features", cached ? "false" : "true", Effect::kSame,
          cached ? "features anew for each batch, less memory" : "features once, kept in memory");
      if (cached) return LeaveOut("cache_neighbors", "features are cached: neighbors serve nothing");
    } else {
      LeaveOut("cached_features", "forces need neighbors, features are not enough");
      if (Is("cache_geometry", "true")) {
        Try("cache_geometry", "false", Effect::kSame, "directions, moments, features anew for each batch, less memory");
        list_.tried.back().thrifty = true;
      }
    }
    if (data_.neighbors) return LeaveOut("cache_neighbors", "the input is neighbors: they are there already");
    const bool cached = Is("cache_neighbors", "true");
    Try("cache_neighbors", cached ? "false" : "true", Effect::kSame,
        cached ? "neighbors anew for each batch, less memory" : "neighbors once, kept in memory");
  }

  void Angular() {
    if (many_body_) return LeaveOut("angular", "many-body potentials have no triplets");
    if (cached_features_ && !forces_) {
      return LeaveOut("angular", "features are cached: they are not computed in training");
    }
    const bool moments = !Is("angular", "triplets");
    Try("angular", moments ? "triplets" : "moments", Effect::kSame, "the same sums, in another order");
  }

  void ForceFraction() {
    if (Number("force_fraction") < 1) return LeaveOut("force_fraction", "the command says it already");
    for (const char* fraction : {"0.25", "0.5"}) {
      Try("force_fraction", fraction, Effect::kAccuracy,
          "learns from that share of the forces in each epoch: costs accuracy");
    }
  }

  void Workers() {
    if (cached_features_ && !forces_) {
      return LeaveOut("num_workers", "features are cached: batches are read in place, workers cannot help");
    }
    if (processors_ < 2) return LeaveOut("num_workers", "there is one processor: a worker would take it from training");
    const auto now = static_cast<int>(Number("num_workers"));
    for (const int workers : {1, 2, 0}) {
      if (workers == now || workers > std::max(1, processors_)) continue;
      Try("num_workers", absl::StrCat(workers), Effect::kSame,
          workers == 0 ? "batches are made by the main thread" : "batches are made ahead; same bits");
    }
  }

  void Precision() {
    const std::string now = Value("precision");
    if (data_.triples) {
      if (now != "bf16-mixed" && !Is("float32_matmul_precision", "high")) {
        Try("precision", "bf16-mixed", Effect::kAccuracy,
            "factors of large products are rounded to 16 bits: costs accuracy");
      }
      if (now != "bf16-mixed" && now != "fp64" && !Is("float32_matmul_precision", "high")) {
        Try("float32_matmul_precision", "high", Effect::kCourse, "factors of large products keep 17 of 24 bits");
      }
      if (now == "fp64") Try("precision", "fp32", Effect::kCourse, "32 bits");
      return;
    }
    if (now == "fp64") {
      Try("precision", "fp32", Effect::kCourse, "32 bits: enough for most potentials");
    } else {
      LeaveOut("precision", "fp32 already; fp64 is slower, and with AMX 16 bits pay from a width of about 32 on");
    }
    int widest = 0;
    for (const absl::string_view width : absl::StrSplit(Value("hidden"), ',')) {
      int nodes = 0;
      if (absl::SimpleAtoi(width, &nodes)) widest = std::max(widest, nodes);
    }
    if (many_body_) return;  // their kernels have no 16 bits
    if (widest >= (Value("compile_mode") == "compile" ? 32 : 200) && !absl::StrContains(now, "mixed")) {
      Try("precision", "bf16-mixed", Effect::kAccuracy, "networks multiply in 16 bits: gradients are good to 1 %");
    }
  }

  void Presets() {
    const std::string mode = Value("compile_mode");
    if (mode != "compile") {
      Try("compile_mode", "compile", Effect::kSame, "fused kernels");
      return LeaveOut("compile_preset", "is of --compile_mode=compile alone");
    }
    if (!data_.triples) {
      for (const char* preset : {"max-autotune", "reduce-overhead", "default"}) {
        if (many_body_ && absl::StrContains(preset, "auto")) continue;  // which tunes networks of features
        if (!Is("compile_preset", preset)) {
          Try("compile_preset", preset, Effect::kSame,
              absl::StrContains(preset, "auto") ? "rounds otherwise" : "same bits");
        }
      }
    }
  }

  const TuneData& data_;
  const std::map<std::string, std::string>& settings_;
  const int processors_;
  bool forces_ = false, cached_features_ = false, many_body_ = false;
  TuneCandidates list_;
};

}  // namespace

const char* EffectName(Effect effect) {
  return effect == Effect::kSame ? "same" : effect == Effect::kCourse ? "course" : "accuracy";
}

TuneData LookAtInputs(const std::vector<std::string>& inputs) {
  TuneData data;
  const absl::StatusOr<std::vector<std::string>> files = ExpandInputs(inputs);
  if (!files.ok()) return data;  // train reports what is wrong with them
  for (const std::string& path : *files) {
    if (!LooksLikeTensorFile(path)) continue;
    const absl::StatusOr<TensorFile> file = LookIntoTensorFile(path);
    if (!file.ok()) continue;
    const absl::StatusOr<FileKind> kind = GetFileKind(*file);
    if (!kind.ok()) continue;
    data.triples |= kind->name == "kg.triples";
    data.features |= kind->name == "atomistic.features";
    data.neighbors |= kind->name == "atomistic.neighbors";
  }
  return data;
}

TuneCandidates ListCandidates(const TuneData& data, const std::map<std::string, std::string>& settings,
                              int processors) {
  return Lister(data, settings, processors).List();
}

}  // namespace rutile
