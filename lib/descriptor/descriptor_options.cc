#include "lib/descriptor/descriptor_options.h"

#include <nlohmann/json.hpp>

#include "lib/base/logging.h"

namespace rutile {

const ChebyshevOptions& DescriptorOptions::chebyshev() const {
  CHECK(is_chebyshev()) << ToJson();
  return std::get<ChebyshevOptions>(options_);
}

ChebyshevOptions& DescriptorOptions::chebyshev() {
  CHECK(is_chebyshev()) << ToJson();
  return std::get<ChebyshevOptions>(options_);
}

const MomentOptions& DescriptorOptions::moments() const {
  CHECK(!is_chebyshev()) << ToJson();
  return std::get<MomentOptions>(options_);
}

MomentOptions& DescriptorOptions::moments() {
  CHECK(!is_chebyshev()) << ToJson();
  return std::get<MomentOptions>(options_);
}

const std::vector<uint8_t>& DescriptorOptions::species() const {
  return is_chebyshev() ? chebyshev().species : moments().species;
}

void DescriptorOptions::set_species(std::vector<uint8_t> species) {
  std::visit([&species](auto& options) { options.species = std::move(species); }, options_);
}

int DescriptorOptions::num_features() const {
  return std::visit([](const auto& options) { return options.num_features(); }, options_);
}

double DescriptorOptions::cutoff() const { return is_chebyshev() ? chebyshev().cutoff() : moments().cutoff; }

double DescriptorOptions::min_cutoff() const {
  return std::visit([](const auto& options) { return options.min_cutoff; }, options_);
}

double DescriptorOptions::triplet_cutoff() const { return is_chebyshev() ? chebyshev().ang_cutoff : 0; }

absl::Status DescriptorOptions::Validate() const {
  return std::visit([](const auto& options) { return options.Validate(); }, options_);
}

std::string DescriptorOptions::ToJson() const {
  return std::visit([](const auto& options) { return options.ToJson(); }, options_);
}

absl::StatusOr<DescriptorOptions> DescriptorOptions::FromJson(absl::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("type") && json["type"] == "moments") return MomentOptions::FromJson(text);
  return ChebyshevOptions::FromJson(text);
}

}  // namespace rutile
