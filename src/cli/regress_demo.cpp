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

}  // namespace

ExitCode run_regress_demo(const RegressDemoFlags& flags) {
  const store::RunFolder folder =
      store::RunFolder::create("regress-demo", flags.out, store::Occupied::kRefuse);
  const DemoNumbers numbers = demo_numbers();
  write_picture(folder, flags.formats, "three_bandwidths", three_bandwidths_figure(numbers));
  write_picture(folder, flags.formats, "temperature", temperature_figure(numbers));
  write_picture(folder, flags.formats, "choices", choices_figure(numbers));
  write_picture(folder, flags.formats, "dot_product", dot_product_figure(numbers));
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
