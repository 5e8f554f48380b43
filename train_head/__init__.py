"""Trains the EAGLE head of smollm2-135m on one CUDA GPU, in minutes: the target writes chats, the head learns
from them. `mlx-spec train` does the same anywhere with MLX; the GPU's machine needs PyTorch, tokenizers and
safetensors alone, and no network.

    python -m train_head prepare WORK --gguf FILE --texts FOLDER   # here: models and prompts, into WORK
    python -m train_head learn WORK     # on the GPU: writes WORK/head.npz
    python -m train_head export WORK FOLDER     # here: the head as `models/heads` has it
"""
