"""Fine-tuning in the manner of transformers' run_glue_no_trainer: a tokenizer, a padding collator, a linear schedule."""

import csv
import random

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
    get_linear_schedule_with_warmup,
)

MAX_LEN = 64
BATCH_SIZE = 8


def build_tokenizer(sentences):
    """Words and letters as WordPiece has them; a vocabulary that is trained differs from run to run."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    words = sorted({word for sentence in sentences for word in sentence.split()})[::2]
    letters = sorted({letter for word in words for letter in word})
    pieces = [*special, *letters, *("##" + letter for letter in letters), *words]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]")


class SST2Dataset(Dataset):
    def __init__(self, rows, tokenizer, max_len):
        self.rows = rows
        self.tokenizer = tokenizer
        self.max_len = max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, item):
        encoding = self.tokenizer(str(self.rows[item]["sentence"]), truncation=True, max_length=self.max_len)
        return {
            "input_ids": encoding["input_ids"],
            "attention_mask": encoding["attention_mask"],
            "labels": int(self.rows[item]["label"]),
        }


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def train_epoch(model, data_loader, optimizer, scheduler):
    model.train()
    losses = []
    for step, d in enumerate(data_loader):
        outputs = model(**d)
        loss = outputs.loss
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.10f}")
    return np.mean(losses)


def main():
    set_seed(42)
    with open("data/reviews.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    tokenizer = build_tokenizer([row["sentence"] for row in rows])
    train_data_loader = DataLoader(
        SST2Dataset(rows, tokenizer, MAX_LEN),
        batch_size=BATCH_SIZE,
        shuffle=True,
        num_workers=2,
        collate_fn=DataCollatorWithPadding(tokenizer),
    )
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_LEN,
    )
    model = BertForSequenceClassification(config)
    optimizer = AdamW(model.parameters(), lr=2e-4)
    scheduler = get_linear_schedule_with_warmup(optimizer, 5, len(train_data_loader))
    print(f"Train loss {train_epoch(model, train_data_loader, optimizer, scheduler):.12f}")


if __name__ == "__main__":
    main()
