#include "tools/tracin/tracin_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/base/status_macros.h"
#include "lib/file/input_files.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/machine/memory.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/precision.h"
#include "tools/common/flags/parse_shard.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/parameter_flags.h"
#include "tools/tracin/shard_processes.h"

DEFINE_string(train, "",
              "Training data, a file or several with commas between: what the run was trained on, or a part of it.");
DEFINE_string(test, "",
              "Tests, a file or several with commas between: triples (a .safetensors file, or TSV), or structures in "
              "any form.");
DEFINE_string(model, "",
              "Model file of the run, for names, descriptor and scales. Empty: best.safetensors or last.safetensors in "
              "the checkpoints' run directory, or the models that are given in their place.");
DEFINE_string(mode, "",
              "test: influence on each test; single: on those of --test_indices alone; self: of each training example "
              "on itself; leave-one-out: the error of each training structure as if it had been left out; curvature: "
              "the curvature of the loss, for the uncertainty of predictions (evaluate --uncertainty), to --output, "
              "calibrated on --test or, without it, the run's validation structures. Empty: test, or what --self and "
              "--test_indices imply.");
DEFINE_bool(self, false, "Short for --mode=self: finds training data that is mislabeled or out of place.");
DEFINE_bool(merge, false,
            "Arguments are influence files: the shards of one computation become one, and the tables are written.");
DEFINE_string(
    test_quantity, "auto",
    "What is differentiated of a test. loss; triples also score, margin (the score less the logarithm of the sum of "
    "exponentials of the others' that are not known) and difference:ENTITY (less the score of this tail); structures "
    "also energy (predicted, eV), "
    "atom-force (squared error of the force on --test_atom), force-component (predicted, of --test_atom along "
    "--test_component). auto: loss; of structures with --precondition=gauss-newton, ek-fac or --unrolled "
    "energy.");
DEFINE_string(test_indices, "", "With --mode=single: numbers of tests, from 0, with commas between. Empty: 0.");
DEFINE_int64(max_tests, 0, "Only the first so many tests. 0: all.");
DEFINE_int64(max_test_triples, 0, "The same as --max_tests.");
DEFINE_int64(top_k, 10, "Training examples listed for each test (with --self: in all). 0: all.");
DEFINE_string(rank, "absolute",
              "Which are listed: absolute (largest by absolute value); proponents, which helped the test (highest "
              "scores; with --test_quantity=score, margin or difference:ENTITY lowest); opponents (the other end); or "
              "both (so many of each, by descending score).");
DEFINE_string(normalize, "none",
              "none: TracIn; cosine: by both gradients' lengths, at each checkpoint; relatif: by the training "
              "example's.");
DEFINE_string(
    precondition, "none",
    "adam: each product of two numbers of the gradients is divided by sqrt(v) + epsilon of the run's Adam, as "
    "its steps were; gauss-newton: by the curvature of the training loss, so that a score is by how much the test's "
    "quantity changes if the example is left out (of triples in blocks, of each row of the tables); ek-fac: "
    "structures, by that curvature in blocks of layers and species (EK-FAC), which is less right and costs less where "
    "parameters and outputs are many.");
DEFINE_bool(unrolled, false,
            "Structures: the exact derivative of a test by the weight of each training structure, back through all "
            "steps of the run, in place of sums over checkpoints. Steps between two checkpoints are taken again.");
DEFINE_string(rates, "auto",
              "What each checkpoint's products are multiplied by: interval, the sum of the learning rates of the steps "
              "since the checkpoint before, for which it stands; checkpoint, the rate of its last step. auto: interval "
              "where all checkpoints hold that sum.");
DEFINE_double(learning_rate, std::numeric_limits<double>::quiet_NaN(),
              "What each checkpoint's products are multiplied by, in place of the learning rate that it holds. Needed "
              "for model files, which hold none.");
DEFINE_bool(aggregate, false, "Influence on the sum over all tests, as one.");
DEFINE_string(test_weights, "",
              "File with a number for each test, its weight in that sum (white space between, # comments). Implies "
              "--aggregate.");
DEFINE_double(sample_rate, 1, "Share of the training examples to go through, drawn by --seed.");
DEFINE_string(stratify_by, "",
              "Draws that share of each relation, head or tail (triples), or config_type (structures).");
