"""JAX and optax, or a `ConfigError` that names what to install."""

from __future__ import annotations

from contextlib import AbstractContextManager

from calm.errors import ConfigError

try:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax
except ImportError as error:
    from calm.core.releases import install

    raise ConfigError(f"expected JAX and optax for uda, got: {error}; install them: {install('uda')}") from error

__all__ = ["doubles", "jax", "jnp", "lax", "optax"]


def doubles() -> AbstractContextManager[object]:
    """Return a context in which JAX has 64-bit numbers: ratings drift in 32 bits, as each update rounds at 1200."""
    context: AbstractContextManager[object] = jax.enable_x64(True)
    return context
