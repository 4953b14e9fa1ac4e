#include "src/cli/regress_demo.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/demo_figures.hpp"
#include "src/cli/demo_numbers.hpp"
#include "src/cli/output.hpp"
#include "src/store/run_folder.hpp"

namespace headtorch::cli {
namespace {

void write_picture(const store::RunFolder& folder, const std::vector<RegressionFormat>& formats,
                   const std::string& name, const report::Panels& page) {
  const auto wants = [&](RegressionFormat format) {
    return std::ranges::find(formats, format) != formats.end();
  };
  if (wants(RegressionFormat::kPng)) folder.write(name + ".png", draw_panels(page, report::Format::kPng));
  if (wants(RegressionFormat::kSvg)) folder.write(name + ".svg", draw_panels(page, report::Format::kSvg));
}

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
  const auto wants = [&](RegressionFormat format) {
    return std::ranges::find(flags.formats, format) != flags.formats.end();
  };
  if (wants(RegressionFormat::kNpy))
    throw UsageError("--format", "npy is not there for --demo, expected png, svg or csv");
  const store::RunFolder folder =
      store::RunFolder::create("regress-demo", flags.out, store::Occupied::kRefuse);
  const DemoNumbers numbers = demo_numbers();
  write_picture(folder, flags.formats, "three_bandwidths", three_bandwidths_figure(numbers));
  write_picture(folder, flags.formats, "temperature", temperature_figure(numbers));
  write_picture(folder, flags.formats, "choices", choices_figure(numbers));
  write_picture(folder, flags.formats, "dot_product", dot_product_figure(numbers));
  if (wants(RegressionFormat::kCsv)) folder.write("curves.csv", curves_csv(numbers));
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
