#include "html_page.hpp"

#include <fmt/core.h>

#include "svg_plot.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfaf8; --card: #ffffff; --ink: #22252a; --soft: #676c75; --line: #e4e1da;
  --one: #1d6fb8; --two: #c8700f; --three: #33373d; --four: #1d7a46; --five: #8a4fbf; --six: #b3261e; --seven: #0e8a8a; --eight: #a08a10;
  --nine: #d0609c; --ten: #8b9099; --good: #1d7a46; --bad: #b3261e;
  --edge: #2a2d31; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --card: #1e2125; --ink: #e8e6e1; --soft: #9ba0a8;
  --line: #32363c; --one: #6db3f2; --two: #f0a24a; --three: #d6d9de; --four: #5fce8e; --five: #c39bf0; --six: #ff8a80; --seven: #5fd6d6; --eight: #dcc94a;
  --nine: #f29cc8; --ten: #7d838c; --good: #5fce8e; --bad: #ff8a80;
  --edge: #a9aeb6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 56px; }
h1 { font-size: clamp(22px, 6vw, 30px); line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 12px; }
p { margin: 0 0 12px; max-width: 78ch; overflow-wrap: anywhere; }
.lead, footer { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px; overflow-x: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 16px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--soft); }
svg .title { font-size: 14px; font-weight: 600; fill: var(--ink); }
svg .grid { stroke: var(--line); }
svg g path { fill: none; stroke-linejoin: round; }
.series-1 path { stroke: var(--one); } .series-2 path { stroke: var(--two); } .series-3 path { stroke: var(--three); }
.series-4 path { stroke: var(--four); } .series-5 path { stroke: var(--five); } .series-6 path { stroke: var(--six); }
.series-7 path { stroke: var(--seven); } .series-8 path { stroke: var(--eight); } .series-9 path { stroke: var(--nine); }
.series-10 path { stroke: var(--ten); }
.pictures { display: flex; flex-wrap: wrap; gap: 16px; } .pictures figure { margin: 0; width: 220px; }
figcaption { font-size: 12px; color: var(--soft); } li { max-width: 100ch; margin-bottom: 4px; }
.robot { max-height: 560px; }
.robot > path, .robot > circle { stroke: var(--edge); stroke-width: 0.5; stroke-linejoin: round; }
.robot > line { stroke-linecap: round; } .robot > .edge { stroke: var(--edge); }
.robot > .path { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 5 5; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 14px; }
th, td { padding: 8px 12px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
td:first-child { white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; } th.number { text-align: right; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
footer { margin-top: 32px; font-size: 14px; overflow-wrap: anywhere; }
@media (max-width: 640px) { main { padding: 24px 12px 40px; } td.how, th.how { display: none; } th, td { padding: 8px; } }
)";

}  // namespace

std::string page_begin(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      escape_markup(title), kStyle);
}

std::string page_end(const std::string& command) {
  return fmt::format("<footer>Made by the command &quot;{}&quot;, version {}.</footer>\n</main>\n</body>\n</html>\n",
                     escape_markup(command), kVersion);
}

void write_page(const std::filesystem::path& file, const std::string& page, const std::string& option) {
  try {
    write_file(file, page);
  } catch (const InputError& error) {
    throw InputError(ErrorDetail{
        .where = error.where(), .message = error.message(), .remedy = fmt::format("{} ({})", error.remedy(), option)});
  }
}

}  // namespace touchstone::cli
