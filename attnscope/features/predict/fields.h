// Fields that several kinds of rows of `predict` share.
#pragma once

#include <vector>

#include "attnscope/rows/field.h"

namespace attnscope {

/// The index of the text, if several texts are run.
Field sequence_of_row();
/// A token of a text: its id and text.
std::vector<Field> token_fields();
/// The parameter that names the source of the tokens.
Field source_parameter();

}  // namespace attnscope
