#include "lib/potential/training/force_sampler.h"

#include <algorithm>

#include "lib/base/random.h"
#include "lib/base/share.h"

namespace rutile {

ForceSampler::ForceSampler(const AtomicData& data, const ForceSamplingOptions& options, absl::Span<const int64_t> train)
    : options_(options) {
  atom_offset_.push_back(0);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    atom_offset_.push_back(atom_offset_.back() + data.num_atoms(s));
    num_sampled_.push_back(data.force(s).empty() ? 0 : data.num_atoms(s));
  }
  for (const int64_t s : train) {
    if (data.force(s).empty()) continue;
    pool_.push_back(s);
    pool_atoms_ += data.num_atoms(s);
  }
  std::sort(pool_.begin(), pool_.end());
  StartEpoch(0);
}

void ForceSampler::StartEpoch(int64_t epoch) {
  if (options_.fraction >= 1) return;
  const int64_t window = options_.resample_epochs == 0 ? 0 : epoch / options_.resample_epochs;
  if (window != window_) Draw(window);
  window_ = window;
}

void ForceSampler::TakeAll() {
  for (const int64_t s : pool_) num_sampled_[s] = atom_offset_[s + 1] - atom_offset_[s];
  share_ = 1;
  window_ = -1;  // so that the next epoch draws its sample again
}

void ForceSampler::Draw(int64_t window) {
  const bool by_atoms = options_.unit == ForceSampleUnit::kAtom;
  const auto units = static_cast<int64_t>(by_atoms ? pool_atoms_ : pool_.size());
  const int64_t wanted = std::min(units, std::max(options_.min_structures, ShareOf(options_.fraction, units)));
  const std::vector<int64_t> order =
      RandomPermutation(units, RandomStream(options_.seed, "force sample", static_cast<uint64_t>(window)));
  for (const int64_t s : pool_) num_sampled_[s] = 0;
  if (by_atoms) {
    TakeAtoms(absl::MakeConstSpan(order).subspan(0, wanted));
  } else {
    for (int64_t k = 0; k < wanted; ++k) {
      const int64_t s = pool_[order[k]];
      num_sampled_[s] = atom_offset_[s + 1] - atom_offset_[s];
    }
  }
  int64_t sampled = 0;
  for (const int64_t s : pool_) sampled += num_sampled_[s];
  share_ = pool_atoms_ == 0 ? 1 : static_cast<double>(sampled) / static_cast<double>(pool_atoms_);
}

void ForceSampler::TakeAtoms(absl::Span<const int64_t> wanted) {
  mask_.assign(atom_offset_.back(), 0);
  std::vector<uint8_t> chosen(pool_atoms_);
  for (const int64_t atom : wanted) chosen[atom] = 1;
  int64_t unit = 0;
  for (const int64_t s : pool_) {
    for (int64_t a = atom_offset_[s]; a < atom_offset_[s + 1]; ++a) {
      mask_[a] = chosen[unit++];
      num_sampled_[s] += mask_[a];
    }
  }
}

absl::Span<const uint8_t> ForceSampler::sampled(int64_t s) const {
  const int64_t n = atom_offset_[s + 1] - atom_offset_[s];
  if (num_sampled_[s] == 0 || num_sampled_[s] == n) return {};
  return absl::MakeConstSpan(mask_).subspan(atom_offset_[s], n);
}

}  // namespace rutile
