#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

// einsum from permute, diagonal, sum and batched products. Every operand gets one dimension for each label of the whole
// equation, of size 1 where it lacks the label; two operands are then contracted by one matmul.

namespace vellum {
namespace {

// Labels are numbers: 0-51 are letters, from kEllipsis on the dimensions that "..." stands for, outermost first.
constexpr int kEllipsis0 = 52;
constexpr int kLabels = kEllipsis0 + kMaxRank;
using Term = std::vector<int>;

int label_of(char c) { return c >= 'a' ? 26 + c - 'a' : c - 'A'; }

[[noreturn]] void refuse(std::string_view equation, const std::string& why) {
  throw_error<InvalidArgumentError>("einsum: in \"", equation, "\" ", why);
}

// One side of the equation for an operand of that rank, "..." standing for what the letters leave.
Term parse_term(std::string_view equation, std::string_view text, int ellipsis_rank) {
  Term term;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      term.push_back(label_of(text[i]));
      continue;
    }
    if (text.substr(i, 3) != "..." || seen)
      refuse(equation, str_cat("\"", text, "\" has '", text[i], "', which is neither a letter nor its one ellipsis"));
    seen = true;
    i += 2;
    for (int k = 0; k < ellipsis_rank; ++k) term.push_back(kEllipsis0 + kMaxRank - ellipsis_rank + k);
  }
  return term;
}

int letters_in(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c); }));
}

struct Equation {
  std::vector<Term> operands;
  Term output;
  Term order;  // of the dimensions while contracting: the output's labels, then those that are summed
};

std::vector<std::string_view> split_terms(std::string_view left) {
  std::vector<std::string_view> terms;
  for (size_t start = 0;;) {
    const size_t comma = left.find(',', start);
    terms.push_back(left.substr(start, comma == left.npos ? comma : comma - start));
    if (comma == left.npos) return terms;
    start = comma + 1;
  }
}

Equation parse(std::string_view equation, std::span<const Tensor> operands) {
  const size_t arrow = equation.find("->");
  const std::vector<std::string_view> texts = split_terms(equation.substr(0, arrow));
  if (texts.size() != operands.size())
    refuse(equation, str_cat("there are ", texts.size(), " terms for ", operands.size(), " operands"));
  Equation parsed;
  std::array<int, kLabels> uses{};
  int widest = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool has_ellipsis = texts[i].find("...") != texts[i].npos;
    const int rest = operands[i].dim() - letters_in(texts[i]);
    if (rest < 0 || (rest > 0 && !has_ellipsis))
      refuse(equation, str_cat("\"", texts[i], "\" does not fit operand ", i, " of shape ", operands[i].shape()));
    widest = std::max(widest, has_ellipsis ? rest : 0);
    parsed.operands.push_back(parse_term(equation, texts[i], rest));
    for (const int label : parsed.operands.back()) ++uses[static_cast<size_t>(label)];
  }
  if (arrow != equation.npos) {
    parsed.output = parse_term(equation, equation.substr(arrow + 2), widest);
  } else {
    for (int label = kEllipsis0; label < kLabels; ++label)
      if (uses[static_cast<size_t>(label)]) parsed.output.push_back(label);
    for (int label = 0; label < kEllipsis0; ++label)
      if (uses[static_cast<size_t>(label)] == 1) parsed.output.push_back(label);
  }
  std::array<bool, kLabels> placed{};
  for (const int label : parsed.output) {
    if (placed[static_cast<size_t>(label)]) refuse(equation, "the output names a label twice");
    if (!uses[static_cast<size_t>(label)]) refuse(equation, "the output names a label that no operand has");
    placed[static_cast<size_t>(label)] = true;
  }
  parsed.order = parsed.output;
  for (int label = 0; label < kLabels; ++label)
    if (uses[static_cast<size_t>(label)] && !placed[static_cast<size_t>(label)]) parsed.order.push_back(label);
  if (parsed.order.size() > kMaxRank)
    refuse(equation, str_cat("there are ", parsed.order.size(), " labels, more than the ", kMaxRank, " dimensions"));
  return parsed;
}

