#include "lib/plot/axis.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kMargin = 0.04;
constexpr double kLargestDrawn = 1e300;

// Rounding error of a tick that should be at the end of the range, in units of the step.
constexpr double kSlack = 1e-6;

std::string WithMinusSign(const std::string& number) { return absl::StrReplaceAll(number, {{"-", "\u2212"}}); }

// Returns 1, 2 or 5 times a power of ten, at least `wanted`.
double RoundStep(double wanted) {
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= wanted * (1 - kSlack)) return factor * power;
  }
  return 10 * power;
}

std::string TickLabel(double value, double step) {
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || step < 1e-6) return WithMinusSign(absl::StrFormat("%.6g", value));
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + kSlack)));
  return WithMinusSign(absl::StrFormat("%.*f", decimals, value));
}

}  // namespace

AxisRange LinearRange(double low, double high) {
  CHECK(std::isfinite(low) && std::isfinite(high) && low <= high) << low << " " << high;
  const double size = std::max(std::abs(low), std::abs(high));
  // Differences that doubles cannot resolve well count as zero.
  if (high - low <= 1e-12 * size) return low == 0 ? AxisRange{-1, 1} : AxisRange{low - 0.01 * size, high + 0.01 * size};
  if (high == 0 && low == 0) return {-1, 1};
  const double margin = kMargin * (high - low);
  return {low - margin, high + margin};
}

AxisRange LogRange(double low, double high) {
  CHECK(low > 0 && low <= high && std::isfinite(high)) << low << " " << high;
  if (high <= low * (1 + 1e-9)) return {low / 1.1, high * 1.1};
  const double margin = std::pow(high / low, kMargin);
  return {low / margin, high * margin};
}

std::vector<Tick> LinearTicks(AxisRange range, int count) {
  CHECK(range.low < range.high && count > 0) << range.low << " " << range.high;
  const double step = RoundStep((range.high - range.low) / count);
  std::vector<Tick> ticks;
  // Ticks are multiples of the step, not a running sum, so that 0 is 0 and not 1e-17.
  for (double k = std::ceil(range.low / step - kSlack); k <= range.high / step + kSlack; ++k) {
    const double value = k == 0 ? 0 : k * step;
    ticks.push_back({value, TickLabel(value, step)});
  }
  return ticks;
}

std::vector<Tick> LogTicks(AxisRange range) {
  CHECK(0 < range.low && range.low < range.high) << range.low << " " << range.high;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  for (const std::vector<double>& factors : {std::vector<double>{1}, std::vector<double>{1, 2, 5}}) {
    const int stride = factors.size() == 1 ? std::max(1, (last - first) / 8) : 1;
    std::vector<Tick> ticks;
    for (int exponent = first; exponent <= last; exponent += stride) {
      for (const double factor : factors) {
        const double value = factor * std::pow(10.0, exponent);
        if (value < range.low || value > range.high) continue;
        ticks.push_back({value, WithMinusSign(absl::StrFormat("%g", value))});
      }
    }
    if (ticks.size() >= 3) return ticks;
  }
  return LinearTicks(range);
}

std::vector<Tick> WholeTicks(AxisRange range, int count) {
  std::vector<Tick> whole;
  for (const Tick& tick : LinearTicks(range, count)) {
    if (tick.value == std::floor(tick.value) && std::abs(tick.value) < 1e15) {
      whole.push_back({tick.value, FormatCount(static_cast<long long>(tick.value))});
    }
  }
  return whole;
}

bool CanBeDrawn(double value) { return std::abs(value) <= kLargestDrawn; }

std::string FormatFigure(double value) {
  const double size = std::abs(value);
  std::string text;
  if (size >= 1e6 || (size > 0 && size < 1e-3)) {
    text = absl::StrFormat("%.2e", value);
  } else {
    // Number of decimals that gives three significant digits; 999.7 needs none.
    const int magnitude = size > 0 ? static_cast<int>(std::floor(std::log10(size))) : 0;
    text = absl::StrFormat("%.*f", std::clamp(2 - magnitude, 0, 5), value);
  }
  return WithMinusSign(text);
}

std::string FormatCount(long long value) {
  std::string digits = absl::StrCat(value < 0 ? -value : value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(i, "\u202F");
  return value < 0 ? absl::StrCat("\u2212", digits) : digits;
}

}  // namespace rutile
