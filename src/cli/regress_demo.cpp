#include "src/cli/regress_demo.hpp"

#include <fmt/format.h>

#include <utility>

#include "src/cli/demo_figures.hpp"
#include "src/cli/demo_numbers.hpp"
#include "src/cli/new_folder.hpp"
#include "src/cli/output.hpp"

namespace headtorch::cli {
namespace {

/// The places and each fit there.
std::string curves_csv(const DemoNumbers& numbers) {
  std::string csv = "x,h_0.05,h_0.5,h_10,raw_dot_product,normalised_dot_product\n";
  for (std::size_t i = 0; i < numbers.places.size(); ++i) {
    csv += fmt::format("{}", numbers.places[i]);
    for (const DemoFit& fit : numbers.fits) csv += fmt::format(",{}", fit.y[i]);
    csv += fmt::format(",{},{}\n", numbers.raw.y[i], numbers.normalised.y[i]);
  }
  return csv;
}

}  // namespace

ExitCode run_regress_demo(const RegressDemoFlags& flags) {
  if (wants(flags.formats, RegressionFormat::kNpy))
    throw UsageError("--format", "npy is not there for --demo, expected png, svg or csv");
  NewFolder folder("regress-demo", flags.out);
  const DemoNumbers numbers = demo_numbers();
  NamedFiles files;
  for (const auto& [name, page] :
       {std::pair{"three_bandwidths", three_bandwidths_figure(numbers)},
        std::pair{"temperature", temperature_figure(numbers)}, std::pair{"choices", choices_figure(numbers)},
        std::pair{"dot_product", dot_product_figure(numbers)}}) {
    add_picture(files, flags.formats, name,
                [&page](report::Format format) { return draw_panels(page, format); });
  }
  if (wants(flags.formats, RegressionFormat::kCsv)) files.emplace_back("curves.csv", curves_csv(numbers));
  for (const auto& [name, bytes] : files) folder.write(name, bytes);
  nlohmann::ordered_json document = demo_document(numbers);
  document["out"] = folder.path().string();
  folder.write("result.json", document_text(document));
  if (flags.json) {
    print_json(document);
  } else {
    print(demo_text(numbers));
    print(fmt::format("\nWritten: {}\nNext: {} regress FILE --x COLUMN --y COLUMN\n", folder.path().string(),
                      command_name()));
  }
  return ExitCode::kDone;
}

}  // namespace headtorch::cli
