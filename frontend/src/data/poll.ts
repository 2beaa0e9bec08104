// Asking again. The clock is passed in, so that tests need not wait.

export type Timers = { readonly after: (ms: number, call: () => void) => () => void };

export const browserTimers: Timers = {
  after: (ms, call) => {
    const timer = window.setTimeout(call, ms);
    return () => window.clearTimeout(timer);
  },
};

/** Runs `task`, waits `delay()` after it has ended, and so on; never two at a time. Returns how to stop. */
export function poll(task: () => Promise<void>, delay: () => number, timers: Timers): () => void {
  let stopped = false;
  let cancel: () => void = () => undefined;
  const turn = async (): Promise<void> => {
    try {
      await task();
    } finally {
      if (!stopped) cancel = timers.after(delay(), () => void turn());
    }
  };
  void turn();
  return () => {
    stopped = true;
    cancel();
  };
}
