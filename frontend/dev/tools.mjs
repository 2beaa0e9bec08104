// Shared by the samples.

/** Numbers in [0, 1) that are the same for the same seed. */
export function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

export function sum(items, key) {
  return items.reduce((total, item) => total + item[key], 0);
}
