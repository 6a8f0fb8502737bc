#include "lib/potential/model/aenet_file.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/network/network_init.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/atom_networks.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Reads the file as aenet's load_Network_ASCII, load_Setup_ASCII and load_TrnSet_Info_ASCII do, and computes what aenet
// then computes (ff_eval, stp_normalize, aenet_atomic_energy_and_forces).
class AenetNetwork {
 public:
  explicit AenetNetwork(const std::string& text) : in_(text) {
    num_layers_ = Integer();
    Integer();  // the largest number of nodes
    const int64_t num_weights = Integer();
    num_values_ = Integer();
    nodes_ = Integers(num_layers_);
    functions_ = Integers(num_layers_ - 1);
    weight_index_ = Integers(num_layers_);
    value_index_ = Integers(num_layers_);
    weights_ = Numbers(num_weights);
    Line();  // description
    atom_type = Line();
    const int64_t num_environment = Integer();
    for (int64_t i = 0; i < num_environment; ++i) environment.push_back(Line());
    min_distance = Number();
    max_cutoff = Number();
    basis = Line();
    const int64_t num_features = Integer(), num_parameters = Integer();
    Integers(num_features);
    setup = Numbers(num_parameters * num_features);
    Integers(2 * num_features);
    Integer();  // evaluations
    Numbers(num_features);
    Numbers(num_features);
    mean_ = Numbers(num_features);
    square_ = Numbers(num_features);
    Line();
    EXPECT_EQ(Line(), "T");
    scale_ = Number();
    shift_ = Number();
    const int64_t num_types = Integer();
    for (int64_t i = 0; i < num_types; ++i) types_.push_back(Line());
    atomic_energies_ = Numbers(num_types);
    Integer();
    Integer();
    Line();
    EXPECT_EQ(in_.peek(), EOF) << "more than aenet reads";
  }

  double Energy(absl::Span<const double> features) const {
    std::vector<double> values(num_values_, 0.0);
    for (size_t f = 0; f < features.size(); ++f) {
      values[f] = (features[f] - mean_[f]) / std::sqrt(square_[f] - mean_[f] * mean_[f]);
    }
    for (int64_t l = 0; l + 1 < num_layers_; ++l) {
      double* const in = &values[value_index_[l]];
      in[nodes_[l]] = 1;  // multiplies the bias
      for (int64_t o = 0; o < nodes_[l + 1]; ++o) {
        double sum = 0;
        for (int64_t i = 0; i <= nodes_[l]; ++i) sum += weights_[weight_index_[l] + i * nodes_[l + 1] + o] * in[i];
        values[value_index_[l + 1] + o] = Activate(functions_[l], sum);
      }
    }
    const size_t own = std::find(types_.begin(), types_.end(), atom_type) - types_.begin();
    return values[value_index_.back()] / scale_ + shift_ + atomic_energies_[own];
  }

  std::string atom_type, basis;
  std::vector<std::string> environment;
  double min_distance, max_cutoff;
  std::vector<double> setup;

 private:
  static double Activate(int64_t function, double x) {
    const double mtanh = 1.7159 * std::tanh(2.0 / 3 * x);
    const double values[] = {x, std::tanh(x), 1 / (1 + std::exp(-x)), mtanh, mtanh + 0.1 * x};
    return values[function];
  }
  std::string Line() {
    std::string line;
    EXPECT_TRUE(std::getline(in_, line));
    return line;
  }
  int64_t Integer() { return std::stoll(Line()); }
  double Number() { return std::stod(Line()); }
  // Reads a list with four numbers on a line, each in `width` columns after one blank.
  std::vector<std::string> Fields(int64_t count, size_t width) {
    std::vector<std::string> fields;
    for (int64_t i = 0; i < count; ++i) {
      if (i % 4 == 0) line_ = Line();
      const size_t at = i % 4 * (width + 1);
      EXPECT_LE(at + width + 1, line_.size());
      EXPECT_EQ(line_[at], ' ');
      fields.push_back(line_.substr(at + 1, width));
    }
    return fields;
  }
  std::vector<int64_t> Integers(int64_t count) {
    std::vector<int64_t> values;
    for (const std::string& field : Fields(count, 17)) values.push_back(std::stoll(field));
    return values;
  }
  std::vector<double> Numbers(int64_t count) {
    std::vector<double> values;
    for (const std::string& field : Fields(count, 24)) values.push_back(std::stod(field));
    return values;
  }

  std::istringstream in_;
  std::string line_;
  int64_t num_layers_, num_values_;
  std::vector<int64_t> nodes_, functions_, weight_index_, value_index_;
  std::vector<double> weights_, mean_, square_, atomic_energies_;
  std::vector<std::string> types_;
  double scale_, shift_;
};

