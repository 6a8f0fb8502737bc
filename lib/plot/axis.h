// Computes ranges and tick marks of axes, and formats numbers for people.

#ifndef RUTILE_LIB_PLOT_AXIS_H_
#define RUTILE_LIB_PLOT_AXIS_H_

#include <string>
#include <vector>

namespace rutile {

// The range of an axis.
struct AxisRange {
  double low = 0;
  double high = 1;
};

// A tick mark with its label.
struct Tick {
  double value = 0;
  std::string label;  // "−0.5", with a real minus sign
};

// Returns the range of values [low, high] with a margin of 4 % on both sides. A single value gets a range around it.
AxisRange LinearRange(double low, double high);
// Returns the range of a logarithmic axis, with the same margins. CHECK-fails unless 0 < low <= high.
AxisRange LogRange(double low, double high);

// Returns about `count` round values (steps of 1, 2 or 5 times a power of ten) inside the range, with the digits they
// need.
std::vector<Tick> LinearTicks(AxisRange range, int count = 6);
// Returns powers of ten; with 2 and 5 times them if there are fewer than three; linear ticks if there are still fewer.
std::vector<Tick> LogTicks(AxisRange range);

// Returns only the ticks at whole numbers, as FormatCount writes them, for epochs and counts.
std::vector<Tick> WholeTicks(AxisRange range, int count);

// True for values whose differences, margins and scaled errors are finite, so that axes can be computed from them: up
// to 1e300 in size.
bool CanBeDrawn(double value);

// Formats three significant digits, without an exponent between 0.001 and a million: "8.12", "127", "0.0031".
std::string FormatFigure(double value);

// Formats a count: "1234567" -> "1 234 567", with narrow no-break spaces.
std::string FormatCount(long long value);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_AXIS_H_
