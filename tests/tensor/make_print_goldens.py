#!/usr/bin/python3
"""Prints print_goldens.inc: how PyTorch prints tensors. Run as ./make_print_goldens.py > print_goldens.inc"""

import math

import torch

inf, nan = math.inf, math.nan
t = torch.tensor
CASES = {
    "scalar": t(1.5),
    "integer scalar": t(7),
    "bool scalar": t(True),
    "whole": t([1.0, 2.0, 3.0]),
    "mixed": t([1.5, -2.25, 100.125]),
    "integers": t([1, -20, 300]),
    "bools": t([True, False]),
    "matrix": torch.arange(6.0).reshape(2, 3),
    "rank 3": torch.arange(8.0).reshape(2, 2, 2),
    "rank 4": torch.arange(16).reshape(2, 2, 2, 2),
    "no elements": torch.zeros(0),
    "no columns": torch.zeros(2, 0),
    "not finite": t([nan, inf, -inf, 1.5]),
    "whole and infinite": t([inf, 1.0, 2.0]),
    "only nan": t([nan, nan]),
    "large whole": t([1e9, 1.0]),
    "large": t([123456789.5, 0.5]),
    "small": t([1e-5, 1.0]),
    "wide range": t([0.01, 100.0]),
    "negative small": t([-1e-6, 2e-6]),
    "zeros": torch.zeros(3),
    "negative zero": t([-0.0, 0.5]),
    "float64": t([1.25], dtype=torch.float64),
    "float16": t([1.25], dtype=torch.float16),
    "bfloat16": t([1.25], dtype=torch.bfloat16),
    "uint8": t([200], dtype=torch.uint8),
    "int32": t([[1], [-2]], dtype=torch.int32),
    "complex": t([1 + 2j, -3.5 - 0.25j]),
    "whole complex": t([1 + 2j, -3 - 4j]),
    "complex scalar": t(0.5 - 1.5j, dtype=torch.complex128),
    "complex matrix": t([[1 + 1j, 10.5 - 2j], [0j, -1 + 100j]]),
    "row that wraps": torch.arange(30),
    "real row that wraps": torch.arange(30.0) / 8,
    "summarized": torch.arange(1001),
    "summarized real": torch.arange(1001.0),
    "summarized matrix": torch.arange(1200).reshape(40, 30),
    "summarized long row": torch.arange(2000.0).reshape(2, 1000) / 8,
    "requires grad": t([1.0, 2.0], requires_grad=True),
    "one row of many": torch.ones(2, 12) / 3,
}


def main():
    print(f"// Made by make_print_goldens.py from PyTorch {torch.__version__.split('+')[0]}, less the \"torch.\" before dtypes.")
    print("inline constexpr std::pair<std::string_view, std::string_view> kPrinted[] = {")
    for name, tensor in CASES.items():
        text = str(tensor).replace("torch.", "")
        print(f'    {{"{name}", R"({text})"}},')
    print("};")


main()
