"""Deep Q-learning on a grid: replay memory of named tuples, target network with soft updates, Huber loss, clipped values."""

import argparse
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Grid:
    """Walk to the corner of a 4 by 4 grid."""

    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def reset(self):
        self.place = [0, 0]
        return [0.0, 0.0]

    def step(self, action):
        self.place = [min(3, max(0, p + d)) for p, d in zip(self.place, self.moves[action])]
        done = self.place == [3, 3]
        return [p / 3 for p in self.place], 1.0 if done else -0.05, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    random.seed(11)
    torch.manual_seed(11)
    if args.double:
        torch.set_default_dtype(torch.float64)
    device = torch.device(
        "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    )
    batch_size, gamma, tau = 16, 0.9, 0.05
    policy_net = DQN(2, 4).to(device)
    target_net = DQN(2, 4).to(device)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=3e-3, amsgrad=True)
    memory, env = ReplayMemory(200), Grid()
    steps_done = 0

    def select_action(state):
        eps_threshold = 0.1 + 0.8 * math.exp(-1.0 * steps_done / 30)
        if random.random() > eps_threshold:
            with torch.no_grad():
                return policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(4)]], device=device, dtype=torch.long)

    def optimize_model():
        batch = Transition(*zip(*memory.sample(batch_size)))
        non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch, action_batch, reward_batch = (torch.cat(x) for x in (batch.state, batch.action, batch.reward))
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(batch_size, device=device)
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
        expected = (next_state_values * gamma) + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        return loss

    step = 0
    while step < args.steps:
        state = torch.tensor(env.reset(), device=device).unsqueeze(0)
        for _ in range(30):
            action = select_action(state)
            steps_done += 1
            observation, reward, done = env.step(action.item())
            reward = torch.tensor([reward], device=device)
            next_state = None if done else torch.tensor(observation, device=device).unsqueeze(0)
            memory.push(state, action, next_state, reward)
            state = next_state
            if len(memory) >= batch_size:
                loss = optimize_model()
                target_dict, policy_dict = target_net.state_dict(), policy_net.state_dict()
                for key in policy_dict:
                    target_dict[key] = policy_dict[key] * tau + target_dict[key] * (1 - tau)
                target_net.load_state_dict(target_dict)
                print(f"step {step} loss {loss.item():.17g}")
                step += 1
            if done or step == args.steps:
                break


if __name__ == "__main__":
    main()
