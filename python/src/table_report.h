// A report held by Python, and its columns, which are made on first use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/rows/sink.h"
#include "python/src/arrow.h"

namespace attnscope::python {

/// Immutable, so threads can share it.
class TableReport {
 public:
  using Names = std::vector<std::string>;

  explicit TableReport(Report report)
      : TableReport(std::make_shared<const Report>(std::move(report)), std::nullopt) {}
  /// `only`: names of the columns that Python sees, in this order; none: all.
  TableReport(std::shared_ptr<const Report> report, std::optional<Names> only)
      : report_(std::move(report)), only_(std::move(only)) {}

  const Report& report() const { return *report_; }
  const std::shared_ptr<const Report>& shared() const { return report_; }
  const std::optional<Names>& only() const { return only_; }

  std::shared_ptr<const Columns> columns() const {
    std::call_once(made_, [this] {
      Columns all = columns_of(*report_);
      columns_ = std::make_shared<const Columns>(only_ ? chosen(std::move(all)) : std::move(all));
    });
    return columns_;
  }

  /// Returns a report of these rows only. Throws std::out_of_range.
  std::unique_ptr<TableReport> with_rows(std::span<const std::size_t> indexes) const {
    Report part{*report_, {}, report_->skipped, report_->notes};
    for (const std::size_t index : indexes) part.rows.push_back(report_->rows.at(index));
    return std::make_unique<TableReport>(std::make_shared<const Report>(std::move(part)), only_);
  }

 private:
  Columns chosen(Columns all) const {
    Columns out;
    for (const std::string& name : *only_) {
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const auto& column) { return column.first == name; });
      if (found != all.end()) out.push_back(*found);
    }
    return out;
  }

  std::shared_ptr<const Report> report_;
  std::optional<Names> only_;
  mutable std::once_flag made_;
  mutable std::shared_ptr<const Columns> columns_;
};

}  // namespace attnscope::python
