// What the C library holds back of memory that was freed.
#pragma once

namespace attnscope {

/// Gives it back to the system, where that can be: between parts of a run of which the next needs
/// memory of other sizes.
void return_freed_memory();

}  // namespace attnscope
