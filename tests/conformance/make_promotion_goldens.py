#!/usr/bin/python3
"""Prints promotion_goldens.inc: PyTorch's result types. Run as ./make_promotion_goldens.py > promotion_goldens.inc"""

import torch

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
         "complex128"]
NUMBERS = [True, 2, 2.5, 2 + 1j]


def constant(dtype):
    name = str(dtype).split(".")[1]
    if name not in NAMES:  # complex32
        return "DType::kUndefined"
    words = {"bool": "Bool", "uint8": "UInt8", "bfloat16": "BFloat16"}
    return "k" + words.get(name, name.capitalize())


def table(title, name, left, right):
    print(f"// {title}")
    print(f"inline constexpr DType {name}[{len(left)}][{len(right)}] = {{")
    for a in left:
        print("    {" + ", ".join(constant(torch.result_type(a, b)) for b in right) + "},")
    print("};")


def main():
    dims = [torch.ones(1, dtype=getattr(torch, n)) for n in NAMES]
    zero = [torch.ones((), dtype=getattr(torch, n)) for n in NAMES]
    print(f"// Made by make_promotion_goldens.py from torch.result_type of PyTorch {torch.__version__.split('+')[0]}.")
    print("// kUndefined stands for complex32, which Vellum does not have.")
    table("tensor, tensor", "kTensorTensor", dims, dims)
    table("tensor, tensor of rank 0", "kTensorZero", dims, zero)
    table("tensor, number: bool, integer, real, complex", "kTensorNumber", dims, NUMBERS)
    table("tensor of rank 0, number", "kZeroNumber", zero, NUMBERS)


main()
