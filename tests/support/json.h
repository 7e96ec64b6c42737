// JSON for all tests. Most tests use it, so the class is compiled once, in json.cpp.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