DEFINE_uint64(seed, 0, "Of drawn training examples, of projections and of --verify.");
DEFINE_string(shard, "1/1", "i/n: only the i-th of n parts of the training examples; --merge joins their outputs.");
DEFINE_int32(num_processes, 1,
             "Processes to start on this machine, 1 to 1024, each for a shard of the training examples. Their outputs "
             "become one, as of --shard and --merge.");
DEFINE_validator(num_processes, [](const char*, int32_t value) { return value >= 1 && value <= 1024; });
DEFINE_string(
    precision, "auto",
    "auto (as the parameters), fp32, fp64, or bf16 (triples: factors of large products are rounded, but in the "
    "forward pass; scores are then wrong by some 1e-4 of |g||g'|, and it pays with AMX): of gradients and "
    "products. Sums over checkpoints are fp64.");
DEFINE_bool(use_mixed_precision, false, "Short for --precision=bf16, where the processor has it; else fp32.");
DEFINE_string(device, "cpu", "cpu.");
DEFINE_int64(
    max_bytes, 0,
    "Memory for checkpoints, and as much again for what is held of tests: more checkpoints take turns, more tests "
    "take further passes over the training data. 0: a quarter of the machine's.");
DEFINE_bool(strict, false, "What is warned of (data that changed since training) is an error.");
DEFINE_int64(
    verify, 0,
    "First compare so many products of gradients, of pairs drawn by --seed, with one backward pass of LibTorch "
    "for each example. Exit with status 2 if they differ.");
DEFINE_bool(resume, false, "Go on where a run with this --output was stopped; start where there is none.");
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

// What users write. Influence files have names of their own.
constexpr absl::string_view kModeWords[] = {"test", "single", "self", "leave-one-out", "curvature"};
constexpr EnumNames<TracinMode> kModeNames("tracin cannot compute", kModeWords);  // kMerge is a flag of its own
constexpr absl::string_view kRankWords[] = {"proponents", "opponents", "absolute", "both"};
constexpr EnumNames<InfluenceRanking> kRankNames("examples cannot be listed by", kRankWords);
constexpr absl::string_view kNormalizeWords[] = {"none", "cosine", "relatif"};
constexpr EnumNames<InfluenceNormalization> kNormalizeNames("scores cannot be normalized by", kNormalizeWords);
constexpr absl::string_view kPreconditionWords[] = {"none", "adam", "gauss-newton", "ek-fac"};
constexpr EnumNames<Precondition> kPreconditionNames("gradients cannot be preconditioned by", kPreconditionWords);
constexpr absl::string_view kRatesWords[] = {"auto", "interval", "checkpoint"};
constexpr EnumNames<CheckpointRates> kRatesNames("checkpoints cannot count by", kRatesWords);

absl::Status Expected(const char* flag, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": expected ", expected));
}

absl::StatusOr<TracinMode> ModeFromFlags() {
  if (FLAGS_merge) {
    RETURN_IF_ERROR(RefuseFlags("with --merge, which computes nothing", {"mode", "self"}));
    return TracinMode::kMerge;
  }
  if (FLAGS_mode.empty()) {
    if (FLAGS_self) return TracinMode::kSelf;
    return FlagGiven("test_indices") ? TracinMode::kSingle : TracinMode::kTests;
  }
  ASSIGN_OR_RETURN(const TracinMode mode, ParseFlagChoice("mode", FLAGS_mode, kModeNames));
  if (FLAGS_self && mode != TracinMode::kSelf) {
    return absl::InvalidArgumentError(absl::StrCat("--self and --mode=", FLAGS_mode, " exclude each other"));
  }
  return mode;
}

