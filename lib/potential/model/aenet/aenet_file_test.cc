#include "lib/potential/model/aenet/aenet_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/file/file.h"
#include "lib/network/network_init.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/aenet/aenet_network.h"
#include "lib/potential/model/atom_networks.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Reads the text as aenet's load_Network_ASCII, load_Setup_ASCII and load_TrnSet_Info_ASCII do, and computes what aenet
// then computes (ff_eval, stp_normalize, aenet_atomic_energy_and_forces).
class TextNetwork {
 public:
  explicit TextNetwork(const std::string& text) : in_(text) {
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
          const auto network = ToAenet(p, s);
          ASSERT_TRUE(network.ok()) << network.status();
          const TextNetwork aenet(AenetText(*network));
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
  const TextNetwork oxygen(AenetText(*ToAenet(p, 1)));
  EXPECT_EQ(oxygen.atom_type, "O");
  EXPECT_THAT(oxygen.environment, ::testing::ElementsAre("Ti", "O"));
  EXPECT_EQ(oxygen.basis, "Chebyshev");
  EXPECT_EQ(oxygen.min_distance, 0.55);
  EXPECT_EQ(oxygen.max_cutoff, 6.5);
  EXPECT_THAT(absl::MakeSpan(oxygen.setup).first(5), ::testing::ElementsAre(6.5, 3, 4.25, 1, 0));
}

// Takes the records of a binary file apart, knowing what each holds, and prints them as aenet's text.
std::string TextOfRecords(absl::string_view bytes) {
  // i: a number, I: a list of them, d and D: the same in floating point, t: characters, c: symbols of species, l: a
  // flag, 3: three numbers. Network, setup, training set.
  const std::string kinds =
      "iiiiIIIID"
      "tcicddtiiIDIiDDDD"
      "tlddicDii3";
  std::string out;
  const auto number = [&](size_t at, auto* value) { std::memcpy(value, bytes.data() + at, sizeof(*value)); };
  size_t at = 0;
  for (const char kind : kinds) {
    int32_t length = 0, again = 0;
    EXPECT_LE(at + 8, bytes.size());
    number(at, &length);
    at += 4;
    const size_t end = at + length;
    if (kind == 't') {
      absl::StrAppend(&out, absl::StripAsciiWhitespace(bytes.substr(at, length)), "\n");
    } else if (kind == 'c') {
      for (; at < end; at += 2) absl::StrAppend(&out, absl::StripAsciiWhitespace(bytes.substr(at, 2)), "\n");
    } else if (kind == 'l') {
      absl::StrAppend(&out, bytes[at] == 1 ? "T\n" : "F\n");
    } else {
      const bool is_integer = kind == 'i' || kind == 'I', is_list = kind == 'I' || kind == 'D';
      const size_t size = is_integer ? 4 : 8, count = length / size;
      EXPECT_EQ(length % size, 0u);
      for (size_t k = 0; k < count; ++k, at += size) {
        int32_t integer = 0;
        double real = 0;
        is_integer ? number(at, &integer) : number(at, &real);
        char text[64];
        if (is_integer) std::snprintf(text, sizeof(text), is_list ? " %17d" : "%d", integer);
        if (!is_integer) std::snprintf(text, sizeof(text), is_list ? " %24.17E" : "%.17g", real);
        const bool ends = k + 1 == count || (is_list && k % 4 == 3);
        absl::StrAppend(&out, text, ends ? "\n" : is_list ? "" : " ");
      }
    }
    number(end, &again);
    EXPECT_EQ(again, length);
    at = end + 4;
  }
  EXPECT_EQ(at, bytes.size());
  return out;
}

void ExpectEqual(const AenetNetwork& a, const AenetNetwork& b) {
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.functions, b.functions);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.description, b.description);
  EXPECT_EQ(a.atom, b.atom);
  EXPECT_EQ(a.environment, b.environment);
  EXPECT_EQ(a.min_distance, b.min_distance);
  EXPECT_EQ(a.max_cutoff, b.max_cutoff);
  EXPECT_EQ(a.basis, b.basis);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.evaluations, b.evaluations);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.square, b.square);
  EXPECT_EQ(a.training_set, b.training_set);
  EXPECT_EQ(a.normalized, b.normalized);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.shift, b.shift);
  EXPECT_EQ(a.types, b.types);
  EXPECT_EQ(a.atomic_energies, b.atomic_energies);
  EXPECT_EQ(a.num_atoms, b.num_atoms);
  EXPECT_EQ(a.num_structures, b.num_structures);
  EXPECT_EQ(a.energy_min, b.energy_min);
  EXPECT_EQ(a.energy_max, b.energy_max);
  EXPECT_EQ(a.energy_mean, b.energy_mean);
}

