// What --tune tries: the choices of the performance guide that this run has.

#ifndef RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_
#define RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/profile/search/tune_search.h"

namespace rutile {

// What a choice does to what is learned.
enum class Effect {
  kSame,      // the same numbers, to rounding
  kCourse,    // another course of training, no less accurate as a rule
  kAccuracy,  // costs accuracy
};

// "same", "course", "accuracy".
const char* EffectName(Effect effect);

struct TuneCandidate {
  TuneFlags flags;
  std::string dimension;
  Effect effect = Effect::kSame;
  std::string note;
  bool thrifty = false;  // takes less of the machine
};

struct TuneCandidates {
  std::vector<TuneCandidate> tried;  // what promises most comes first
  // What is not tried, and why: "num_workers", "features are cached: batches are read in place".
  std::vector<std::pair<std::string, std::string>> left_out;
};

// What is trained, and from which kind of file.
struct TuneData {
  bool triples = false, features = false, neighbors = false;
};
TuneData LookAtInputs(const std::vector<std::string>& inputs);

// settings: every flag of the run in effect (TrialResult::settings). processors: that may be used.
TuneCandidates ListCandidates(const TuneData& data, const std::map<std::string, std::string>& settings, int processors);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TUNE_CHOICES_H_
