import numpy as np, torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim
from torch.distributions import Categorical, Normal
from collections import namedtuple

torch.manual_seed(543)
rng = np.random.RandomState(1)
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = optim.Adam(model.parameters(), lr=3e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float()
    probs, state_value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode():
    R = 0
    policy_losses, value_losses, returns = [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss


for ep in range(4):
    s = rng.randn(4)
    for t in range(15):
        a = select_action(s)
        s = 0.8 * s + rng.randn(4) * 0.1 + (a - 0.5) * 0.2
        model.rewards.append(float(-np.abs(s).sum()))
    print(ep, finish_episode())


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(3, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return Normal(self.mu(x), self.log_std.exp())


pol = Gaussian()
old = pol(torch.ones(5, 3))
act = old.sample()
old_lp = old.log_prob(act).detach()
adv = torch.randn(5, 1)
op = optim.Adam(pol.parameters(), 1e-2)
for k in range(4):
    d = pol(torch.ones(5, 3))
    ratio = (d.log_prob(act) - old_lp).exp()
    s1 = ratio * adv
    s2 = torch.clamp(ratio, 0.8, 1.2) * adv
    l = -torch.min(s1, s2).mean() - 0.01 * d.entropy().mean()
    op.zero_grad()
    l.backward()
    nn.utils.clip_grad_norm_(pol.parameters(), 0.5)
    op.step()
    print(l.item(), torch.distributions.kl_divergence(old, d).mean().item())
print(old, Categorical(logits=torch.zeros(3)), old.mean.shape, act.shape)
