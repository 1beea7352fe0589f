// How a report looks: one column of at most 64rem, the fonts of the reader's system, colours that follow the light or
// dark setting, and paper. Pictures keep their white ground in the dark, because their colours mean something; they are
// only dimmed a little. The blue is that of the plots' first class.
#pragma once

#include <string_view>

namespace cpfm::report {

inline constexpr std::string_view kHtmlStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f5f7f8; --ink: #1b2024; --soft: #59646d; --line: #dce1e5; --accent: #0072b2;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #14181b; --raised: #1d2327; --ink: #e4e8ea; --soft: #9aa6ae; --line: #333c42; --accent: #6fbdec;
  }
  img { filter: brightness(.9); }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 67rem; padding: 2.5rem 1.5rem 3rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  overflow-wrap: break-word;
}
header { border-left: .3rem solid var(--accent); padding-left: 1rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; letter-spacing: -.01em; }
.subtitle { margin: .35rem 0 0; color: var(--soft); font-size: 1.1rem; }
nav { margin-top: 2rem; padding: .9rem 1.2rem; background: var(--raised); border-radius: .5rem; font-size: .95rem; }
nav ol { margin: 0; padding: 0 0 0 1.4rem; columns: 16rem; }
nav li::marker { color: var(--soft); }
a { color: var(--accent); text-underline-offset: .15em; }
section { margin-top: 2.75rem; }
h2 {
  margin: 0 0 .9rem; padding-bottom: .35rem; border-bottom: 1px solid var(--line); font-size: 1.3rem; line-height: 1.3;
}
.text { margin: 0 0 1.1rem; max-width: 46rem; white-space: pre-line; }
.blocks { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1.5rem; }
.blocks > * { flex: 1 1 100%; min-width: 0; margin: 0; }
.blocks > figure.picture { flex: 0 0 auto; max-width: 100%; min-width: min(16rem, 100%); }
img {
  display: block; max-width: 100%; height: auto; background: #fff; border-radius: .25rem;
  box-shadow: 0 0 0 1px var(--line);
}
figcaption, caption { color: var(--soft); font-size: .9rem; line-height: 1.45; text-align: left; }
.picture figcaption { margin-top: .55rem; }
.listing figcaption { margin-bottom: .4rem; }
caption { padding-bottom: .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .95rem; }
th, td {
  padding: .4rem 1.1rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline;
}
th:last-child, td:last-child { padding-right: 0; }
thead th { border-bottom: 2px solid var(--line); color: var(--soft); font-weight: 600; font-size: .87rem; }
tbody th { font-weight: 500; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr)); gap: .9rem 1.5rem; }
dt { color: var(--soft); font-size: .87rem; line-height: 1.4; }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
pre {
  margin: 0; padding: .8rem 1rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line);
  border-radius: .4rem; font: .87rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
footer {
  margin-top: 3.5rem; padding-top: .9rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .87rem;
  white-space: pre-line;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media print {
  :root { color-scheme: light; }
  @page { margin: 16mm 15mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  h2 { break-after: avoid; }
  section { margin-top: 1.8rem; }
  .blocks { display: block; }
  .blocks > * { margin-bottom: 1.1rem; }
  figure.picture, tr, dl > div { break-inside: avoid; }
  img { width: auto; max-height: 23cm; }
  .scroll { overflow: visible; }
  pre { overflow: visible; white-space: pre-wrap; overflow-wrap: anywhere; }
}
)css";

}  // namespace cpfm::report
