"""Advantage actor-critic with a Gaussian policy (tanh-squashed by transforms), generalised advantages and a clipped objective."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, TanhTransform, TransformedDistribution


def layer_init(layer, std=2**0.5, bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs, 24)), nn.Tanh(), layer_init(nn.Linear(24, 1), std=1.0))
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(obs, 24)), nn.Tanh(), layer_init(nn.Linear(24, act), std=0.01)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, act))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        logstd = self.actor_logstd.expand_as(mean)
        base = Normal(mean, torch.exp(logstd))
        probs = TransformedDistribution(base, [TanhTransform(cache_size=1)])
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action.clamp(-0.99, 0.99)).sum(1), base.entropy().sum(1), self.critic(x)


class Env:
    """Many points that want to go to the origin."""

    def __init__(self, n):
        self.n = n
        self.x = torch.randn(n, 2)

    def step(self, action):
        self.x = (self.x + 0.3 * action).clamp(-3, 3)
        reward = -self.x.norm(dim=1)
        done = (reward > -0.2) | (torch.rand(self.n) < 0.05)
        self.x = torch.where(done.unsqueeze(1), torch.randn(self.n, 2), self.x)
        return self.x, reward, done.to(self.x.dtype)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    if args.double:
        torch.set_default_dtype(torch.float64)
    agent, envs, num_steps, num_envs = Agent(2, 2), Env(4), 8, 4
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    obs = torch.zeros((num_steps, num_envs, 2))
    actions = torch.zeros((num_steps, num_envs, 2))
    logprobs, rewards, dones, values = (torch.zeros((num_steps, num_envs)) for _ in range(4))
    next_obs, next_done = envs.x, torch.zeros(num_envs)
    step = 0
    while step < args.steps:
        for t in range(num_steps):
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[t] = value.flatten()
            actions[t], logprobs[t] = action, logprob
            next_obs, rewards[t], next_done = envs.step(action)
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards)
            lastgaelam = 0
            for t in reversed(range(num_steps)):
                nonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
                nextvalues = next_value if t == num_steps - 1 else values[t + 1]
                delta = rewards[t] + 0.99 * nextvalues * nonterminal - values[t]
                advantages[t] = lastgaelam = delta + 0.99 * 0.95 * nonterminal * lastgaelam
            returns = advantages + values
        b_obs, b_actions = obs.reshape(-1, 2), actions.reshape((-1, 2))
        b_logprobs, b_advantages, b_returns = logprobs.reshape(-1), advantages.reshape(-1), returns.reshape(-1)
        for mb in torch.randperm(num_steps * num_envs).split(16):
            if step == args.steps:
                break
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            ratio = (newlogprob - b_logprobs[mb]).exp()
            adv = b_advantages[mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 0.8, 1.2)).mean()
            v_loss = 0.5 * F.mse_loss(newvalue.view(-1), b_returns[mb])
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1


if __name__ == "__main__":
    main()
