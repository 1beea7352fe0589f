// A table of methods by figures, the best of each figure in bold and the second underlined.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli.hpp"
#include "cpfm/html_report.hpp"

namespace cpfm::app {

class Comparison {
 public:
  // `figures` as Evaluation::measure() gives them; `run`: how it was made, its parameters and the images it saw.
  void add(std::string method, const Json& figures, const Json& run);
  // A method without figures, and why it has none.
  void add_failed(std::string method, std::string why);

  // Aligned for a terminal, with its bold and underline; else Markdown.
  std::string text(bool terminal) const;
  // What holds for all of it and is to be read before the figures.
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  // One line per method and figure: method, figure, mean, sd (nothing of a single run), runs, and what the figure has
  // of n, epsilon and floor.
  std::string csv() const;
  Json json() const;
  ReportTable table() const;
  // What it takes to read it: floors, numbers of samples, how good the judges are, how large the networks. One sentence
  // or two each.
  std::vector<std::string> notes() const;

 private:
  struct Row {
    std::string method;
    Json figures = Json::object(), run = Json::object();
    std::string failure = {};
  };
  struct Column;
  std::vector<Column> columns() const;  // the figures that any method has
  std::string cell(const Row& row, const Column& column) const;

  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

}  // namespace cpfm::app
