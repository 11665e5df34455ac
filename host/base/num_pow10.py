#!/usr/bin/env python3
"""Writes host/base/num_pow10.inc: host/base/num_pow10.py > host/base/num_pow10.inc

For every k from -292 to 324 the 128 leading bits of 10^k, rounded up: the smallest integer g with
2^127 <= g < 2^128 and g * 2^e >= 10^k for the one e that fits.
"""
from fractions import Fraction

print("/* Made by host/base/num_pow10.py: { high, low } of the 128 leading bits of 10^k, k from -292 to 324. */")
for k in range(-292, 325):
    value = Fraction(10) ** k
    e = (k * 1741647 >> 19) - 127  # floor(log2(10^k)) - 127
    g = -((-value / Fraction(2) ** e) // 1)
    assert 2**127 <= g < 2**128
    print("{ 0x%016X, 0x%016X }," % (g >> 64, g & (2**64 - 1)))
