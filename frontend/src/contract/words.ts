// Generated from tb_dataplugin/words.py by scripts/generate.py: do not edit.

export type Term = { readonly id: string; readonly label: string; readonly meaning: string };
export type CounterTerm = Term & { readonly unit: string };

export const CAUSES: readonly Term[] = [
  {"id": "data_wait", "label": "data wait", "meaning": "The training thread waits for a batch."},
  {"id": "h2d", "label": "host-to-device copy", "meaning": "The host is in a host-to-device copy."},
  {"id": "sync", "label": "synchronisation", "meaning": "The host is blocked in a synchronising call."},
  {"id": "launch", "label": "launch", "meaning": "The host runs operators or runtime calls more slowly than the device finishes them; or what it launched has not started yet."},
  {"id": "host", "label": "host code", "meaning": "The launching thread is in none of these: Python, logging, a checkpoint."},
  {"id": "comm", "label": "communication", "meaning": "The host is blocked in a collective: it waits for other ranks."},
  {"id": "unknown", "label": "unknown", "meaning": "Nothing was recorded there."},
];

export const NO_STAGES: readonly Term[] = [
  {"id": "startup", "label": "startup (not yet running)", "meaning": "The DataLoader worker was not running yet."},
  {"id": "starved", "label": "starved (no index in its queue)", "meaning": "The DataLoader worker had no index in its queue."},
  {"id": "transfer", "label": "transfer (result on its way)", "meaning": "The batch was on its way from the DataLoader worker."},
  {"id": "unrecorded", "label": "unrecorded", "meaning": "No record of who built the batch."},
  {"id": "other", "label": "other (between stages)", "meaning": "The thread that built the batch was between stages."},
];

export const LIMITS: readonly Term[] = [
  {"id": "cpu", "label": "CPU-bound", "meaning": "Most of the self time was spent running on a CPU."},
  {"id": "no_cpu", "label": "waiting for a CPU", "meaning": "Most of the rest was spent ready to run, waiting for a CPU (estimated)."},
  {"id": "blocked", "label": "blocked", "meaning": "Most of the rest was spent waiting for storage, a lock or another process."},
];

export const MODES: readonly Term[] = [
  {"id": "train", "label": "train", "meaning": "Written by annotate during training."},
  {"id": "replay", "label": "replay", "meaning": "Written by annotate.replay: the loader alone, without training and without DataLoader workers."},
  {"id": "unannotated", "label": "plain capture", "meaning": "Not written by annotate: it has what torch.profiler records on its own."},
];

export const CONFIDENCES: readonly Term[] = [
  {"id": "measured", "label": "measured", "meaning": "Measured directly."},
  {"id": "likely", "label": "likely", "meaning": "The numbers point to it."},
  {"id": "possible", "label": "possible", "meaning": "Another reason would give the same numbers."},
];

export const SEVERITIES: readonly Term[] = [
  {"id": "high", "label": "high", "meaning": "worth doing first"},
  {"id": "medium", "label": "medium", "meaning": "worth a try"},
  {"id": "low", "label": "low", "meaning": "good to know"},
];

export const OUTCOMES: readonly Term[] = [
  {"id": "faster", "label": "faster", "meaning": ""},
  {"id": "slower", "label": "slower", "meaning": ""},
  {"id": "not_significant", "label": "not significant", "meaning": "No significant difference."},
  {"id": "new", "label": "new", "meaning": "Only in the captures after the change."},
  {"id": "gone", "label": "gone", "meaning": "Only in the captures before the change."},
  {"id": "unknown", "label": "unknown", "meaning": "The captures cannot be compared."},
];

export const RATES: readonly Term[] = [
  {"id": "read", "label": "reading alone", "meaning": "What reading alone could sustain."},
  {"id": "prepare", "label": "preparation alone", "meaning": "What all other stages alone could sustain."},
  {"id": "device", "label": "training step alone", "meaning": "What the training step could sustain if every batch were ready."},
];

