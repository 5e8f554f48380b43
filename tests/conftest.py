"""What every test shares: MLX without run-time compilation, and the stock BLAS.

Compiling needs a C++ compiler and seconds per function; the stock BLAS gives each row of a matmul
the same bits whatever their number, which the equality tests rest on.
"""

import os

os.environ["MLX_DISABLE_COMPILE"] = "1"
os.environ["MLX_SPEC_BLAS"] = "reference"