// The operand with one dimension for each label of `order`: repeated labels become their diagonal.
Tensor align(Tensor x, Term term, const Term& order, std::string_view equation) {
  for (size_t i = 0; i < term.size(); ++i)
    for (size_t j = i + 1; j < term.size();) {
      if (term[i] != term[j]) {
        ++j;
        continue;
      }
      if (x.size(static_cast<int64_t>(i)) != x.size(static_cast<int64_t>(j)))
        refuse(equation, str_cat("a repeated label has sizes ", x.size(static_cast<int64_t>(i)), " and ",
                                 x.size(static_cast<int64_t>(j))));
      x = x.diagonal(0, static_cast<int64_t>(i), static_cast<int64_t>(j));
      term.push_back(term[i]);  // the diagonal comes last
      term.erase(term.begin() + static_cast<std::ptrdiff_t>(j));
      term.erase(term.begin() + static_cast<std::ptrdiff_t>(i));
      j = i + 1;
    }
  Dims permutation;
  for (const int label : order)
    if (const auto at = std::find(term.begin(), term.end(), label); at != term.end())
      permutation.push_back(at - term.begin());
  x = x.permute(permutation);
  for (size_t d = 0; d < order.size(); ++d)
    if (std::find(term.begin(), term.end(), order[d]) == term.end()) x = x.unsqueeze(static_cast<int64_t>(d));
  return x;
}

// Sums dimensions `summed` of a product whose operands have sizes equal or 1: one batched matmul of [batch, left,
// inner] and [batch, inner, right].
Tensor contract(const Tensor& a, const Tensor& b, const std::vector<bool>& summed) {
  Dims batch, left, right, inner;
  Tensor x = a, y = b;
  for (int d = 0; d < a.dim(); ++d) {
    const bool in_a = a.size(d) != 1, in_b = b.size(d) != 1;
    const bool is_summed = summed[static_cast<size_t>(d)];
    if (in_a && in_b && a.size(d) != b.size(d)) broadcast_shapes("einsum", a.shape(), b.shape());  // throws
    if (is_summed && in_a != in_b) {  // nothing to multiply by
      (in_a ? x : y) = (in_a ? x : y).sum({d}, true);
      inner.push_back(d);
    } else if (is_summed) {
      inner.push_back(d);
    } else {
      (in_a == in_b ? batch : in_a ? left : right).push_back(d);
    }
  }
  const auto arrange = [](const Tensor& t, const Dims& one, const Dims& two, const Dims& three) {
    Dims order;
    for (const Dims* part : {&one, &two, &three})
      for (const int64_t d : *part) order.push_back(d);
    int64_t sizes[3] = {1, 1, 1};
    for (const int64_t d : one) sizes[0] *= t.size(d);
    for (const int64_t d : two) sizes[1] *= t.size(d);
    for (const int64_t d : three) sizes[2] *= t.size(d);
    return std::pair(t.permute(order), Dims{sizes[0], sizes[1], sizes[2]});
  };
  // Dimensions of size 1 that only the other operand fills stand with the inner ones, where they change nothing.
  Dims a_inner = inner, b_inner = inner;
  for (const int64_t d : right) a_inner.push_back(d);
  for (const int64_t d : left) b_inner.push_back(d);
  const auto [xs, x_shape] = arrange(x, batch, left, a_inner);
  const auto [ys, y_shape] = arrange(y, batch, b_inner, right);
  const Tensor product = bmm(xs.reshape(x_shape), ys.reshape(y_shape));
  Dims shape, where;
  for (const Dims* part : {&batch, &left, &right})
    for (const int64_t d : *part) {
      where.push_back(d);
      shape.push_back(std::max(a.size(d), b.size(d)) == 1 ? 1 : a.size(d) != 1 ? a.size(d) : b.size(d));
    }
  for (const int64_t d : inner) {
    where.push_back(d);
    shape.push_back(1);
  }
  Dims back = Dims::of_size(where.size());
  for (int i = 0; i < where.size(); ++i) back[static_cast<int>(where[i])] = i;
  return product.reshape(shape).permute(back);
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (operands.empty()) throw_error<InvalidArgumentError>("einsum: no operands were given for \"", equation, "\"");
  const Equation parsed = parse(equation, operands);
  const size_t rank = parsed.order.size();
  std::vector<Tensor> aligned;
  for (size_t i = 0; i < operands.size(); ++i)
    aligned.push_back(align(operands[i], parsed.operands[i], parsed.order, equation));
  // A label may be summed once no later operand has it.
  Tensor result = aligned[0];
  for (size_t i = 1; i < aligned.size(); ++i) {
    std::vector<bool> summed(rank, false);
    for (size_t d = parsed.output.size(); d < rank; ++d) {
      summed[d] = true;
      for (size_t later = i + 1; later < aligned.size(); ++later)
        if (aligned[later].size(static_cast<int64_t>(d)) != 1) summed[d] = false;
    }
    result = contract(result, aligned[i], summed);
  }
  Dims rest;
  for (size_t d = parsed.output.size(); d < rank; ++d) rest.push_back(static_cast<int64_t>(d));
  return rest.empty() ? result : result.sum(rest);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace vellum