AenetNetwork OneOfThree() {
  AenetNetwork network = *ToAenet(Example({56, 22, 8}, {7, 4}, Activation::kTwist), 2);
  network.num_atoms = 1234;
  network.evaluations = 99;
  network.normalized = false;
  network.weights[3] = -1e-300;  // as binary; text has no room for its exponent
  return network;
}

TEST(AenetFileTest, BinaryHasTheValuesOfText) {
  AenetNetwork network = OneOfThree();
  network.weights[3] = 0;
  EXPECT_EQ(TextOfRecords(AenetBinary(network)), AenetText(network));
}

TEST(AenetFileTest, ReadsWhatItWrites) {
  AenetNetwork network = OneOfThree();
  const auto binary = ParseAenet(AenetBinary(network), "O.nn");
  ASSERT_TRUE(binary.ok()) << binary.status();
  ExpectEqual(*binary, network);
  const auto text = ParseAenet(AenetText(network), "O.nn.ascii");
  ASSERT_TRUE(text.ok()) << text.status();
  network.weights[3] = 0;
  ExpectEqual(*text, network);
}

// Returns the text with line n (from 1) and the `count` - 1 lines after it replaced.
std::string WithLine(const std::string& text, int n, const std::string& with, int count = 1) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines[n - 1] = with;
  lines.erase(lines.begin() + n, lines.begin() + n + count - 1);
  return absl::StrJoin(lines, "\n");
}

int LineOf(const std::string& text, const std::string& line) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return static_cast<int>(std::find(lines.begin(), lines.end(), line) - lines.begin()) + 1;
}

// aenet-python writes species in one line, and lists of any length; gfortran leaves out E before three digits; aenet
// itself writes as many species of a symmetry function as there are in the environment.
TEST(AenetFileTest, ReadsTextAsOtherProgramsWriteIt) {
  AenetNetwork network = OneOfThree();
  network.weights[3] = 0;
  const std::string text = AenetText(network);
  const int first_weight = 9;
  std::string other = WithLine(text, LineOf(text, "Ba"), "Ba Ti O ", 3);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const std::vector<std::string> words = absl::StrSplit(lines[first_weight - 1], ' ', absl::SkipEmpty());
  ASSERT_EQ(words.size(), 4u);
  other = WithLine(
      other, first_weight,
      absl::StrCat(" -1.5-101 ", words[1], "\r\n", words[2], " ", absl::StrReplaceAll(words[3], {{"E", "d"}})));
  const auto read = ParseAenet(other, "O.nn.ascii");
  ASSERT_TRUE(read.ok()) << read.status();
  network.weights[0] = -1.5e-101;
  ExpectEqual(*read, network);
}

TEST(AenetFileTest, ReadsAsManySpeciesOfFunctionsAsAenetWrites) {
  const AenetNetwork network = *ToAenet(Example({56, 22, 8}, {7}, Activation::kTanh), 1);
  const std::string text = AenetText(network);
  const int evaluations = LineOf(text, "1");  // in a line of its own, after the species
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.insert(lines.begin() + evaluations - 1, " 0");
  EXPECT_THAT(ParseAenet(absl::StrJoin(lines, "\n"), "Ti.nn.ascii"),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"Ti.nn.ascii:", "whole numbers"}));
  lines.insert(lines.begin() + evaluations - 1, network.mean.size() - 1, " 0");
  const auto three = ParseAenet(absl::StrJoin(lines, "\n"), "Ti.nn.ascii");
  ASSERT_TRUE(three.ok()) << three.status();
  ExpectEqual(*three, network);
}

TEST(AenetFileTest, ErrorsOfTextNameTheLine) {
  const AenetNetwork network = OneOfThree();
  const std::string text = AenetText(network);
  const auto error = [&](const std::string& changed) { return ParseAenet(changed, "O.nn.ascii").status(); };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(error(WithLine(text, 1, "99")), ErrorNames(kInvalid, {"O.nn.ascii:1", "99", "2 to 64"}));
  EXPECT_THAT(error(WithLine(text, 3, "7")), ErrorNames(kInvalid, {"O.nn.ascii:", "weights is 7", "expected"}));
  EXPECT_THAT(error(WithLine(text, 6, " 4 5 0")), ErrorNames(kInvalid, {"O.nn.ascii:6", "code 5", "twist"}));
  EXPECT_THAT(error(WithLine(text, 7, " 0 1 2 3")), ErrorNames(kInvalid, {"O.nn.ascii:7", "0, 1, 2, 3"}));
  EXPECT_THAT(error(WithLine(text, 9, " 1 2 3 nan")), ErrorNames(kInvalid, {"O.nn.ascii:9", "nan", "number 4 of"}));
  EXPECT_THAT(error(WithLine(text, LineOf(text, "Ba"), "Bx")), ErrorNames(kInvalid, {"Bx", "Ti"}));
  EXPECT_THAT(error(WithLine(text, LineOf(text, "F"), "maybe")), ErrorNames(kInvalid, {"maybe", "T or F"}));
  EXPECT_THAT(error(text + "1\n"), ErrorNames(kInvalid, {"\"1\" follows the last value"}));
  for (size_t size = 0; size + 1 < text.size(); size += 37) {
    EXPECT_THAT(error(text.substr(0, size)), ErrorNames(kInvalid, {"O.nn.ascii:"})) << size;
  }
}

