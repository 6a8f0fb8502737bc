#include "lib/distributed/processor_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

struct Place {
  absl::string_view machine;
  int usable = 1;  // at once: a container's quota may be less than its processors
  std::vector<int> processors;
};

absl::StatusOr<Place> Parse(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat("'", text, "' is no process's place"));
  Place place;
  if (words.size() != 3 || !absl::SimpleAtoi(words[1], &place.usable) || place.usable < 1) return wrong;
  place.machine = words[0];
  for (const absl::string_view word : absl::StrSplit(words[2], ',')) {
    place.processors.emplace_back();
    if (!absl::SimpleAtoi(word, &place.processors.back())) return wrong;
  }
  return place;
}

}  // namespace

std::string OwnPlace() {
  std::string machine;
  if (!(std::ifstream("/proc/sys/kernel/random/boot_id") >> machine)) {
    char name[256] = "";
    ::gethostname(name, sizeof(name) - 1);
    machine = name;
  }
  cpu_set_t set;
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) processors.push_back(i);
    }
  }
  if (processors.empty()) processors.push_back(0);
  return absl::StrCat(machine, " ", AvailableProcessors(), " ", absl::StrJoin(processors, ","));
}

absl::StatusOr<int> ProcessorShare(const std::vector<std::string>& places, int rank) {
  ASSIGN_OR_RETURN(const Place own, Parse(places[rank]));
  int here = 0;
  std::map<int, int> users;
  for (const std::string& text : places) {
    ASSIGN_OR_RETURN(const Place place, Parse(text));
    if (place.machine != own.machine) continue;
    ++here;
    for (const int processor : place.processors) ++users[processor];
  }
  double share = 0;
  for (const int processor : own.processors) share += 1.0 / users[processor];
  if (own.usable < static_cast<int>(own.processors.size())) {
    share = std::min(share, static_cast<double>(own.usable) / here);
  }
  return static_cast<int>(share + 1e-9);  // three thirds make one
}

}  // namespace rutile
