import torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.parameter import Parameter
import math

torch.manual_seed(42)


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super(GraphConv, self).__init__()
        self.kernel = nn.Parameter(torch.Tensor(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = nn.Parameter(torch.Tensor(output_dim))
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        support = torch.mm(input_tensor, self.kernel)
        output = torch.spmm(adj_mat, support)
        if self.bias is not None:
            output = output + self.bias
        return output


class GCN(nn.Module):
    def __init__(self, i, h, o, use_bias=True, dropout_p=0.1):
        super().__init__()
        self.gc1 = GraphConv(i, h, use_bias)
        self.gc2 = GraphConv(h, o, use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = self.dropout(x)
        return F.log_softmax(self.gc2(x, adj), dim=1)


N = 12
edges = torch.randint(0, N, (2, 40))
adj = torch.eye(N)
adj[edges[0], edges[1]] = 1
adj = ((adj + adj.t()) > 0).float()
deg = torch.pow(adj.sum(1), -0.5)
deg[torch.isinf(deg)] = 0.0
D = torch.diag(deg)
adj_mat = D @ adj @ D
x = torch.rand(N, 6)
labels = torch.randint(0, 3, (N,))
idx = torch.arange(N)
mask = idx < 8


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


model = GCN(6, 8, 3)
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(5):
    model.train()
    opt.zero_grad()
    out = model(x, adj_mat)
    loss = F.nll_loss(out[mask], labels[mask])
    loss.backward()
    opt.step()
    print(f"Epoch {epoch + 1:04d} loss: {loss:.4f} acc: {accuracy(out[mask], labels[mask]):.4f}")


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.4, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads = n_heads
        self.concat = concat
        self.dropout = dropout
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def _scores(self, h):
        s1 = torch.matmul(h, self.a[:, : self.n_hidden, :])
        s2 = torch.matmul(h, self.a[:, self.n_hidden :, :])
        return self.leakyrelu(s1 + s2.mT)

    def forward(self, h, adj):
        n = h.shape[0]
        ht = torch.mm(h, self.W)
        ht = F.dropout(ht, self.dropout, training=self.training)
        ht = ht.view(n, self.n_heads, self.n_hidden).permute(1, 0, 2)
        e = self._scores(ht)
        c = -9e16 * torch.ones_like(e)
        e = torch.where(adj > 0, e, c)
        att = F.softmax(e, dim=-1)
        att = F.dropout(att, self.dropout, training=self.training)
        h_prime = torch.matmul(att, ht)
        return (
            h_prime.permute(1, 0, 2).contiguous().view(n, self.n_heads * self.n_hidden)
            if self.concat
            else h_prime.mean(dim=0)
        )


g1, g2 = GraphAttentionLayer(6, 8, 4, concat=True), GraphAttentionLayer(8, 3, 1)
opt = torch.optim.Adam([*g1.parameters(), *g2.parameters()], lr=0.01)
for e in range(4):
    opt.zero_grad()
    o = F.log_softmax(g2(F.elu(g1(x, adj)), adj), 1)
    l = F.nll_loss(o, labels)
    l.backward()
    opt.step()
    print(e, l)
