// Lists the choices of the performance guide that --tune tries for a run.

#ifndef RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_
#define RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/profile/search/tune_search.h"

namespace rutile {

// How a choice changes the results of training.
enum class Effect {
  kSame,      // the same numbers, up to rounding
  kCourse,    // another course of training, usually no less accurate
  kAccuracy,  // costs accuracy
};

// Returns "same", "course" or "accuracy".
const char* EffectName(Effect effect);

// A choice of flags to try.
struct TuneCandidate {
  TuneFlags flags;
  std::string dimension;
  Effect effect = Effect::kSame;
  std::string note;
  bool thrifty = false;  // uses less of the machine
};

// The choices for a run.
struct TuneCandidates {
  std::vector<TuneCandidate> tried;  // the most promising ones first
  // Choices that are not tried, and why: "num_workers", "features are cached: batches are read in place".
  std::vector<std::pair<std::string, std::string>> left_out;
};

// The kinds of the input files, which tell what is trained.
struct TuneData {
  bool triples = false, features = false, neighbors = false;
};
// Finds the kinds of the inputs.
TuneData LookAtInputs(const std::vector<std::string>& inputs);

// Lists the choices. settings: every flag of the run in effect (TrialResult::settings). processors: the number that may
// be used.
TuneCandidates ListCandidates(const TuneData& data, const std::map<std::string, std::string>& settings, int processors);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_
