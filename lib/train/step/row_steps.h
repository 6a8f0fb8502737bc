// Steps of the rows that a batch touches, instead of all parameters: whether a run has them, and if not, why.

#ifndef RUTILE_LIB_TRAIN_STEP_ROW_STEPS_H_
#define RUTILE_LIB_TRAIN_STEP_ROW_STEPS_H_

#include <string>

#include "lib/task/gradients/row_gradients.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Returns what computes the gradients of a run's steps, if these are of rows alone; null if a step needs the gradient
// of all parameters.
RowGradients* RowsOfSteps(const TrainerOptions& options, Task& task);

// Returns the setting for which a run steps over all parameters, though its batches touch a few rows or its optimizer
// keeps its state by rows: "accumulate_grad_batches adds up several batches". "" if steps are of rows, or there would
// be nothing to gain.
std::string WhyDenseSteps(const TrainerOptions& options, Task& task);

// Adds the rows to a flat gradient of all parameters.
void AddRows(const RowGradient& rows, Tensor* gradient);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_ROW_STEPS_H_