export const TOPICS: readonly Term[] = [
  {"id": "window", "label": "window", "meaning": "This capture has no timed events."},
  {"id": "device", "label": "device", "meaning": "No device activity was recorded in this capture."},
  {"id": "loader", "label": "loader", "meaning": "This capture has no span of a DataLoader."},
  {"id": "steps", "label": "steps", "meaning": "This capture has no ProfilerStep markers: call prof.step() once per batch."},
  {"id": "stages", "label": "stages", "meaning": "This capture has no stage data: annotate the loader with annotate.loader(...) before you profile."},
  {"id": "wait_by_stage", "label": "data wait by stage", "meaning": "How much data wait this stage caused is not known."},
  {"id": "throughput", "label": "throughput", "meaning": "The number of samples is not known in this capture."},
  {"id": "workers", "label": "DataLoader workers", "meaning": "The DataLoader workers left no records in this capture."},
  {"id": "file", "label": "file", "meaning": "The file has oddities."},
  {"id": "capture", "label": "capture", "meaning": "A note about how the capture was made."},
];

export const SETTINGS: readonly Term[] = [
  {"id": "mode", "label": "Mode", "meaning": ""},
  {"id": "num_workers", "label": "DataLoader workers", "meaning": ""},
  {"id": "batch_size", "label": "Batch size", "meaning": ""},
  {"id": "prefetch_factor", "label": "Prefetch factor", "meaning": ""},
  {"id": "pin_memory", "label": "Pinned memory", "meaning": ""},
  {"id": "persistent_workers", "label": "Persistent DataLoader workers", "meaning": ""},
  {"id": "in_order", "label": "Batches in order", "meaning": ""},
  {"id": "start_method", "label": "Start method", "meaning": ""},
  {"id": "dataset", "label": "Dataset", "meaning": ""},
  {"id": "host", "label": "Host", "meaning": ""},
  {"id": "device", "label": "Device", "meaning": ""},
  {"id": "world_size", "label": "World size", "meaning": ""},
  {"id": "cores", "label": "CPU cores", "meaning": ""},
  {"id": "cpu_quota", "label": "CPU quota", "meaning": ""},
  {"id": "torch_threads", "label": "torch threads", "meaning": ""},
  {"id": "memory_bytes", "label": "Memory", "meaning": ""},
  {"id": "shm_bytes", "label": "/dev/shm", "meaning": ""},
];

export const COSTS: readonly Term[] = [
  {"id": "build_us", "label": "Build time", "meaning": "From a batch's start to its finish, on average."},
  {"id": "threads", "label": "Threads at work", "meaning": "CPU time of all threads of the process over that of its main thread; 1 means no hidden threads."},
  {"id": "read_chars", "label": "Read", "meaning": "Bytes that reads returned, from storage or the page cache."},
  {"id": "read_bytes", "label": "Read from storage", "meaning": "Bytes that came from storage."},
  {"id": "cached_share", "label": "From the page cache", "meaning": "Share of the bytes read that did not come from storage."},
  {"id": "voluntary_switches", "label": "Voluntary context switches", "meaning": "The main thread gave up its CPU: it waited for something."},
  {"id": "involuntary_switches", "label": "Involuntary context switches", "meaning": "Another thread got the CPU."},
  {"id": "major_faults", "label": "Major page faults", "meaning": "Page faults that went to storage."},
];

export const COUNTERS: readonly CounterTerm[] = [
  {"id": "host::cpu", "label": "CPU", "meaning": "", "unit": "%"},
  {"id": "host::throttled", "label": "CPU withheld by quota", "meaning": "", "unit": "us/s"},
  {"id": "host::memory", "label": "Memory", "meaning": "", "unit": "bytes"},
  {"id": "host::disk", "label": "Disk", "meaning": "", "unit": "bytes/s"},
  {"id": "host::disk_busy", "label": "Disk busy", "meaning": "", "unit": "%"},
  {"id": "host::network", "label": "Network", "meaning": "", "unit": "bytes/s"},
  {"id": "host::reads", "label": "Reads of this job", "meaning": "", "unit": "bytes/s"},
  {"id": "device::utilisation", "label": "Device utilisation", "meaning": "", "unit": "%"},
  {"id": "device::memory", "label": "Device memory", "meaning": "", "unit": "bytes"},
];
