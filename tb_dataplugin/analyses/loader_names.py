"""What a DataLoader is called where there are several."""

from __future__ import annotations

from tb_dataplugin.model.trace import LoaderInfo


def name_of(loader: LoaderInfo) -> str:
    """Which of several DataLoaders: by what tells them apart, as far as that is known."""
    known = [f"batches of {loader.batch_size}"] if loader.batch_size else []
    known += [f"num_workers={loader.num_workers}"] if loader.num_workers is not None else []
    settings = f" ({', '.join(known)})" if known else ""
    return f"the DataLoader of {loader.dataset or 'a dataset'}{settings}"
