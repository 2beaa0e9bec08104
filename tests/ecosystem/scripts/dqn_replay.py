"""Reinforcement learning from a replay buffer: an IterableDataset that plays while it yields, as lightning-bolts has it."""

import random
from collections import OrderedDict, deque, namedtuple

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, IterableDataset

Experience = namedtuple("Experience", field_names=["state", "action", "reward", "done", "new_state"])


class CartPole:
    """A small deterministic environment of its own."""

    def reset(self):
        self.state = np.zeros(4, dtype=np.float32)
        self.age = 0
        return self.state

    def step(self, action):
        push = 0.1 if action else -0.1
        self.state = (self.state * 0.95 + np.array([push, push * 2, -push, 0.01], dtype=np.float32)).astype(np.float32)
        self.age += 1
        done = bool(abs(self.state[1]) > 0.7 or self.age > 40)
        return self.state, 1.0, done


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def __len__(self):
        return len(self.buffer)

    def append(self, experience):
        self.buffer.append(experience)

    def sample(self, batch_size):
        indices = np.random.choice(len(self.buffer), batch_size, replace=False)
        states, actions, rewards, dones, next_states = zip(*(self.buffer[idx] for idx in indices))  # noqa: B905
        return (
            np.array(states),
            np.array(actions),
            np.array(rewards, dtype=np.float32),
            np.array(dones, dtype=bool),
            np.array(next_states),
        )


class RLDataset(IterableDataset):
    def __init__(self, buffer, sample_size=200):
        self.buffer = buffer
        self.sample_size = sample_size

    def __iter__(self):
        states, actions, rewards, dones, new_states = self.buffer.sample(self.sample_size)
        for i in range(len(dones)):
            yield states[i], actions[i], rewards[i], dones[i], new_states[i]


class Agent:
    def __init__(self, env, replay_buffer):
        self.env = env
        self.replay_buffer = replay_buffer
        self.state = self.env.reset()

    @torch.no_grad()
    def play_step(self, net, epsilon):
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            action = int(net(torch.from_numpy(self.state)[None]).argmax())
        new_state, reward, done = self.env.step(action)
        self.replay_buffer.append(Experience(self.state, action, reward, done, new_state))
        self.state = self.env.reset() if done else new_state


def make_net():
    layers = OrderedDict(fc1=nn.Linear(4, 32), act=nn.ReLU(), fc2=nn.Linear(32, 2))
    return nn.Sequential(layers)


def main():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    buffer = ReplayBuffer(1000)
    agent = Agent(CartPole(), buffer)
    net, target_net = make_net(), make_net()
    for _ in range(400):
        agent.play_step(net, epsilon=1.0)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    global_step = 0
    for episode in range(4):
        for states, actions, rewards, dones, next_states in DataLoader(RLDataset(buffer), batch_size=8):
            agent.play_step(net, epsilon=0.1)
            values = net(states).gather(1, actions.long().unsqueeze(-1)).squeeze(-1)
            with torch.no_grad():
                next_values = target_net(next_states).max(1)[0]
                next_values[dones] = 0.0
            loss = nn.functional.mse_loss(values, next_values * 0.99 + rewards)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            global_step += 1
            if global_step % 10 == 0:
                target_net.load_state_dict(net.state_dict())
        print(f"episode {episode} step {global_step} loss {loss.item():.10f}")


if __name__ == "__main__":
    main()
