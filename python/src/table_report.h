// A report held by Python, and its columns, which are made on first use.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "attnscope/rows/sink.h"
#include "python/src/arrow.h"

namespace attnscope::python {

/// Immutable, so threads can share it.
class TableReport {
 public:
  explicit TableReport(Report report)
      : report_(std::make_shared<const Report>(std::move(report))) {}

  const Report& report() const { return *report_; }
  const std::shared_ptr<const Report>& shared() const { return report_; }

  std::shared_ptr<const Columns> columns() const {
    std::call_once(made_,
                   [this] { columns_ = std::make_shared<const Columns>(columns_of(*report_)); });
    return columns_;
  }

 private:
  std::shared_ptr<const Report> report_;
  mutable std::once_flag made_;
  mutable std::shared_ptr<const Columns> columns_;
};

}  // namespace attnscope::python
