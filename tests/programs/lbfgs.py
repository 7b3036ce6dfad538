"""Fitting by L-BFGS with closures, with and without line search; sines predicted by LSTM cells as in the time-sequence example."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 12)
        c_t = torch.zeros(input.size(0), 12)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def rosenbrock(xy):
    x, y = xy[..., 0], xy[..., 1]
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)

    point = torch.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = optim.LBFGS([point], lr=1, max_iter=2, history_size=5, line_search_fn="strong_wolfe")
    for step in range(args.steps - 10):

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(point)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        print(f"step {step} loss {loss.item():.17g}")

    L = 20
    x = np.array(range(L)) + np.random.randint(-4 * 5, 4 * 5, 10).reshape(10, 1)
    data = torch.from_numpy(np.sin(x / 1.0 / 5)).to(torch.get_default_dtype())
    input, target = data[3:, :-1], data[3:, 1:]
    test_input = data[:3, :-1]
    seq = Sequence()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.5, max_iter=2)
    for step in range(args.steps - 10, args.steps):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(input), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        print("step", step, "loss", loss.item())
    with torch.no_grad():
        pred = seq(test_input, future=10)
        print(tuple(pred.shape), pred.detach().numpy().dtype)


if __name__ == "__main__":
    main()