Potential Example(std::vector<uint8_t> species, std::vector<int> hidden, Activation activation) {
  Potential p;
  p.descriptor.chebyshev().species = std::move(species);
  p.descriptor.chebyshev().rad_order = 3;
  p.descriptor.chebyshev().ang_order = 1;
  const int features = p.descriptor.num_features(),
            num_species = static_cast<int>(p.descriptor.chebyshev().species.size());
  p.shape = {num_species, features, std::move(hidden), activation};
  RandomStream random(5, "aenet");
  p.feature_scaling.num_species = num_species;
  p.feature_scaling.num_features = features;
  for (int i = 0; i < num_species * features; ++i) {
    p.feature_scaling.mean.push_back(3 * random.Normal());
    p.feature_scaling.scale.push_back(std::exp(2 * random.Normal()));
    p.atomic_energies.resize(num_species, -100.0 - i);
  }
  p.feature_scaling.scale[1] = 0;  // constant in training
  // nearly constant: E[x^2] - E[x]^2 has few digits
  p.feature_scaling.scale[2] = 1e7 / std::abs(p.feature_scaling.mean[2]);
  p.energy_scaling = {1.25, -8.5};
  p.parameters = Tensor::Of(InitialNetworkParameters(p.shape, 1));
  return p;
}

TEST(AenetFileTest, EnergiesOfAenetsFormulas) {
  for (const Activation activation :
       {Activation::kLinear, Activation::kTanh, Activation::kSigmoid, Activation::kMtanh, Activation::kTwist}) {
    for (const std::vector<uint8_t>& species : std::vector<std::vector<uint8_t>>{{14}, {22, 8}, {56, 22, 8}}) {
      for (const std::vector<int>& hidden : std::vector<std::vector<int>>{{}, {7}, {16, 5}}) {
        const Potential p = Example(species, hidden, activation);
        AtomNetworks<double> networks(p);
        RandomStream random(7, "features");
        for (uint8_t s = 0; s < species.size(); ++s) {
          const auto text = AenetText(p, s);
          ASSERT_TRUE(text.ok()) << text.status();
          const AenetNetwork aenet(*text);
          const int n = p.shape.num_features;
          std::vector<double> features;
          for (int f = 0; f < n; ++f) {
            const double scale = p.feature_scaling.scale[s * n + f];
            features.push_back(p.feature_scaling.mean[s * n + f] + (scale > 0 ? random.Normal() / scale : 0));
          }
          const double expected = networks.Energies<double>(features, {s}, {});
          EXPECT_NEAR(aenet.Energy(features), expected, 1e-8) << kActivationNames.Name(activation);
        }
      }
    }
  }
}

TEST(AenetFileTest, DescribesTheDescriptor) {
  Potential p = Example({22, 8}, {3}, Activation::kTanh);
  p.descriptor.chebyshev().rad_cutoff = 6.5;
  p.descriptor.chebyshev().ang_cutoff = 4.25;
  const AenetNetwork oxygen(*AenetText(p, 1));
  EXPECT_EQ(oxygen.atom_type, "O");
  EXPECT_THAT(oxygen.environment, ::testing::ElementsAre("Ti", "O"));
  EXPECT_EQ(oxygen.basis, "Chebyshev");
  EXPECT_EQ(oxygen.min_distance, 0.55);
  EXPECT_EQ(oxygen.max_cutoff, 6.5);
  EXPECT_THAT(absl::MakeSpan(oxygen.setup).first(5), ::testing::ElementsAre(6.5, 3, 4.25, 1, 0));
}

TEST(AenetFileTest, RefusesWhatAenetLacks) {
  Potential p = Example({22, 8}, {3}, Activation::kSilu);
  EXPECT_THAT(std::string(AenetText(p, 0).status().message()), HasSubstr("no activation \"silu\""));
  const std::string directory = ::testing::TempDir() + "/refused";
  EXPECT_FALSE(WriteAenetPotentials(directory, p).ok());
  EXPECT_FALSE(FileContents::Open(directory + "/Ti.nn.ascii").ok());
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.descriptor.chebyshev().ang_cutoff = p.descriptor.chebyshev().rad_cutoff + 0.5;
  EXPECT_THAT(std::string(AenetText(p, 0).status().message()), HasSubstr("an angular cutoff (6.5 Angstrom) above"));
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.descriptor.chebyshev().nearer = {{2, 2}};
  EXPECT_THAT(std::string(AenetText(p, 0).status().message()), HasSubstr("aenet has one angular cutoff"));
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.repulsion = {{1, 1, 1, 1}, {2, 2, 2, 2}};
  EXPECT_THAT(std::string(AenetText(p, 0).status().message()), HasSubstr("--zbl"));
}

TEST(AenetFileTest, WritesAFileForEachSpecies) {
  const Potential p = Example({22, 8}, {3}, Activation::kTanh);
  const std::string directory = ::testing::TempDir() + "/new/aenet";
  ASSERT_TRUE(WriteAenetPotentials(directory, p).ok());
  EXPECT_EQ(FileContents::Open(directory + "/Ti.nn.ascii")->data(), *AenetText(p, 0));
  EXPECT_EQ(FileContents::Open(directory + "/O.nn.ascii")->data(), *AenetText(p, 1));
}

}  // namespace
}  // namespace rutile