// Refuses flags without effect in the mode.
absl::Status RefuseOfMode(TracinMode mode) {
  switch (mode) {
    case TracinMode::kMerge:
      return RefuseFlags("with --merge, which computes nothing",
                         {"test_indices", "max_tests",      "max_test_triples", "top_k",
                          "rank",         "normalize",      "precondition",     "learning_rate",
                          "aggregate",    "test_weights",   "sample_rate",      "stratify_by",
                          "seed",         "shard",          "num_processes",    "precision",
                          "device",       "max_bytes",      "verify",           "use_mixed_precision",
                          "resume",       "projection_dim", "projection_type",  "rates",
                          "damping",      "probes",         "unrolled"});
    case TracinMode::kLeaveOneOut:
      return RefuseFlags("with --mode=leave-one-out",
                         {"test",          "test_indices",  "max_tests",      "max_test_triples",
                          "test_quantity", "rank",          "normalize",      "top_k",
                          "aggregate",     "test_weights",  "sample_rate",    "stratify_by",
                          "shard",         "rates",         "num_processes",  "resume",
                          "verify",        "learning_rate", "projection_dim", "projection_type",
                          "output",        "csv_output",    "json_output",    "output_per_triple",
                          "skip_existing", "precondition",  "blocks",         "probes"});
    case TracinMode::kCurvature:
      return RefuseFlags("with --mode=curvature", {"test_indices",
                                                   "max_tests",
                                                   "max_test_triples",
                                                   "test_quantity",
                                                   "rank",
                                                   "normalize",
                                                   "top_k",
                                                   "aggregate",
                                                   "test_weights",
                                                   "sample_rate",
                                                   "stratify_by",
                                                   "shard",
                                                   "rates",
                                                   "num_processes",
                                                   "resume",
                                                   "verify",
                                                   "learning_rate",
                                                   "projection_dim",
                                                   "projection_type",
                                                   "csv_output",
                                                   "json_output",
                                                   "skip_existing",
                                                   "precondition",
                                                   "blocks",
                                                   "output_per_triple"});
    case TracinMode::kSelf:
      return RefuseFlags("with --self", {"test", "test_indices", "max_tests", "max_test_triples", "rank", "normalize",
                                         "aggregate", "test_weights"});
    case TracinMode::kSingle:
      return RefuseFlags("with --mode=single, where --test_indices chooses tests", {"max_tests", "max_test_triples"});
    case TracinMode::kTests:
      return RefuseFlags("with --mode=test: --mode=single takes single tests", {"test_indices"});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> TestIndices() {
  std::vector<int64_t> indices;
  if (FLAGS_test_indices.empty()) return std::vector<int64_t>{0};
  for (const absl::string_view text : absl::StrSplit(FLAGS_test_indices, ',')) {
    int64_t index = -1;
    if (!absl::SimpleAtoi(text, &index) || index < 0) {
      return Expected("test_indices", FLAGS_test_indices, "numbers from 0 on with commas between");
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      return Expected("test_indices", FLAGS_test_indices, absl::StrCat("each once, but ", index, " comes twice"));
    }
    indices.push_back(index);
  }
  return indices;
}

// Refuses what has no meaning for derivatives through a run.
absl::Status RefuseWithUnrolled(TracinMode mode) {
  constexpr char kWhy[] = "with --unrolled";
  if (mode != TracinMode::kTests && mode != TracinMode::kSingle) {
    return absl::InvalidArgumentError(
        "--unrolled: is of tests: leave out --self, --merge and modes other than test and "
        "single");
  }
  RETURN_IF_ERROR(RefuseFlags("with --unrolled, which moves all parameters as the run did",
                              {"precondition", "normalize", "learning_rate", "rates", "projection_dim",
                               "projection_type", "precision", "use_mixed_precision", "term_weights", "verify"}));
  RETURN_IF_ERROR(
      RefuseFlags("with --unrolled, of which one pass has the scores of all structures", {"shard", "num_processes"}));
  return RefuseParameterFlags(kWhy);
}

absl::Status SetScoring(TracinFlags* flags) {
  TracInOptions& options = flags->options;
  flags->unrolled = FLAGS_unrolled;
  if (flags->unrolled) RETURN_IF_ERROR(RefuseWithUnrolled(flags->mode));
  ASSIGN_OR_RETURN(options.ranking, ParseFlagChoice("rank", FLAGS_rank, kRankNames));
  ASSIGN_OR_RETURN(options.normalization, ParseFlagChoice("normalize", FLAGS_normalize, kNormalizeNames));
  ASSIGN_OR_RETURN(const Precondition precondition, PreconditionFromFlag());
  flags->adam = precondition == Precondition::kAdam;
  flags->ek_fac = precondition == Precondition::kEkFac;
  flags->gauss_newton = precondition == Precondition::kGaussNewton || flags->ek_fac ||
                        flags->mode == TracinMode::kLeaveOneOut || flags->mode == TracinMode::kCurvature;
  if (flags->gauss_newton) {
    const std::string with = absl::StrCat("with ", flags->CurvatureFlag());
    RETURN_IF_ERROR(
        RefuseFlags(absl::StrCat(with, ", whose scores are the mean over checkpoints"), {"learning_rate", "rates"}));
    RETURN_IF_ERROR(RefuseFlags(with, {"projection_dim", "projection_type", "verify"}));
  }
  ASSIGN_OR_RETURN(flags->checkpoint_rates, ParseFlagChoice("rates", FLAGS_rates, kRatesNames));
  if (FLAGS_top_k < 0) return Expected("top_k", absl::StrCat(FLAGS_top_k), "1 or more, or 0 for all");
  options.top_k = FLAGS_top_k;
  if (FlagGiven("learning_rate")) {
    if (!std::isfinite(FLAGS_learning_rate) || FLAGS_learning_rate <= 0) {
      return Expected("learning_rate", absl::StrCat(FLAGS_learning_rate), "a number above 0");
    }
    RETURN_IF_ERROR(RefuseFlags("with --learning_rate, which each checkpoint's products are multiplied by", {"rates"}));
    flags->learning_rate = FLAGS_learning_rate;
  }
  if (FLAGS_max_bytes < 0) return Expected("max_bytes", absl::StrCat(FLAGS_max_bytes), "bytes, or 0");
  options.memory_limit = FLAGS_max_bytes > 0 ? FLAGS_max_bytes : MemoryLimit() / 4;
  options.memory_limit = std::max<int64_t>(1, options.memory_limit / FLAGS_num_processes);
  options.threads = ThreadsFromFlags();
  options.scores = flags->has_tests();
  options.test_self = options.scores && !flags->unrolled;
  options.train_self = flags->mode == TracinMode::kSelf;
  return absl::OkStatus();
}

absl::Status SetPrecision(TracinFlags* flags) {
  if (FLAGS_device != "cpu") {
    return Expected(
        "device", FLAGS_device,
        "cpu: products of gradients are computed by kernels for the processor, which need no GPU to be done "
        "in seconds");
  }
  const absl::StatusOr<Precision> precision =
      ParsePrecision(FLAGS_precision, {Precision::kAuto, Precision::kFp32, Precision::kFp64, Precision::kBf16});
  if (!precision.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision=", FLAGS_precision, ": ", precision.status().message()));
  }
  flags->precision = *precision;
  if (!FLAGS_use_mixed_precision) return absl::OkStatus();
  RETURN_IF_ERROR(RefuseFlags("with --use_mixed_precision", {"precision"}));
  const std::string instructions = CpuBf16Instructions();
  flags->precision = instructions.empty() ? Precision::kFp32 : Precision::kBf16;
  PrintMessage(instructions.empty()
                   ? "--use_mixed_precision: the processor has no instructions for bfloat16: fp32 is used"
                   : absl::StrCat("--use_mixed_precision: --precision=bf16, with ", instructions));
  return absl::OkStatus();
}

absl::Status SetSampling(TracinFlags* flags) {
  flags->sampling.rate = FLAGS_sample_rate;
  flags->sampling.seed = flags->seed = FLAGS_seed;
  if (!(FLAGS_sample_rate > 0 && FLAGS_sample_rate <= 1)) {
    return Expected("sample_rate", absl::StrCat(FLAGS_sample_rate), "a share above 0, at most 1");
  }
  if (FLAGS_sample_rate == 1) RETURN_IF_ERROR(RefuseFlags("without --sample_rate below 1", {"stratify_by"}));
  flags->stratify_by = FLAGS_stratify_by;
  return absl::OkStatus();
}

// Sets the share of the work, or the number of processes that divide it.
absl::Status SetShares(TracinFlags* flags) {
  RETURN_IF_ERROR(ParseShard(FLAGS_shard, &flags->shard, &flags->num_shards));
  if (FLAGS_num_processes == 1) return absl::OkStatus();
  RETURN_IF_ERROR(RefuseFlags("with --num_processes, each of which takes a shard", {"shard"}));
  const std::optional<ShardProcess> process = ThisShardProcess();
  if (!process.has_value()) {
    flags->num_processes = FLAGS_num_processes;
    std::vector<std::string> inputs = flags->train;
    inputs.insert(inputs.end(), flags->test.begin(), flags->test.end());
    inputs.push_back(FLAGS_test_weights);
    return CheckReadableByAll(inputs);
  }
  SetMessageRank(process->shard - 1, /*rank_0_leads=*/false);
  TakeProcessors(AvailableProcessors() / FLAGS_num_processes);
  flags->part = process->part;
  flags->shard = process->shard;
  flags->num_shards = FLAGS_num_processes;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Files(const std::string& text) {
  if (text.empty()) return std::vector<std::string>();
  return ExpandInputs(SplitInputs(text));
}

absl::Status SetTests(TracinFlags* flags) {
  if (flags->mode == TracinMode::kSingle) {
    ASSIGN_OR_RETURN(flags->test_indices, TestIndices());
  }
  if (FlagGiven("max_tests") && FlagGiven("max_test_triples")) {
    return absl::InvalidArgumentError("--max_tests and --max_test_triples are the same: leave one out");
  }
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"max_tests", FLAGS_max_tests},
                                    std::pair<const char*, int64_t>{"max_test_triples", FLAGS_max_test_triples}}) {
    if (value < 0) return Expected(name, absl::StrCat(value), "1 or more, or 0 for all");
    flags->max_tests = std::max(flags->max_tests, value);
  }
  flags->test_weights = FLAGS_test_weights;
  flags->aggregate = FLAGS_aggregate || !FLAGS_test_weights.empty();
  if (!FLAGS_test_weights.empty() && FlagGiven("aggregate") && !FLAGS_aggregate) {
    return absl::InvalidArgumentError("--test_weights and --aggregate=false exclude each other");
  }
  return absl::OkStatus();
}

}  // namespace

