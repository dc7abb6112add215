"""Attention by cuDNN."""

from __future__ import annotations

from typing import Any


def cudnn_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float,
    is_causal: bool,
    window: int | None,
    heads_first: bool,
) -> tuple[Any, Any]:
    """Attention by cuDNN, of (batch, heads, length, d) arrays or of (batch, length, heads, d) ones,
    and of each query the logarithm of its sum of exponentials. JAX has promised a name only for the
    latter; others would be copied for it."""
    from jax._src.cudnn import fused_attention_stablehlo as cudnn

    attention: Any = cudnn.dot_product_attention
    made, sums = attention(
        query,
        key,
        value,
        scale=scale,
        mask_type=cudnn.MaskType.CAUSAL if is_causal else cudnn.MaskType.NO_MASK,
        qkv_layout="BNTH" if heads_first else "BTNH",
        sliding_window_length=window,
        return_residual=True,
    )
    return made, sums
