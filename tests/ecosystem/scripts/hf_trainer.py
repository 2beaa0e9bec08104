"""Hugging Face: load_dataset, .map with a tokenizer, HfArgumentParser, Trainer with evaluation and compute_metrics."""

import os
from dataclasses import dataclass, field

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HOME", os.path.abspath("hf_home"))

import numpy as np
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class DataTrainingArguments:
    train_file: str = field(default="data/reviews.csv", metadata={"help": "A csv file containing the training data."})
    max_seq_length: int = field(default=48)


def train_tokenizer(sentences):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(sentences, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]")


def compute_metrics(prediction):
    return {"accuracy": float((np.argmax(prediction.predictions, axis=1) == prediction.label_ids).mean())}


def main():
    (data_args,) = HfArgumentParser(DataTrainingArguments).parse_args_into_dataclasses()
    set_seed(11)
    raw_datasets = load_dataset("csv", data_files={"train": data_args.train_file})["train"].train_test_split(
        0.1, seed=1
    )
    tokenizer = train_tokenizer(raw_datasets["train"]["sentence"])

    def preprocess_function(examples):
        return tokenizer(examples["sentence"], max_length=data_args.max_seq_length, truncation=True)

    tokenized = raw_datasets.map(preprocess_function, batched=True, remove_columns=["sentence"])
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=32, n_layers=1, n_heads=2, hidden_dim=64)
    training_args = TrainingArguments(
        output_dir="hf_output",
        per_device_train_batch_size=8,
        num_train_epochs=1,
        learning_rate=5e-4,
        dataloader_num_workers=2,
        gradient_accumulation_steps=1,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=10,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=DistilBertForSequenceClassification(config),
        args=training_args,
        train_dataset=tokenized["train"],
        eval_dataset=tokenized["test"],
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
    )
    train_result = trainer.train()
    print(f"train_loss {train_result.training_loss!r} steps {train_result.global_step}")
    metrics = trainer.evaluate()
    print(f"eval_loss {metrics['eval_loss']!r} accuracy {metrics['eval_accuracy']!r}")


if __name__ == "__main__":
    main()