TEST(AenetFileTest, ErrorsOfBinaryNameTheRecord) {
  const std::string bytes = AenetBinary(OneOfThree());
  const auto error = [&](const std::string& changed) { return ParseAenet(changed, "O.nn").status(); };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  std::string changed = bytes;
  changed[4 * 12] = 20;  // the length of the fifth record, which has four numbers
  changed[4] = 5;
  EXPECT_THAT(error(changed), ErrorNames(kInvalid, {"O.nn: record 5", "differ"}));
  changed = bytes;
  changed[12 + 8] = 3;
  EXPECT_FALSE(LooksLikeAenetNetwork(changed));
  EXPECT_THAT(error(bytes + "x"), ErrorNames(kInvalid, {"O.nn: record 36", "1 more bytes"}));
  for (size_t size = 64; size < bytes.size(); size += 101) {
    EXPECT_THAT(error(bytes.substr(0, size)), ErrorNames(kInvalid, {"O.nn: record", "cut off"})) << size;
  }
}

TEST(AenetFileTest, TellsNetworksFromOtherFiles) {
  const AenetNetwork network = OneOfThree();
  EXPECT_TRUE(LooksLikeAenetNetwork(AenetBinary(network)));
  EXPECT_TRUE(LooksLikeAenetNetwork(AenetText(network)));
  // A training set: the number of types, of structures, two types, two atomic energies.
  const std::string four("\4\0\0\0", 4), sixteen("\x10\0\0\0", 4);
  const std::string two("\2\0\0\0", 4);
  EXPECT_FALSE(LooksLikeAenetNetwork(four + two + four + four + two + four + four + "TiO " + four + sixteen +
                                     std::string(16, '\0') + sixteen + std::string(100, '\0')));
  EXPECT_FALSE(LooksLikeAenetNetwork(""));
  EXPECT_FALSE(LooksLikeAenetNetwork("2\nLattice=\"4 0 0 0 4 0 0 0 4\"\nTi 0 0 0\nO 1 1 1\n"));
  EXPECT_FALSE(LooksLikeAenetNetwork("begin\nlattice 1 0 0\n"));
}

TEST(AenetFileTest, RefusesWhatAenetLacks) {
  Potential p = Example({22, 8}, {3}, Activation::kSilu);
  EXPECT_THAT(std::string(ToAenet(p, 0).status().message()), HasSubstr("no activation \"silu\""));
  const std::string directory = ::testing::TempDir() + "/refused";
  EXPECT_FALSE(WriteAenetPotentials(directory, p).ok());
  EXPECT_FALSE(FileContents::Open(directory + "/Ti.nn.ascii").ok());
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.descriptor.chebyshev().ang_cutoff = p.descriptor.chebyshev().rad_cutoff + 0.5;
  EXPECT_THAT(std::string(ToAenet(p, 0).status().message()), HasSubstr("an angular cutoff (6.5 Angstrom) above"));
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.descriptor.chebyshev().nearer = {{2, 2}};
  EXPECT_THAT(std::string(ToAenet(p, 0).status().message()), HasSubstr("aenet has one angular cutoff"));
  p = Example({22, 8}, {3}, Activation::kTanh);
  p.repulsion = {{1, 1, 1, 1}, {2, 2, 2, 2}};
  EXPECT_THAT(std::string(ToAenet(p, 0).status().message()), HasSubstr("--zbl"));
}

TEST(AenetFileTest, WritesTwoFilesForEachSpecies) {
  const Potential p = Example({22, 8}, {3}, Activation::kTanh);
  const std::string directory = ::testing::TempDir() + "/new/aenet";
  const auto paths = WriteAenetPotentials(directory, p);
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, ::testing::ElementsAre(directory + "/Ti.nn", directory + "/O.nn"));
  EXPECT_EQ(FileContents::Open(directory + "/Ti.nn")->data(), AenetBinary(*ToAenet(p, 0)));
  EXPECT_EQ(FileContents::Open(directory + "/O.nn")->data(), AenetBinary(*ToAenet(p, 1)));
  EXPECT_EQ(FileContents::Open(directory + "/Ti.nn.ascii")->data(), AenetText(*ToAenet(p, 0)));
  EXPECT_EQ(FileContents::Open(directory + "/O.nn.ascii")->data(), AenetText(*ToAenet(p, 1)));
}

}  // namespace
}  // namespace rutile