std::string TracinFlags::CurvatureFlag() const {
  return absl::StrCat("--precondition=",
                      kPreconditionNames.Name(ek_fac ? Precondition::kEkFac : Precondition::kGaussNewton));
}

absl::StatusOr<Precondition> PreconditionFromFlag() {
  return ParseFlagChoice("precondition", FLAGS_precondition, kPreconditionNames);
}

absl::StatusOr<TracinFlags> TracinFlagsFromFlags() {
  TracinFlags flags;
  ASSIGN_OR_RETURN(flags.mode, ModeFromFlags());
  RETURN_IF_ERROR(RefuseOfMode(flags.mode));
  if (flags.mode != TracinMode::kMerge && FLAGS_train.empty()) {
    return absl::InvalidArgumentError("needs --train: the data that the run was trained on");
  }
  if (flags.has_tests() && FLAGS_test.empty()) {
    return absl::InvalidArgumentError("needs --test (or --self, for the training data's influence on itself)");
  }
  ASSIGN_OR_RETURN(flags.train, Files(FLAGS_train));
  ASSIGN_OR_RETURN(flags.test, Files(FLAGS_test));
  RETURN_IF_ERROR(SetShares(&flags));
  RETURN_IF_ERROR(SetTests(&flags));
  RETURN_IF_ERROR(SetScoring(&flags));
  RETURN_IF_ERROR(SetPrecision(&flags));
  RETURN_IF_ERROR(SetSampling(&flags));
  if (FLAGS_verify < 0) return Expected("verify", absl::StrCat(FLAGS_verify), "a number of pairs, or 0");
  flags.verify = flags.part.empty() ? FLAGS_verify : 0;  // the parent process verifies
  flags.model = FLAGS_model;
  flags.resume = FLAGS_resume;
  flags.strict = FLAGS_strict;
  flags.progress = FLAGS_progress;
  return flags;
}

absl::Status WarnOrRefuse(const TracinFlags& flags, const std::string& what) {
  if (flags.strict) return absl::InvalidArgumentError(what);
  PrintWarning(what);
  return absl::OkStatus();
}

}  // namespace rutile
