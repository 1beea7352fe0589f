// Columns inside an HDF5 file: a plain dataset, or one of the ways in which AnnData keeps a column of its tables
// (categories, masked values, records).
//
// `total` is how many values a column must have, one per sample of the file; the first `count` of them are read.
//
// Included only where CPFM_HAS_HDF5 is 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/columns.hpp"
#include "data/hdf5_file.hpp"

namespace cpfm::hdf5 {

// What a column is read for: a boolean or enumerated one gives its names to classes and its numbers to a property.
enum class Use { kClasses, kNumbers };

// The column at `path`, or nothing when there is no such object. Older AnnData keeps the categories of a dataset of
// codes elsewhere: at `categories`.
std::optional<Column> read_column_at(const File& file, const std::string& path, const std::string& categories,
                                     std::size_t total, std::size_t count, Use use);

// AnnData's tables (obs, var): a group of columns, or in old files one dataset of records.
std::vector<std::string> table_columns(const File& file, const std::string& table);

// Nothing when the table has no such column.
std::optional<Column> read_table_column(const File& file, const std::string& table, const std::string& name,
                                        std::size_t total, std::size_t count, Use use);

// Names of a table's rows; empty when it has none.
std::vector<std::string> row_names(const File& file, const std::string& table, std::size_t total, std::size_t count);

}  // namespace cpfm::hdf5
