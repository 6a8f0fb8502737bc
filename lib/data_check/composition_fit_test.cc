#include "lib/data_check/composition_fit.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// ti Ti and o O atoms with atomic energies -1600 and -430, and `extra` eV per atom.
FrameFacts Frame(int ti, int o, double extra = 0) {
  FrameFacts frame;
  frame.atoms = ti + o;
  if (o > 0) frame.composition.emplace_back(8, o);
  if (ti > 0) frame.composition.emplace_back(22, ti);
  frame.energy = -1600.0 * ti - 430.0 * o + extra * (ti + o);
  return frame;
}

std::vector<FrameFacts> Frames() {
  std::vector<FrameFacts> frames;
  for (int i = 0; i < 12; ++i) frames.push_back(Frame(1 + i % 3, 2 + i % 4, 0.01 * (i % 5 - 2)));
  return frames;
}

TEST(CompositionFitTest, FindsAtomicEnergies) {
  const CompositionFit fit = FitCompositions(Frames());
  EXPECT_EQ(fit.fitted, 12);
  EXPECT_NEAR(fit.atomic_energies.at(22), -1600, 0.3);
  EXPECT_NEAR(fit.atomic_energies.at(8), -430, 0.3);
  EXPECT_LT(fit.median, 0.03);
}

TEST(CompositionFitTest, OutliersKeepTheirResiduals) {
  std::vector<FrameFacts> frames = Frames();
  frames.push_back(Frame(2, 4, 1000));
  frames.push_back(Frame(1, 4, -300));
  const CompositionFit fit = FitCompositions(frames);
  EXPECT_NEAR(fit.residual[12], 1000, 0.1);
  EXPECT_NEAR(fit.residual[13], -300, 0.1);
  EXPECT_LT(std::abs(fit.residual[0]), 0.1);
}

TEST(CompositionFitTest, OneCompositionIsEnough) {
  std::vector<FrameFacts> frames;
  for (int i = 0; i < 8; ++i) frames.push_back(Frame(1, 2, 0.01 * i));
  frames.push_back(Frame(2, 4, 50));
  const CompositionFit fit = FitCompositions(frames);
  EXPECT_NEAR(fit.residual[8], 50, 0.1);
  EXPECT_LT(std::abs(fit.residual[0]), 0.1);
}

TEST(CompositionFitTest, IsolatedAtomsAndMissingEnergiesStayOut) {
  std::vector<FrameFacts> frames = Frames();
  frames.push_back(Frame(1, 0, 8));
  frames.back().is_isolated_atom = true;
  frames.push_back(Frame(1, 1));
  frames.back().energy.reset();
  const CompositionFit fit = FitCompositions(frames);
  EXPECT_EQ(fit.fitted, 12);
  EXPECT_TRUE(std::isnan(fit.residual[12]));
  EXPECT_TRUE(std::isnan(fit.residual[13]));
}

TEST(CompositionFitTest, FewEnergiesAreNotJudged) {
  const CompositionFit fit = FitCompositions({Frame(1, 2), Frame(1, 1), Frame(2, 1), Frame(3, 1)});
  EXPECT_EQ(fit.fitted, 0);
  EXPECT_TRUE(fit.atomic_energies.empty());
  EXPECT_TRUE(std::isnan(fit.residual[0]));
  EXPECT_TRUE(FitCompositions({}).residual.empty());
}

}  // namespace
}  // namespace rutile
