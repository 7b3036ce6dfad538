"""A physics-informed network for Burgers' equation: first and second derivatives of the network by autograd.grad."""

import argparse
from collections import OrderedDict

import numpy as np
import torch


class DNN(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.depth = len(layers) - 1
        layer_list = list()
        for i in range(self.depth - 1):
            layer_list.append(("layer_%d" % i, torch.nn.Linear(layers[i], layers[i + 1])))
            layer_list.append(("activation_%d" % i, torch.nn.Tanh()))
        layer_list.append(("layer_%d" % (self.depth - 1), torch.nn.Linear(layers[-2], layers[-1])))
        self.layers = torch.nn.Sequential(OrderedDict(layer_list))

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers, nu, dtype):
        self.x_u = torch.tensor(X_u[:, 0:1], requires_grad=True).to(dtype)
        self.t_u = torch.tensor(X_u[:, 1:2], requires_grad=True).to(dtype)
        self.x_f = torch.tensor(X_f[:, 0:1], requires_grad=True, dtype=dtype)
        self.t_f = torch.tensor(X_f[:, 1:2], requires_grad=True, dtype=dtype)
        self.u = torch.tensor(u).to(dtype)
        self.nu = nu
        self.dnn = DNN(layers)
        self.optimizer = torch.optim.Adam(self.dnn.parameters(), lr=2e-3)
        self.iter = 0

    def net_u(self, x, t):
        return self.dnn(torch.cat([x, t], dim=1))

    def net_f(self, x, t):
        u = self.net_u(x, t)
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

    def train(self, steps):
        self.dnn.train()
        for step in range(steps):
            self.optimizer.zero_grad()
            loss_u = torch.mean((self.u - self.net_u(self.x_u, self.t_u)) ** 2)
            loss_f = torch.mean(self.net_f(self.x_f, self.t_f) ** 2)
            loss = loss_u + loss_f
            loss.backward()
            self.optimizer.step()
            print("step %d loss %.17g" % (step, loss.item()))

    def predict(self, X):
        x, t = (torch.as_tensor(X[:, i : i + 1], dtype=self.u.dtype) for i in (0, 1))
        self.dnn.eval()
        return self.net_u(x, t).detach().cpu().numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    np.random.seed(1234)
    torch.manual_seed(1234)
    dtype = torch.float64 if args.double else torch.float32
    torch.set_default_dtype(dtype)
    nu = 0.01 / np.pi
    x0 = np.random.uniform(-1, 1, (40, 1))
    tb = np.random.uniform(0, 1, (20, 1))
    initial = np.hstack([x0, np.zeros_like(x0)])
    border = np.hstack([np.sign(tb - 0.5), tb])
    X_u = np.vstack([initial, border])
    u = np.vstack([-np.sin(np.pi * x0), np.zeros_like(tb)])
    X_f = np.random.uniform([-1, 0], [1, 1], (150, 2))
    model = PhysicsInformedNN(X_u, u, X_f, [2, 20, 20, 20, 1], nu, dtype)
    model.train(args.steps)
    print(model.predict(np.array([[0.5, 0.5]])))


if __name__ == "__main__":
    main()
