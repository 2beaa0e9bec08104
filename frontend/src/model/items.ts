type Counted = { readonly item?: string } | undefined;

/** What a rate counts, or a table lists: samples, batches, or items that may be either. */
export function itemOf(counted: Counted): string {
  return counted?.item || "sample";
}

/** The same of several. */
export function itemsOf(counted: Counted): string {
  const item = itemOf(counted);
  return item === "batch" ? "batches" : `${item}s`;
}
