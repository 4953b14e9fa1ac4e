#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "src/cli/choices.hpp"
#include "src/cli/new_folder.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/tour_steps.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/log.hpp"

namespace headtorch::cli {
namespace {

constexpr std::array<std::pair<std::string_view, Language>, 2> kLanguages = {
    {{"en", Language::kEnglish}, {"zh", Language::kChinese}}};

struct TourFlags {
  std::string step, language = "en", out;
  bool json = false;
};

ExitCode run_tour(const TourFlags& flags) {
  start_log(LogLevel::kQuiet);
  const Language language = choose("--lang", flags.language, kLanguages);
  const std::int64_t only = flags.step.empty() ? 0 : whole_number("--step", flags.step, 1, kTourSteps);
  NewFolder folder("tour", flags.out);
  TourSteps steps;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (int number = 1; number <= kTourSteps; ++number) {
    if (only != 0 && number != only) continue;
    const auto step = static_cast<TourStep>(number - 1);
    const TourResult result = steps.run(step);
    const std::string name = fmt::format("{}-{}.png", number, tour_picture(step));
    folder.write(name, result.draw(report::Format::kPng));
    const std::string title = tour_title(language, step);
    const std::string sentence = tour_sentence(language, step, result.numbers);
    list.push_back({{"step", number}, {"title", title}, {"sentence", sentence}, {"picture", name}});
    if (!flags.json)
      print(fmt::format("{}/{} {}\n{}\n{}\n\n", number, kTourSteps, title, sentence,
                        (folder.path() / name).string()));
  }
  const nlohmann::ordered_json document = {
      {"language", flags.language}, {"steps", list}, {"out", folder.path().string()}};
  folder.write("result.json", document_text(document));
  if (flags.json) {
    print_json(document);
  } else {
    print(fmt::format("Written: {}\nNext: {} regress --demo\n", folder.path().string(), command_name()));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_tour(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TourFlags>();
  CLI::App* verb =
      program.add_subcommand("tour", "From kernel regression to attention heads, a picture a step");
  verb->add_option("--step", flags->step, fmt::format("One step alone, 1 to {} (all)", kTourSteps))
      ->type_name("N");
  verb->add_option("--lang", flags->language, "en or zh (en)")->type_name("LANG");
  verb->add_option("--out", flags->out, "New folder; runs/tour-NNN unless given")->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Examples:\n  {0} tour\n  {0} tour --step 2 --lang zh", command_name()));
  verb->callback([flags, &action] { action = [flags] { return run_tour(*flags); }; });
}

}  // namespace headtorch::cli
