"""The same work for other libraries, as their users write it. What one cannot say naturally is left out.

JAX's and tinygrad's steps are compiled, as their users do it; the time to compile is not counted. Each step ends with the numbers
there, not only promised.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy

Step = Callable[[], Any]
Makers = dict[str, Callable[[], Step]]

MLPS = {
    "mlp_tiny": (16, 8, False),
    "mlp_tiny_adam": (16, 8, True),
    "mlp_small_sgd": (64, 32, False),
    "mlp_small": (64, 32, True),
    "mlp_large_sgd": (512, 256, False),
    "mlp_large": (512, 256, True),
}


def _mlp_arrays(width: int, batch: int) -> tuple[list[Any], Any, Any]:
    """Weights (in x out) and biases of three layers, a batch, its labels."""
    rng = numpy.random.default_rng(0)
    parameters: list[Any] = []
    for outs in (width, width, 10):
        bound = width**-0.5
        parameters.append(rng.uniform(-bound, bound, (width, outs)).astype(numpy.float32))
        parameters.append(rng.uniform(-bound, bound, outs).astype(numpy.float32))
    return parameters, rng.standard_normal((batch, width)).astype(numpy.float32), rng.integers(0, 10, batch)


# ----- JAX and HIPS autograd: functions of arrays ---------------------------------------------------------------------


def _functional(
    np: Any, grad: Any, value_and_grad: Any, jit: Callable[[Any], Any], ready: Callable[[Any], Any]
) -> Makers:
    """Workloads in the style of functions that are transformed."""

    def chain() -> Step:
        def product(a: Any, b: Any) -> Any:
            x = a
            for _ in range(100):
                x = x * b
            return np.sum(x)

        gradient = jit(grad(product, (0, 1)))
        a, b = np.ones(4, dtype=np.float32), np.ones(4, dtype=np.float32)
        return lambda: ready(gradient(a, b))

    def scalar_program() -> Step:
        gradient = jit(value_and_grad(lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] * p[0]) ** 2))

        def step() -> Any:
            p = np.array([-1.2, 1.0], dtype=np.float32)
            for _ in range(20):
                loss, g = gradient(p)
                p = p - 1e-3 * g
            return ready(loss)

        return step

    def pendulum() -> Step:
        def miss(length: Any) -> Any:
            angle, speed = 0.5, 0.0
            for _ in range(100):
                speed = speed - 0.02 * (9.81 / length) * np.sin(angle)
                angle = angle + 0.02 * speed
            return (angle - 0.1) ** 2

        gradient = jit(grad(miss, 0))
        return lambda: ready(gradient(1.3))

    def elementwise() -> Step:
        x = np.linspace(-2, 2, 1_000_000).astype(np.float32)
        gradient = jit(grad(lambda x: np.mean(np.exp(np.tanh(x) * x) + x), 0))
        return lambda: ready(gradient(x))

    def hessian() -> Step:
        x = np.linspace(-1, 1, 50).astype(np.float32)

        def function(x: Any) -> Any:
            return np.sum(np.exp(x) * np.sin(x)) + np.sum((x[1:] * x[:-1]) ** 2)

        second = jit(grad(lambda x, i: grad(function, 0)(x)[i], 0))
        return lambda: ready([second(x, i) for i in range(50)][-1])

    return {
        "chain": chain,
        "scalar_program": scalar_program,
        "pendulum": pendulum,
        "elementwise": elementwise,
        "hessian": hessian,
        **{
            name: lambda size=size: _functional_mlp(np, value_and_grad, jit, ready, *size)
            for name, size in MLPS.items()
        },
    }


def _functional_mlp(np: Any, value_and_grad: Any, jit: Any, ready: Any, width: int, batch: int, adam: bool) -> Step:
    parameters, x, y = _mlp_arrays(width, batch)
    rows = numpy.arange(batch)

    def loss_of(parameters: Any) -> Any:
        a, b, c, d, e, f = parameters
        h = np.maximum(np.dot(np.maximum(np.dot(x, a) + b, 0), c) + d, 0)
        logits = np.dot(h, e) + f
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[rows, y])

    gradient = value_and_grad(loss_of)

    def update(state: Any) -> Any:
        n, parameters, ms, vs = state
        loss, grads = gradient(parameters)
        if not adam:
            return loss, (n, [p - 0.01 * g for p, g in zip(parameters, grads)], ms, vs)
        n = n + 1
        ms = [0.9 * m + 0.1 * g for m, g in zip(ms, grads)]
        vs = [0.999 * v + 0.001 * g * g for v, g in zip(vs, grads)]
        unbias, scale = 1e-3 / (1 - 0.9**n), (1 - 0.999**n) ** 0.5
        parameters = [p - unbias * m / (np.sqrt(v) / scale + 1e-8) for p, m, v in zip(parameters, ms, vs)]
        return loss, (n, parameters, ms, vs)

    update = jit(update)
    zeros = [numpy.zeros_like(p) for p in parameters]
    state = (0.0, parameters, zeros, zeros)

    def step() -> Any:
        nonlocal state
        loss, state = update(state)
        return ready(loss)

    return step


def _jax() -> Makers:
    jax = importlib.import_module("jax")
    return _functional(
        importlib.import_module("jax.numpy"), jax.grad, jax.value_and_grad, jax.jit, lambda x: jax.block_until_ready(x)
    )


def _autograd() -> Makers:
    autograd = importlib.import_module("autograd")
    return _functional(
        importlib.import_module("autograd.numpy"), autograd.grad, autograd.value_and_grad, lambda f: f, lambda x: x
    )


# ----- MyGrad ---------------------------------------------------------------------------------------------------------


def _mygrad() -> Makers:
    mg = importlib.import_module("mygrad")
    one = numpy.ones(4, dtype=numpy.float32)

    def chain() -> Step:
        a, b = mg.tensor(one), mg.tensor(one)

        def step() -> Any:
            x = a
            for _ in range(100):
                x = x * b
            x.backward(one)
            return b.grad

        return step

    def scalar_program() -> Step:
        def step() -> Any:
            x, y = mg.tensor(-1.2), mg.tensor(1.0)
            for _ in range(20):
                loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
                loss.backward()
                x, y = mg.tensor(x.data - 1e-3 * x.grad), mg.tensor(y.data - 1e-3 * y.grad)
            return loss

        return step

    def pendulum() -> Step:
        def step() -> Any:
            length, angle, speed = mg.tensor(1.3), mg.tensor(0.5, constant=True), mg.tensor(0.0, constant=True)
            for _ in range(100):
                speed = speed - 0.02 * (9.81 / length) * mg.sin(angle)
                angle = angle + 0.02 * speed
            ((angle - 0.1) ** 2).backward()
            return length.grad

        return step

    def elementwise() -> Step:
        x = mg.tensor(numpy.linspace(-2, 2, 1_000_000, dtype=numpy.float32))

        def step() -> Any:
            (mg.exp(mg.tanh(x) * x) + x).mean().backward()
            return x.grad

        return step

    return {
        "chain": chain,
        "scalar_program": scalar_program,
        "pendulum": pendulum,
        "elementwise": elementwise,
        **{name: lambda size=size: _mygrad_mlp(mg, *size) for name, size in MLPS.items()},
    }


def _mygrad_mlp(mg: Any, width: int, batch: int, adam: bool) -> Step:
    losses = importlib.import_module("mygrad.nnet.losses")
    relu = importlib.import_module("mygrad.nnet.activations").relu
    arrays, x, y = _mlp_arrays(width, batch)
    parameters = [mg.tensor(p) for p in arrays]
    ms, vs = [numpy.zeros_like(p) for p in arrays], [numpy.zeros_like(p) for p in arrays]
    count = 0

    def step() -> Any:
        nonlocal count
        a, b, c, d, e, f = parameters
        loss = losses.softmax_crossentropy(relu(relu(x @ a + b) @ c + d) @ e + f, y)
        loss.backward()
        count += 1
        for p, m, v in zip(parameters, ms, vs):
            g = p.grad
            if not adam:
                p.data -= 0.01 * g
                continue
            m *= 0.9
            m += 0.1 * g
            v *= 0.999
            v += 0.001 * g * g
            p.data -= 1e-3 / (1 - 0.9**count) * m / (numpy.sqrt(v) / (1 - 0.999**count) ** 0.5 + 1e-8)
        return loss

    return step


# ----- tinygrad -------------------------------------------------------------------------------------------------------


def _tinygrad() -> Makers:
    tinygrad = importlib.import_module("tinygrad")
    Tensor, TinyJit = tinygrad.Tensor, tinygrad.TinyJit
    one = numpy.ones(4, dtype=numpy.float32)

    def gradient(function: Callable[[Any], Any], array: Any) -> Step:
        """The compiled gradient of a function, as a step."""
        x = Tensor(array).realize()
        jitted = TinyJit(lambda x: function(x).gradient(x)[0].realize())
        return lambda: jitted(x).numpy()

    def power(b: Any) -> Any:
        x = Tensor(one)
        for _ in range(100):
            x = x * b
        return x.sum()

    return {
        "chain": lambda: gradient(power, one),
        "elementwise": lambda: gradient(
            lambda x: ((x.tanh() * x).exp() + x).mean(), numpy.linspace(-2, 2, 1_000_000, dtype=numpy.float32)
        ),
        **{name: lambda size=size: _tinygrad_mlp(tinygrad, *size) for name, size in MLPS.items()},
    }


def _tinygrad_mlp(tinygrad: Any, width: int, batch: int, adam: bool) -> Step:
    Tensor, nn = tinygrad.Tensor, importlib.import_module("tinygrad.nn")
    optim = importlib.import_module("tinygrad.nn.optim")
    _, x, y = _mlp_arrays(width, batch)
    layers = [nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 10)]
    parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
    optimizer = optim.Adam(parameters) if adam else optim.SGD(parameters, lr=0.01)
    inputs, labels = Tensor(x).realize(), Tensor(y.astype(numpy.int32)).realize()

    @tinygrad.TinyJit
    def train() -> Any:
        optimizer.zero_grad()
        first, second, third = layers
        loss = third(second(first(inputs).relu()).relu()).sparse_categorical_crossentropy(labels).backward()
        return loss.realize(*optimizer.schedule_step())

    def step() -> Any:
        with tinygrad.Context(TRAINING=1):
            return train().numpy()

    return step


PEERS: dict[str, Callable[[], Makers]] = {
    "jax": _jax,
    "autograd": _autograd,
    "mygrad": _mygrad,
    "tinygrad": _tinygrad,
}
