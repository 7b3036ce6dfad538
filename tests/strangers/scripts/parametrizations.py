import torch, torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import prune
import torch.nn.utils.parametrizations as P
import torch.nn.functional as F

torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
A = layer.weight
assert torch.allclose(A, A.T)
print(A)
print(layer)
print(layer.parametrizations)
print(layer.parametrizations.weight[0], layer.parametrizations["weight"].original)


class Skew(nn.Module):
    def forward(self, X):
        A = X.triu(1)
        return A - A.transpose(-1, -2)


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


lo = nn.Linear(3, 3)
parametrize.register_parametrization(lo, "weight", Skew())
parametrize.register_parametrization(lo, "weight", MatrixExponential())
X = lo.weight
print(torch.dist(X.T @ X, torch.eye(3)) < 1e-5, type(lo).__name__)
with parametrize.cached():
    foo = lo.weight
    bar = lo.weight
    print(foo is bar)


class PruningParametrization(nn.Module):
    def __init__(self, X, p_drop=0.2):
        super().__init__()
        mask = torch.full_like(X, 1.0 - p_drop)
        self.mask = torch.bernoulli(mask)

    def forward(self, X):
        return X * self.mask

    def right_inverse(self, A):
        return A


l2 = nn.Linear(3, 4)
parametrize.register_parametrization(l2, "weight", PruningParametrization(l2.weight))
print(l2.weight == 0, l2.state_dict().keys())
parametrize.remove_parametrizations(l2, "weight", leave_parametrized=True)
print(l2, parametrize.is_parametrized(l2))
sn = P.spectral_norm(nn.Linear(4, 3))
sn(torch.ones(1, 4))
print(sn, list(sn.state_dict()))
wn = P.weight_norm(nn.Linear(4, 3))
print(wn.parametrizations.weight.original0.shape, wn(torch.ones(1, 4)))
og = P.orthogonal(nn.Linear(4, 4))
print(torch.dist(og.weight.T @ og.weight, torch.eye(4)) < 1e-4)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.fc1 = nn.Linear(6 * 4 * 4, 10)

    def forward(self, x):
        return self.fc1(F.max_pool2d(F.relu(self.conv1(x)), 6).flatten(1))


model = LeNet()
module = model.conv1
prune.random_unstructured(module, name="weight", amount=0.3)
print([n for n, _ in module.named_parameters()], [n for n, _ in module.named_buffers()], module._forward_pre_hooks)
prune.l1_unstructured(module, name="bias", amount=3)
print(module.bias)
prune.ln_structured(module, name="weight", amount=0.5, n=2, dim=0)
print((module.weight == 0).sum())
prune.remove(module, "weight")
print(sorted(model.state_dict()))
prune.global_unstructured(
    ((model.conv1, "weight"), (model.fc1, "weight")), pruning_method=prune.L1Unstructured, amount=0.4
)
print(
    "Global sparsity: {:.2f}%".format(
        100.0
        * float(torch.sum(model.conv1.weight == 0) + torch.sum(model.fc1.weight == 0))
        / float(model.conv1.weight.nelement() + model.fc1.weight.nelement())
    )
)


class FooBarPruningMethod(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


FooBarPruningMethod.apply(model.fc1, name="bias")
print(model.fc1.bias_mask, prune.is_pruned(model))
