"""Graph convolution and attention by index_add and scatter, as PyTorch Geometric does inside; full-batch training with masks."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Parameter


def scatter_sum(src, index, size):
    out = torch.zeros(size, *src.shape[1:], dtype=src.dtype)
    return out.index_add(0, index, src)


def softmax_by_group(src, index, size):
    expanded = index.unsqueeze(-1).expand_as(src)
    peak = torch.full((size, src.size(1)), float("-inf"), dtype=src.dtype)
    peak = peak.scatter_reduce(0, expanded, src.detach(), reduce="amax", include_self=False)
    out = (src - peak[index]).exp()
    total = torch.zeros(size, src.size(1), dtype=src.dtype).scatter_add_(0, expanded, out)
    return out / (total[index] + 1e-16)


class GCNConv(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.weight = Parameter(torch.empty(fan_in, fan_out))
        self.bias = Parameter(torch.empty(fan_out))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.weight, gain=nn.init.calculate_gain("relu"))
        nn.init.zeros_(self.bias)

    def forward(self, x, edge_index):
        row, col = edge_index
        degree = torch.bincount(col, minlength=x.size(0)).to(x.dtype)
        norm = degree.pow(-0.5)
        norm[norm == float("inf")] = 0
        weight = norm[row] * norm[col]
        h = x @ self.weight
        return scatter_sum(h[row] * weight.view(-1, 1), col, x.size(0)) + self.bias


class GATConv(nn.Module):
    def __init__(self, fan_in, fan_out, heads=2):
        super().__init__()
        self.heads, self.fan_out = heads, fan_out
        self.lin = nn.Linear(fan_in, heads * fan_out, bias=False)
        self.att_src = Parameter(torch.empty(1, heads, fan_out))
        self.att_dst = Parameter(torch.empty(1, heads, fan_out))
        nn.init.xavier_normal_(self.att_src)
        nn.init.xavier_normal_(self.att_dst)

    def forward(self, x, edge_index):
        row, col = edge_index
        h = self.lin(x).view(-1, self.heads, self.fan_out)
        a_src, a_dst = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)
        alpha = F.leaky_relu(a_src.index_select(0, row) + a_dst.index_select(0, col), 0.2)
        alpha = softmax_by_group(alpha, col, x.size(0))
        alpha = F.dropout(alpha, 0.1, self.training)
        return scatter_sum(h[row] * alpha.unsqueeze(-1), col, x.size(0)).mean(1)


class GNN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.conv1 = GCNConv(features, hidden)
        self.conv2 = GATConv(hidden, classes)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.2, training=self.training)
        x = self.conv1(x, edge_index).relu_()
        return F.log_softmax(self.conv2(x, edge_index), dim=-1)


def make_graph(n, classes):
    y = torch.randint(classes, (n,))
    same = y.unsqueeze(0) == y.unsqueeze(1)
    adjacency = torch.rand(n, n) < torch.where(same, 0.15, 0.02)
    adjacency = (adjacency | adjacency.t()).fill_diagonal_(True)
    edge_index = adjacency.nonzero(as_tuple=False).t().contiguous()
    x = F.one_hot(y, classes) + 1.5 * torch.randn(n, classes)
    return x, edge_index, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(12345)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x, edge_index, y = make_graph(60, 3)
    train_mask = torch.zeros(60, dtype=torch.bool)
    train_mask[torch.randperm(60)[:30]] = True
    model = GNN(3, 16, 3)
    print(model)
    optimizer = torch.optim.Adam(
        [
            dict(params=model.conv1.parameters(), weight_decay=5e-4),
            dict(params=model.conv2.parameters(), weight_decay=0),
        ],
        lr=0.01,
    )
    for step in range(args.steps):
        model.train()
        optimizer.zero_grad()
        out = model(x, edge_index)
        loss = F.nll_loss(out[train_mask], y[train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index).argmax(dim=-1)
            test_acc = int((pred[~train_mask] == y[~train_mask]).sum()) / int((~train_mask).sum())
        print(f"step {step} loss {loss.item():.17g} test {test_acc:.4f}")


if __name__ == "__main__":
    main()
