#include "src/cli/tour_text.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <array>

namespace headtorch::cli {
namespace {

struct StepText {
  const char *picture, *english_title, *english, *chinese_title, *chinese;
};

// {0}, {1}, ... are numbers, in the order in which src/cli/tour.cpp gives them.
constexpr std::array<StepText, kTourSteps> kTexts = {{
    {"bandwidths", "Averaging by nearness",
     "Kernel regression predicts by averaging all y, each weighted by how near its x is: at h = 0.05 the "
     "curve "
     "follows every point ({0} of 80 count), at 0.5 it fits ({1}), at 10 it is nearly the mean ({2}).",
     "按远近加权平均",
     "核回归把所有的 y 加权平均，x 越近权重越大：h = 0.05 时曲线追着每个点跑（80 个点里只有 {0} 个起作用），"
     "h = 0.5 时恰到好处（{1} 个），h = 10 时几乎成了平均值（{2} 个）。"},
    {"dot_product", "From distance to dot product",
     "Compare by a dot product instead, with nothing learned: softmax(x x_i) looks far out and misses the "
     "sine by "
     "{0}, but softmax((x x_i - x_i^2/2) / h^2) is the Gaussian kernel again, to {1}.",
     "从距离到点积",
     "换成点积来比较，什么也不学：softmax(x x_i) 只看最远处的点，与正弦曲线相差 {0}；而 softmax((x x_i - "
     "x_i^2/2) / "
     "h^2) 就是原来的高斯核，误差不超过 {1}。"},
    {"projections", "Learned projections",
     "Let gradients choose what is compared: queries and keys that are linear in x leave an error of {0}, "
     "those that "
     "also see x^2 get {1}, the Gaussian with its learned bandwidth {2} (h = {3}); all by leave-one-out.",
     "学出来的投影",
     "让梯度来决定比较什么：查询和键只能线性地用 x 时，误差是 {0}；还能用 x^2 时是 {1}；学出带宽的高斯核是 "
     "{2}"
     "（h = {3}）。误差都用留一法计算。"},
    {"head", "A head",
     "A head is such a kernel over tokens, and its values are learned too: trained to reverse a sequence, "
     "one head "
     "gets {0} of the tokens right, and its weights lie on the mirrored diagonal.",
     "一个注意力头",
     "注意力头就是作用在词元上的这种核，连取的值也是学出来的：训练它把序列倒过来，一个头能答对 {0} 的词元，"
     "权重正好落在反对角线上。"},
    {"heads", "Several heads",
     "Four heads are four kernel regressions side by side, joined by a matrix: {0} right, against {1} with "
     "one.",
     "多个注意力头", "四个头就是并排的四个核回归，再用一个矩阵合起来：答对 {0}，一个头时是 {1}。"},
    {"positions", "Positions",
     "A position is a coordinate added to what is compared: without it every order of the tokens looks the "
     "same; {0} are "
     "right, against {1} with it.",
     "位置",
     "位置编码是给被比较的东西加上的一个坐标：没有它，词元怎么排在模型眼里都一样，答对 {0}，有它时是 "
     "{1}。"},
    {"verdict", "Was it worth learning?",
     "The same budget for fixed kernels and for learned heads, {0} seeds each: {1}", "值得学吗？",
     "固定的核和学出来的头用同样的训练预算，各用 {0} 个随机种子；结论（英文原文）：{1}"},
}};

const StepText& text_of(TourStep step) { return kTexts[static_cast<std::size_t>(step)]; }

}  // namespace

std::string tour_title(Language language, TourStep step) {
  return language == Language::kEnglish ? text_of(step).english_title : text_of(step).chinese_title;
}

std::string tour_sentence(Language language, TourStep step, const std::vector<std::string>& numbers) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const std::string& number : numbers) arguments.push_back(number);
  return fmt::vformat(language == Language::kEnglish ? text_of(step).english : text_of(step).chinese,
                      arguments);
}

std::string tour_picture(TourStep step) { return text_of(step).picture; }

}  // namespace headtorch::cli
