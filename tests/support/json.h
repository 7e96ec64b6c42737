// JSON for all tests. Most of them read some: its class is compiled once, in json.cpp.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
