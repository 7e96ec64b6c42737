// Matrices whose rows are report rows, as `matrix` and `similarity --head-matrix` give them.
#pragma once

#include <ostream>
#include <string>

#include "attnscope/output/terminal.h"
#include "attnscope/results/report.h"

namespace attnscope {

/// Each matrix of the report with a title, shape and corners, numbers in the form of `number_text`.
/// A row with `row` 0 begins a matrix; what is no number is a dash.
void write_matrix_corners(const Report& report, const Style& style,
                          std::string (*number_text)(double), std::ostream& out);

}  // namespace attnscope
